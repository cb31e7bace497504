/** Reads data again when a new program version or setting reads the service's answers otherwise. */
import { sql } from 'kysely';
import {
  createDecimals,
  DECIMAL_MARKS,
  type DecimalMark,
  type Decimals,
  provedMarks,
  settle,
} from '../client/tolerant/decimals.ts';
import type { Clock } from '../lib/clock.ts';
import { parseJsonObject } from '../lib/json.ts';
import { invalidateDigests } from '../mirror/list.ts';
import { requestRefetches } from '../mirror/refetch-queue.ts';
import { readState, writeState } from '../store/state.ts';
import type { Db, Store, Tx } from '../store/store.ts';
import { type RetryDeps, retryQuarantine } from './quarantine.ts';

/**
 * Version of how answers are read; to be raised when a schema of the client or a column of the
 * mirror changes.
 */
export const READING_VERSION = '1';
const READING_KEY = 'reading_version';

/**
 * Retries quarantined rows and forgets all digests after an upgrade or a change of member names
 * (service.dialect.v1.members), because the same bytes may be read otherwise now. Returns whether
 * there was a reason.
 */
export async function lookAgainAfterUpgrade(deps: RetryDeps): Promise<boolean> {
  const { store, clock, names = [] } = deps;
  const reading =
    names.length === 0 ? READING_VERSION : `${READING_VERSION} ${JSON.stringify(names)}`;
  if ((await readState(store.db, READING_KEY)) === reading) return false;
  await retryQuarantine(deps);
  await store.transaction(async (tx) => {
    await invalidateDigests(tx);
    await writeState(tx, READING_KEY, reading, clock);
  });
  return true;
}

// Proofs of an account's decimals outlive the process, because lists that prove it may be unchanged
// ever after.

const DECIMALS_KEY = 'sync.decimals';

/** How an account writes decimals, as a person or its texts have said it until now. */
export async function readDecimals(
  db: Db,
  account: string,
  setting: DecimalMark | 'learned',
): Promise<Decimals> {
  if (setting !== 'learned') return createDecimals(false, [setting]);
  const kept = parseJsonObject((await readState(db, DECIMALS_KEY)) ?? '{}');
  const isOurs = kept.account === account && kept.isLearned === true;
  const listOf = (value: unknown): readonly unknown[] =>
    isOurs && Array.isArray(value) ? value : [];
  const proved = listOf(kept.marks);
  return createDecimals(
    true,
    DECIMAL_MARKS.filter((mark) => proved.includes(mark)),
    listOf(kept.rows).map(Number),
  );
}

export interface DecimalsDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly decimals: Decimals;
  /** Address of the account, for which alone a proof holds. */
  readonly account: string;
}

/**
 * Keeps what is proved or set, at the start and at the end of a stream's run, at whose begin
 * `before` was proved. Rows that were read otherwise are compared again, because their bytes may
 * mean something else now.
 */
export async function keepDecimals(
  { store, clock, decimals, account }: DecimalsDeps,
  run?: { readonly stream: string; readonly before: readonly DecimalMark[] },
): Promise<void> {
  settle(decimals);
  const { isLearned, rows } = decimals;
  const marks = provedMarks(decimals);
  const read = { account, isLearned, marks };
  const text = JSON.stringify({ ...read, rows: [...rows] });
  const kept = await readState(store.db, DECIMALS_KEY);
  const { rows: _rows, ...before } = parseJsonObject(kept ?? '{}');
  const isKnown = JSON.stringify(before) === JSON.stringify(read);
  const isNews = !isKnown && (kept !== undefined || marks.length > 0);
  const isReadOtherwise = isNews || (run !== undefined && run.before.length !== marks.length);
  if (kept === text && !isReadOtherwise) return;
  await store.transaction(async (tx) => {
    if (isReadOtherwise) await invalidateDigests(tx, isNews ? undefined : run?.stream);
    await writeState(tx, DECIMALS_KEY, text, clock);
    if (isNews && run) await readUnreadAgain(tx, clock.now());
  });
}

/** Makes all due at once that was read before a proof, and may have amounts that were unknown. */
async function readUnreadAgain(tx: Tx, now: number): Promise<void> {
  // Nothing tells which prices of a list were unknown, so that it is pulled once more.
  await tx
    .updateTable('stream_state')
    .set({ due_at: now })
    .where('stream', 'in', ['stock', 'season'])
    .where('due_at', '>', now)
    .execute();
  const { rows } = await sql<{ readonly orderId: number }>`
    select order_id "orderId" from sales_order where unread is not null and completed = 0
    union select order_id from delivery
      where unread is not null and status = 'pending' and deleted_at is null`.execute(tx);
  const requests = rows.map(({ orderId }) => ({ orderId, cause: 'sweep:decimals' }));
  await requestRefetches(tx, requests, now);
}
