/**
 * Steps that a room takes on its own tables when the clock was moved, when rows are old enough to
 * go, and when a backup was restored. Each room writes its steps (`upkeep.ts`), the composition
 * root hands them in: so no room writes another's tables.
 */
import { sql } from 'kysely';
import type { Actor } from './audit.ts';
import type { Tx } from './store.ts';
import type { Tables } from './tables.ts';

/** A step of the clock on the wall. */
export interface ClockStep {
  /** Milliseconds; negative: it went back. */
  readonly step: number;
  /** The clock on the wall after it. */
  readonly now: number;
  /** False: it happened while no daemon ran, and nobody knows how long that was. */
  readonly isWatched: boolean;
}

export interface ClockStepHandler {
  back(tx: Tx, step: ClockStep): Promise<void>;
  forth?(tx: Tx, step: ClockStep): Promise<void>;
}

type ColumnOf<Table extends keyof Tables> = keyof Tables[Table] & string;

/** Moves future times of what has happened back by the step, to now at most. */
export async function movePastTimes<Table extends keyof Tables>(
  tx: Tx,
  table: Table,
  columns: readonly ColumnOf<Table>[],
  { step, now }: ClockStep,
): Promise<void> {
  for (const column of columns) {
    const at = sql.ref(column);
    await sql`update ${sql.table(table)} set ${at} = min(${at} + ${step}, ${now})
      where ${at} > ${now}`.execute(tx);
  }
}

/** Moves future due times back by the step: each row waits as long as it would have. */
export async function moveDueTimes<Table extends keyof Tables>(
  tx: Tx,
  table: Table,
  column: ColumnOf<Table>,
  { step, now }: ClockStep,
): Promise<void> {
  const at = sql.ref(column);
  await sql`update ${sql.table(table)} set ${at} = ${at} + ${step} where ${at} > ${now}`.execute(
    tx,
  );
}

/** Rows that one statement deletes at most. */
export const SLICE_ROWS = 500;

export interface RetentionStep {
  /** Milliseconds that a row stays. */
  readonly keepMs: number;
  /** Deletes at most {@link SLICE_ROWS} rows older than `before` and gives how many went. */
  deleteOld(tx: Tx, before: number): Promise<number>;
}

export interface Disarmed {
  /** Ids of the rules that were armed. */
  readonly disarmed: readonly string[];
  /** How many rejects waited. */
  readonly withdrawn: number;
}

export interface RestoreSteps {
  /** Marks every push that may have been sent since the backup as unknown; gives how many. */
  markPushesUnknown(tx: Tx, now: number): Promise<number>;
  /** Disarms every rule, and withdraws the rejects that wait. */
  disarmAll(tx: Tx, who: Actor, now: number): Promise<Disarmed>;
  /** Has every stream pulled again as a whole. */
  requestFullPulls(tx: Tx, now: number): Promise<void>;
}
