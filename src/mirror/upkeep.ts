/**
 * Upkeep of the mirror's tables: old entries of the change feed are deleted, and times are
 * corrected when the clock was set back.
 */
import { sql } from 'kysely';
import { inKeys } from '../store/bulk.ts';
import { readState, writeStateAt } from '../store/state.ts';
import type { Db, Tx } from '../store/store.ts';
import { type ClockStepHandler, moveDueTimes, movePastTimes, SLICE_ROWS } from '../store/upkeep.ts';

/**
 * Deletes old entries of the change feed from its beginning: they are in the order of time, which
 * has no index.
 */
export async function deleteOldChanges(tx: Tx, before: number): Promise<number> {
  const { numAffectedRows } = await sql`delete from change where seq <= (
    select max(seq) from (select seq, at from change order by seq limit ${SLICE_ROWS})
    where at < ${before})`.execute(tx);
  await deleteOldHours(tx);
  return Number(numAffectedRows ?? 0);
}

/**
 * Deletes hours that point to feed entries which no longer exist. The latest such hour stays,
 * because entries of it may be left; a later hour that points no further covers an earlier one.
 */
async function deleteOldHours(tx: Tx): Promise<void> {
  await sql`delete from change_hour where hour < (
    select max(hour) from change_hour
    where first_seq <= (select seq from change order by seq limit 1)
  )`.execute(tx);
}

/** Deletes the stock's sums of days that ended before `before` (epoch ms). */
export async function deleteOldStockDays(tx: Tx, before: number): Promise<number> {
  const { numAffectedRows } = await sql`delete from stock_day where
    (day, brand_name, season_name, currency) in (
      select day, brand_name, season_name, currency from stock_day
      where day < date(${before} / 1000, 'unixepoch') order by day limit ${SLICE_ROWS})`.execute(
    tx,
  );
  return Number(numAffectedRows ?? 0);
}

/**
 * Deliveries that may claim pieces or credit of others (`claim`): triggers keep them in the
 * transaction of each delivery, and what was accepted long ago leaves, so that they stay as few as
 * what is open.
 */
const SINCE_KEY = 'claims_since';

/** Time (epoch ms) from which on every accepted delivery that changed is in the table. */
export async function claimsSince(tx: Db | Tx): Promise<number> {
  return Number((await readState(tx, SINCE_KEY)) ?? Number.NEGATIVE_INFINITY);
}

/** Deletes some of the deliveries that were accepted and last changed before `before`. */
export async function deleteOldClaims(tx: Tx, before: number): Promise<number> {
  const { numAffectedRows } = await sql`delete from claim where order_delivery_id in (
    select order_delivery_id from claim where changed_at < ${before}
    order by changed_at limit ${SLICE_ROWS})`.execute(tx);
  const gone = Number(numAffectedRows ?? 0);
  const since = Math.max(before, await claimsSince(tx));
  if (gone > 0) await writeStateAt(tx, SINCE_KEY, String(since), before);
  return gone;
}

/** Has these pending deliveries decided again at once. */
export async function makeDue(tx: Tx, ids: readonly number[]): Promise<void> {
  await sql`delete from claim where ${inKeys('order_delivery_id', ids)}`.execute(tx);
  await sql`insert into claim select * from claim_of
    where ${inKeys('order_delivery_id', ids)}`.execute(tx);
}

export const mirrorClockStep: ClockStepHandler = {
  async back(tx, step) {
    await movePastTimes(tx, 'sales_order', ['details_read_at', 'whole_read_at'], step);
    await movePastTimes(tx, 'erp_customer', ['changed_at'], step);
    await movePastTimes(tx, 'refresh', ['requested_at'], step);
    await movePastTimes(tx, 'announced', ['since'], step);
    await moveDueTimes(tx, 'refresh', 'due_at', step);
    // Rows that changed in the future, by the clock set back, count as changed now: after every
    // read of the stock so far, and before the next one.
    for (const table of ['sales_order', 'delivery'] as const) {
      await tx
        .updateTable(table)
        .set({ changed_at: step.now })
        .where('changed_at', '>', step.now)
        .execute();
    }
  },
};
