/**
 * Mirrored rows as they were at the moment of a past decision: undoes the later changes of the
 * change feed. A decision says by a number of the feed what it has seen. One by version 0.1.0 says
 * only when it was made, so a change of about that time is neither before nor after it.
 */
import { type RawBuilder, sql } from 'kysely';
import { isJsonObject } from '../../../lib/json.ts';
import { changedColumns, type RowChange } from '../../../mirror/point-in-time.ts';
import type { SqlRow } from '../../../store/bulk.ts';
import type { Db } from '../../../store/store.ts';

export interface Moment {
  readonly at: number;
  /** Number of the change feed's last entry that was seen; undefined: not known. */
  readonly feed: number | undefined;
}

export interface PastChange extends Pick<RowChange, 'at' | 'op'> {
  readonly seq: number;
  /** Values of the changed columns before. */
  readonly before: SqlRow;
  /** Whether the row's lines had other barcodes or quantities before. */
  readonly movesPieces: boolean;
}

/** Milliseconds for which a change may have waited before others could see it. */
const UNCLEAR_MS = 60_000;

type Order = 'before' | 'after' | 'unclear';

export function orderOf(
  { seq, at }: Pick<PastChange, 'seq' | 'at'>,
  { feed, at: now }: Moment,
): Order {
  if (feed !== undefined) return seq <= feed ? 'before' : 'after';
  if (Math.abs(at - now) <= UNCLEAR_MS) return 'unclear';
  return at < now ? 'before' : 'after';
}

/** State of a row. `gone`: the service no longer had it; `none`: nobody knew of it yet. */
type State = 'live' | 'gone' | 'none';

/** State before a change. */
const BEFORE: Readonly<Record<RowChange['op'], State>> = {
  insert: 'none',
  restore: 'gone',
  update: 'live',
  delete: 'live',
};

export interface PastRow<R extends SqlRow> {
  readonly row: R;
  readonly state: State;
}

/** A row as it is now, with its changes since the begin of the period, in their order. */
export interface ChangedRow<R extends SqlRow> extends PastRow<R> {
  readonly changes: readonly PastChange[];
  /** The row as it was before each of the changes. */
  readonly before: readonly PastRow<R>[];
}

function rowsBefore<R extends SqlRow>(now: PastRow<R>, changes: readonly PastChange[]) {
  let { row } = now;
  const rows = changes.toReversed().map(({ before, op }): PastRow<R> => {
    row = { ...row, ...before };
    return { row, state: BEFORE[op] };
  });
  return rows.reverse();
}

/** Makes changed rows of rows and of the changes by key. */
export function withChanges<R extends SqlRow>(
  rows: readonly R[],
  changes: ReadonlyMap<string, readonly PastChange[]>,
  keyOf: (row: R) => string,
): readonly ChangedRow<R>[] {
  return rows.map((row) => {
    const now: PastRow<R> = { row, state: row.deleted_at === null ? 'live' : 'gone' };
    const own = changes.get(keyOf(row)) ?? [];
    return { ...now, changes: own, before: rowsBefore(now, own) };
  });
}

/** The row as it was at the moment; undefined: that is unclear. */
export function rowAt<R extends SqlRow>(
  changed: ChangedRow<R>,
  moment: Moment,
): PastRow<R> | undefined {
  const { changes, before } = changed;
  let then: PastRow<R> = changed;
  for (let at = changes.length - 1; at >= 0; at -= 1) {
    const change = changes[at];
    const order = change ? orderOf(change, moment) : 'before';
    if (order === 'unclear') return undefined;
    if (order === 'before') break;
    then = before[at] ?? then;
  }
  return then;
}

const HOUR_MS = 3_600_000;

/** Number of the change feed before which no change matters to moments from `since` on. */
export async function feedBefore(db: Db, since: number): Promise<number> {
  const hour = Math.floor((since - UNCLEAR_MS) / HOUR_MS);
  const row = await db
    .selectFrom('change_hour')
    .select('first_seq')
    .where('hour', '<=', hour)
    .orderBy('hour', 'desc')
    .limit(1)
    .executeTakeFirst();
  return (row?.first_seq ?? 1) - 1;
}

/** Whether the lines that a change names had other barcodes or quantities. */
function movesPieces(diff: string): boolean {
  const { lines }: Readonly<Record<string, unknown>> = JSON.parse(diff);
  if (!Array.isArray(lines)) return false;
  return lines.flat().some((line: unknown) => isJsonObject(line) && 'quantity' in line);
}

interface Asked {
  readonly entity: string;
  /** SQL: a query of the rows' keys, as texts in a column `key`. */
  readonly keys: RawBuilder<unknown>;
  /** Columns, or `lines`, whose changes matter; so does always whether the row was there. */
  readonly columns: readonly string[];
  /** Number of the change feed after which changes matter. */
  readonly after: number;
}

/** Changes of rows by key, in the order of the feed. */
export async function changesOf(
  db: Db,
  { entity, keys, columns, after }: Asked,
): Promise<ReadonlyMap<string, readonly PastChange[]>> {
  const isMeant = columns.map((column) => sql`or c.diff->${`$.${column}`} is not null`);
  const { rows } = await sql<RowChange & { readonly seq: number; readonly key: string }>`
    select c.key, c.seq, c.at, c.op, c.diff from (${keys}) k
    cross join change c on c.entity = ${entity} and c.key = k.key and c.seq > ${after}
      and (c.op <> 'update' ${sql.join(isMeant, sql` `)})
    order by c.seq`.execute(db);
  const changes = rows.map(({ key, seq, at, op, diff }) => {
    const undone = changedColumns({ at, op, diff }).filter(({ column }) =>
      columns.includes(column),
    );
    const before = Object.fromEntries(undone.map((one) => [one.column, one.before]));
    const isMoved = columns.includes('lines') && movesPieces(diff);
    return { key, change: { seq, at, op, before, movesPieces: isMoved } };
  });
  const byKey = Map.groupBy(changes, ({ key }) => key);
  return new Map([...byKey].map(([key, some]) => [key, some.map(({ change }) => change)]));
}
