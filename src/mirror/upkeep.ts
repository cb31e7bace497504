/** Upkeep of the mirror's tables: old entries of the change feed go, and times follow the clock. */
import { sql } from 'kysely';
import type { Tx } from '../store/store.ts';
import { type ClockStepHandler, moveDueTimes, movePastTimes, SLICE_ROWS } from '../store/upkeep.ts';

/** Deletes by the order of the feed, which is that of time: its time has no index. */
export async function deleteOldChanges(tx: Tx, before: number): Promise<number> {
  const { numAffectedRows } = await sql`delete from change where seq <= (
    select max(seq) from (select seq, at from change order by seq limit ${SLICE_ROWS})
    where at < ${before})`.execute(tx);
  await deleteOldHours(tx);
  return Number(numAffectedRows ?? 0);
}

/**
 * Deletes hours that point before the feed. The latest of them stays, because entries of its hour
 * may be left; a later hour that points no further covers those of an earlier one.
 */
async function deleteOldHours(tx: Tx): Promise<void> {
  await sql`delete from change_hour where hour < (
    select max(hour) from change_hour
    where first_seq <= (select seq from change order by seq limit 1)
  )`.execute(tx);
}

/** Deletes sums of days that ended before `before` (epoch ms). */
export async function deleteOldStockDays(tx: Tx, before: number): Promise<number> {
  const { numAffectedRows } = await sql`delete from stock_day where
    (day, brand_name, season_name, currency) in (
      select day, brand_name, season_name, currency from stock_day
      where day < date(${before} / 1000, 'unixepoch') order by day limit ${SLICE_ROWS})`.execute(
    tx,
  );
  return Number(numAffectedRows ?? 0);
}

export const mirrorClockStep: ClockStepHandler = {
  async back(tx, step) {
    await movePastTimes(tx, 'sales_order', ['details_read_at'], step);
    await movePastTimes(tx, 'erp_customer', ['changed_at'], step);
    await movePastTimes(tx, 'refresh', ['requested_at'], step);
    await movePastTimes(tx, 'announced', ['since'], step);
    await moveDueTimes(tx, 'refresh', 'due_at', step);
    // Changes of the future happened now at the latest: after every read of the stock so far, and
    // before the next one.
    for (const table of ['sales_order', 'delivery'] as const) {
      await tx
        .updateTable(table)
        .set({ changed_at: step.now })
        .where('changed_at', '>', step.now)
        .execute();
    }
  },
};
