/**
 * Steps that a room takes on its own tables when the clock was moved, when rows are old enough to
 * be deleted, and when a backup was restored. Each room has its steps in its `upkeep.ts`, and the
 * daemon passes them in, so that no room writes another's tables.
 */
import { sql } from 'kysely';
import type { Actor } from './audit.ts';
import type { Tx } from './store.ts';
import type { Tables } from './tables.ts';

/** A step of the system clock. */
export interface ClockStep {
  /** Milliseconds by which the clock moved; negative: it was set back. */
  readonly step: number;
  /** Time of the system clock after the step, epoch ms. */
  readonly now: number;
  /**
   * Whether the daemon saw the step; false: it happened while no daemon ran, and nobody knows how
   * long that was.
   */
  readonly isWatched: boolean;
}

export interface ClockStepHandler {
  back(tx: Tx, step: ClockStep): Promise<void>;
  forth?(tx: Tx, step: ClockStep): Promise<void>;
}

type ColumnOf<Table extends keyof Tables> = keyof Tables[Table] & string;

/** Corrects future times of past events: moves them back by the step, to now at most. */
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

/** Moves future due times back by the step, so that each row waits as long as it would have. */
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

/** Maximum number of rows that one statement deletes. */
export const SLICE_ROWS = 500;

export interface RetentionStep {
  /** Milliseconds for which a row stays before it is deleted. */
  readonly keepMs: number;
  /** Deletes at most {@link SLICE_ROWS} rows older than `before`, and returns how many. */
  deleteOld(tx: Tx, before: number): Promise<number>;
}

export interface Disarmed {
  /** Ids of the rules that were armed. */
  readonly disarmed: readonly string[];
  /** Number of rejects that waited and were withdrawn. */
  readonly withdrawn: number;
}

/** Act of a person that the backup does not know of. */
interface ActSince {
  readonly at: number;
  readonly actor: string;
  /** Name of the act in the audit, as in `delivery.hold`. */
  readonly action: string;
  /** Object of the act, as in `delivery:500044`. */
  readonly subject: string;
  /** Whether a release gave the delivery back to the rules. */
  readonly toRules?: boolean | undefined;
}

/** Permission that another machine had for one attempt of a push. */
export interface Permitted {
  readonly outboxId: number;
  readonly attempt: number;
  readonly kind: string;
  readonly reference: string;
  /** Hash of what was to be sent. */
  readonly bodyHash: string;
}

export interface RestoreSteps {
  /** Keeps the rules from what people stopped by these acts; returns how many deliveries. */
  stopForPeople(tx: Tx, acts: readonly ActSince[], now: number): Promise<number>;
  /** Marks every push that may have been sent since the backup as unknown, and returns how many. */
  markPushesUnknown(tx: Tx, now: number): Promise<number>;
  /**
   * Marks as unknown what another machine may have sent: the pushes of permits without an outcome,
   * and all that were being sent or unknown before. Returns how many, and the permits whose push is
   * not known here.
   */
  doubtPermitted(
    tx: Tx,
    permits: readonly Permitted[],
    now: number,
  ): Promise<{ readonly inDoubt: number; readonly missing: readonly Permitted[] }>;
  /** Id of the first decision that breaks the chain of decisions; undefined: it is whole. */
  chainBrokenAt(tx: Tx): Promise<number | undefined>;
  /** Has the orders of these events read again. */
  readEventsAgain(tx: Tx, eventIds: readonly string[], now: number): Promise<void>;
  /** Leaves to a person those of these pushes that are unknown; a person canceled them. */
  leaveCanceled(tx: Tx, outboxIds: readonly number[]): Promise<void>;
  /** Disarms every rule, and withdraws the rejects that wait. */
  disarmAll(tx: Tx, who: Actor, now: number): Promise<Disarmed>;
  /**
   * Ends the record for a standby, which has a past that is given up; the next start begins another
   * one. True: there was one.
   */
  endRecord(tx: Tx): Promise<boolean>;
  /** Makes every stream due for a full pull. */
  requestFullPulls(tx: Tx, now: number): Promise<void>;
}
