/**
 * The rows that a person names, and how many of them are acted on: a few at a time, so that neither
 * the listener nor what is being sent waits for thousands. What has changed since it was looked at
 * is left, and named.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { ExpressionBuilder } from 'kysely';
import { RefusedError, SelvedgeError, toError } from '../../lib/errors.ts';
import { inKeys } from '../../store/bulk.ts';
import type { Store, Tx } from '../../store/store.ts';
import type { OutboxState, Tables } from '../../store/tables.ts';

export interface RowFilter {
  readonly kind?: string | undefined;
  readonly state?: OutboxState | undefined;
  /** Only what waits for a person. */
  readonly desk?: boolean | undefined;
}

export type Selection =
  | { readonly outboxId: number }
  | { readonly filter: RowFilter; readonly expect: number };

export interface DeskRow {
  readonly outboxId: number;
  readonly kind: string;
  readonly reference: string;
  readonly state: OutboxState;
  readonly attempts: number;
  readonly deskReason: string | null;
  readonly inDoubtSince: number | null;
}

export interface Done {
  readonly rows: number;
  /** Somebody has moved these meanwhile: nothing was done about them. */
  readonly left: readonly Pick<DeskRow, 'outboxId' | 'reference' | 'state'>[];
}

const ROWS_MAX = 10_000;
/** Rows in one transaction: each costs a fraction of a millisecond of the event loop. */
const SLICE = 100;

/** One for what is listed and for what is acted on: people look at the one before the other. */
export function fits({ kind, state, desk }: RowFilter) {
  return ({ eb, and }: ExpressionBuilder<Tables, 'outbox'>) =>
    and([
      ...(kind === undefined ? [] : [eb('kind', '=', kind)]),
      ...(state === undefined ? [] : [eb('state', '=', state)]),
      ...(desk === true ? [eb('desk_reason', 'is not', null)] : []),
    ]);
}

export async function select(
  db: Tx | Store['db'],
  selection: Selection | { readonly outboxIds: readonly number[] },
): Promise<DeskRow[]> {
  let query = db
    .selectFrom('outbox')
    .select([
      ...(['outbox_id', 'kind', 'reference', 'state'] as const),
      ...(['attempts', 'desk_reason', 'in_doubt_since'] as const),
    ])
    .orderBy('outbox_id')
    .limit(ROWS_MAX + 1);
  if ('outboxId' in selection) query = query.where('outbox_id', '=', selection.outboxId);
  else if ('outboxIds' in selection) {
    query = query.where(inKeys('outbox_id', selection.outboxIds));
  } else query = query.where(fits(selection.filter));
  const rows = await query.execute();
  return rows.map((row) => ({
    outboxId: row.outbox_id,
    kind: row.kind,
    reference: row.reference,
    state: row.state,
    attempts: row.attempts,
    deskReason: row.desk_reason,
    inDoubtSince: row.in_doubt_since,
  }));
}

export async function selected(db: Tx | Store['db'], selection: Selection): Promise<DeskRow[]> {
  const rows = await select(db, selection);
  if ('outboxId' in selection) {
    if (rows.length > 0) return rows;
    const { outboxId } = selection;
    throw new RefusedError('outbox.unknown', `there is no outbox row ${outboxId}`, {
      hint: 'see: selvedge outbox list',
    });
  }
  if (rows.length === selection.expect) return rows;
  const many = rows.length > ROWS_MAX ? `more than ${ROWS_MAX}` : String(rows.length);
  throw new RefusedError(
    'outbox.unexpected_count',
    `the filter fits ${many} rows, ${selection.expect} were expected: nothing was done`,
    { hint: 'look at them with "selvedge outbox list" and the same filter' },
  );
}

function isAsBefore(before: DeskRow | undefined, { state, deskReason, inDoubtSince }: DeskRow) {
  return (
    before?.state === state &&
    before.deskReason === deskReason &&
    before.inDoubtSince === inDoubtSince
  );
}

/** `act` does one slice, and `told` hears of it once it is durable. */
export async function inSlices(
  store: Store,
  rows: readonly DeskRow[],
  act: (tx: Tx, rows: readonly DeskRow[]) => Promise<void>,
  told: (rows: readonly DeskRow[]) => void,
): Promise<Done> {
  const left: DeskRow[] = [];
  let done = 0;
  for (let start = 0; start < rows.length; start += SLICE) {
    if (start > 0) await nextTurn();
    const before = new Map(rows.slice(start, start + SLICE).map((row) => [row.outboxId, row]));
    try {
      const { same = [], other = [] } = await store.transaction(async (tx) => {
        const present = await select(tx, { outboxIds: [...before.keys()] });
        const parts = Object.groupBy(present, (row) =>
          isAsBefore(before.get(row.outboxId), row) ? 'same' : 'other',
        );
        await act(tx, parts.same ?? []);
        return parts;
      });
      told(same);
      done += same.length;
      left.push(...other);
    } catch (error) {
      if (done === 0) throw error;
      const text = `${done} of ${rows.length} rows are done, then: ${toError(error).message}`;
      throw new SelvedgeError('outbox.partly_done', text, {
        ...{ cause: error, hint: 'what is left: "selvedge outbox list" with the same filter' },
      });
    }
  }
  return {
    rows: done,
    left: left.map(({ outboxId, reference, state }) => ({ outboxId, reference, state })),
  };
}
