/**
 * Rows that a person selects are changed a few at a time, so that neither the event listener nor
 * the pushes wait for thousands. A row that was moved after it was selected is left alone and
 * reported.
 */

import { setImmediate as nextTurn } from 'node:timers/promises';
import { type ExpressionBuilder, type RawBuilder, type SqlBool, sql } from 'kysely';
import { RefusedError, SelvedgeError, toError } from '../../lib/errors.ts';
import { inKeys } from '../../store/bulk.ts';
import type { Store, Tx } from '../../store/store.ts';
import type { OutboxState, Tables } from '../../store/tables.ts';
import type { OutboxItem } from '../item.ts';

export interface RowFilter {
  readonly kind?: string | undefined;
  readonly state?: OutboxState | undefined;
  /** Selects only rows that need a person. */
  readonly needsAttention?: boolean | undefined;
}

export type Selection =
  | { readonly outboxId: number }
  | { readonly filter: RowFilter; readonly expect: number };

/** Selection of rows to look at, whose number nobody has to know. */
export type Looked = Selection | { readonly filter: RowFilter; readonly expect?: undefined };

type Named = Pick<OutboxItem, 'outboxId' | 'kind' | 'reference' | 'state'>;

export interface ReviewRow
  extends Named,
    Pick<OutboxItem, 'attempts' | 'inDoubtSince' | 'createdAt'> {
  readonly blockedReason: string | null;
}

export interface Done {
  readonly rows: number;
  /** Rows that somebody else moved meanwhile, and that were left alone. */
  readonly left: Pick<ReviewRow, 'outboxId' | 'reference' | 'state'>[];
}

const ROWS_MAX = 10_000;
/** Number of rows in one transaction: each costs a fraction of a millisecond of the event loop. */
const SLICE = 100;

/**
 * SQL condition of a row filter; `outbox list` and acts share it, because people list rows before
 * they act on them.
 */
export function fits({
  kind,
  state,
  needsAttention,
  open,
}: RowFilter & { open?: boolean | undefined }) {
  const isFew =
    needsAttention === true || open === true || (state !== undefined && state !== 'confirmed');
  return ({ eb, and }: ExpressionBuilder<Tables, 'outbox'>) =>
    and([
      // The plus sign keeps SQLite from the index of all pushes of a kind where few are asked for.
      ...(kind === undefined ? [] : [isFew ? eb(sql`+kind`, '=', kind) : eb('kind', '=', kind)]),
      ...(state === undefined ? [] : [eb(sql`+state`, '=', state), ...groupOf(state)]),
      ...(needsAttention === true ? [eb('blocked_reason', 'is not', null)] : []),
    ]);
}

const ENDED: readonly OutboxState[] = ['confirmed', 'refused', 'dead', 'canceled'];

export function isOpenState(state: OutboxState | undefined): boolean {
  return state !== undefined && !ENDED.includes(state);
}

/** Condition that the state implies, as the text of the index of the few that are like it. */
function groupOf(state: OutboxState): RawBuilder<SqlBool>[] {
  if (state === 'confirmed') return [];
  if (isOpenState(state)) return [sql<SqlBool>`ended_at is null`];
  return [sql<SqlBool>`state in ('refused', 'dead', 'canceled')`];
}

export async function select(
  db: Tx | Store['db'],
  selection: Looked | { readonly outboxIds: readonly number[] },
): Promise<ReviewRow[]> {
  let query = db
    .selectFrom('outbox')
    .select([
      'outbox_id as outboxId',
      'kind',
      'reference',
      'state',
      'attempts',
      'blocked_reason as blockedReason',
      'in_doubt_since as inDoubtSince',
      'created_at as createdAt',
    ])
    .orderBy('outbox_id')
    .limit(ROWS_MAX + 1);
  if ('outboxId' in selection) query = query.where('outbox_id', '=', selection.outboxId);
  else if ('outboxIds' in selection) {
    query = query.where(inKeys('outbox_id', selection.outboxIds));
  } else query = query.where(fits(selection.filter));
  return query.execute();
}

export async function selected(db: Tx | Store['db'], selection: Looked): Promise<ReviewRow[]> {
  const rows = await select(db, selection);
  if ('outboxId' in selection) {
    if (rows.length > 0) return rows;
    const { outboxId } = selection;
    throw new RefusedError('outbox.unknown', `there is no outbox row ${outboxId}`, {
      hint: 'see: selvedge outbox list',
    });
  }
  const { expect = Math.min(rows.length, ROWS_MAX) } = selection;
  if (rows.length === expect) return rows;
  const many = rows.length > ROWS_MAX ? `more than ${ROWS_MAX}` : String(rows.length);
  throw new RefusedError(
    'outbox.unexpected_count',
    `the filter fits ${many} rows, ${expect} were expected: nothing was done`,
    { hint: 'look at them with "selvedge outbox list" and the same filter' },
  );
}

const SAME = ['createdAt', 'attempts', 'state', 'blockedReason', 'inDoubtSince'] as const;

/** Whether the row is still the document, and in the situation, that was selected. */
function isAsBefore(before: ReviewRow | undefined, present: ReviewRow): boolean {
  return SAME.every((name) => before?.[name] === present[name]);
}

/** Changes rows slice by slice; `onDone` is called once a slice is durable. */
export async function inSlices(
  store: Store,
  rows: readonly ReviewRow[],
  act: (tx: Tx, rows: readonly ReviewRow[]) => Promise<void>,
  onDone: (rows: readonly ReviewRow[]) => void,
): Promise<Done> {
  const left: ReviewRow[] = [];
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
      onDone(same);
      done += same.length;
      left.push(...other);
    } catch (error) {
      if (done === 0) throw error;
      const text = `${done} of ${rows.length} rows are done, then: ${toError(error).message}`;
      throw new SelvedgeError('outbox.partly_done', text, {
        cause: error,
        hint: 'what is left: "selvedge outbox list" with the same filter',
      });
    }
  }
  return {
    rows: done,
    left: left.map(({ outboxId, reference, state }) => ({ outboxId, reference, state })),
  };
}
