/**
 * The one guard against steps of the clock on the wall. It gives the daemon a clock that jumps only
 * after the times in the database were moved, in one transaction:
 *
 * - Back: times that lie in the future move back by the step, so that nothing waits longer than its
 *   own delay, no accept may leave later, and nothing counts as newer than what is read next.
 * - Forth (or the machine slept, or no daemon ran): graces of rejects move along, so that people
 *   have all of them. Unknown outcomes are watched for a whole settlement delay from then on
 *   (`watchedSince`): no jump makes one absent.
 *
 * The time is noted each minute. So a start knows how far the clock was moved meanwhile, and
 * `trustedNow` never advances faster than 24 times what has passed while a daemon ran: a boot with
 * a clock that is a year ahead deletes no rows and disarms no rules before somebody sets it right.
 */
import { type RawBuilder, sql } from 'kysely';
import { CLOCK_MS_MIN, type Clock } from '../lib/clock.ts';
import { isJsonObject, tryParseJson } from '../lib/json.ts';
import type { Logger } from '../lib/log.ts';
import { readState, writeStateAt } from './state.ts';
import type { Db, Store, Tx } from './store.ts';
import type { Tables } from './tables.ts';

export interface Timed {
  readonly store: Store;
  readonly clock: Clock;
}

export interface ClockGuard {
  readonly name: 'clock';
  /** For everybody who works on the database. */
  readonly clock: Clock;
  /** Since when, by that clock, this process has felt time pass: its start, or the last step. */
  watchedSince(): number;
  /** Looks for steps and notes the time until the signal aborts. */
  run(signal: AbortSignal): Promise<void>;
}

/** Less than this is a correction, not a step. */
const STEP_MS_MIN = 5_000;
const LOOK_MS = 5_000;
const NOTE_MS = 60_000;
/** A day in an hour: what a long stop left is cleared soon, and a wrong clock is seen sooner. */
const CATCH_UP = 24;
const STATE = 'clock';
/** What was read before such a time is fresh for nobody: no reject may rest on older reads. */
const UNWATCHED_MS = 7 * 86_400_000;

interface Noted {
  /** The clock on the wall when it was last noted; epoch milliseconds. */
  readonly seen: number;
  readonly trusted: number;
}

async function readNoted(db: Db): Promise<Noted | undefined> {
  const noted = tryParseJson((await readState(db, STATE)) ?? '');
  if (!isJsonObject(noted)) return undefined;
  const { seen, trusted } = noted;
  return typeof seen === 'number' && typeof trusted === 'number' ? { seen, trusted } : undefined;
}

/** Trusted "now" for what cannot be undone; at most the clock's. */
export async function trustedNow({ store, clock }: Timed): Promise<number> {
  const noted = await readNoted(store.db);
  return Math.min(clock.now(), noted?.trusted ?? Number.POSITIVE_INFINITY);
}

type TimeColumn = {
  [Table in keyof Tables]: readonly [Table, keyof Tables[Table] & string];
}[keyof Tables];

/** Times of what has happened: in the future they are moved back by the step, to now at most. */
const PAST: readonly TimeColumn[] = [
  ['sync_run', 'started_at'],
  ['sync_run', 'ended_at'],
  ['sales_order', 'details_read_at'],
  ['erp_customer', 'changed_at'],
  ['refresh', 'requested_at'],
  ['announced', 'since'],
  ['reject_entry', 'queued_at'],
  ['outbox', 'created_at'],
  ['outbox', 'in_doubt_since'],
  ['outbox', 'ended_at'],
  ['outbox_attempt', 'ended_at'],
  ['outbox_evidence', 'at'],
];

/** Times that something waits for: it waits as long as it would have. */
const DUE: readonly TimeColumn[] = [
  ['stream_state', 'due_at'],
  ['refresh', 'due_at'],
  ['reject_entry', 'due_at'],
  ['outbox', 'due_at'],
  ['intake', 'callback_due_at'],
];

/**
 * Orders and deliveries that changed in the future did so now at the latest: after any read of the
 * stock so far, and before the next one.
 */
const CHANGED: readonly TimeColumn[] = [
  ['sales_order', 'changed_at'],
  ['delivery', 'changed_at'],
];

interface Step {
  readonly step: number;
  /** The clock on the wall after it. */
  readonly now: number;
  /** False: it happened while no daemon ran, and nobody knows how long that was. */
  readonly isWatched: boolean;
}

async function moveBack(tx: Tx, { step, now, isWatched }: Step): Promise<void> {
  const readAt = now - (isWatched ? 0 : UNWATCHED_MS);
  await sql`update stream_state set complete_at = min(complete_at + ${step}, ${readAt})
    where complete_at > ${now}`.execute(tx);
  // What was judged by the clock that was ahead is judged again.
  await sql`update evaluation set evaluated_at = min(evaluated_at + ${step}, ${now}),
    due_at = iif(due_at is null, null, ${now}) where evaluated_at > ${now}`.execute(tx);
  // A hold that was there before keeps its end; only that it was over is not true any more.
  await sql`update hold set until_at = until_at + ${step}, expires_at = expires_at + ${step},
    since = min(since + ${step}, ${now}) where since > ${now}`.execute(tx);
  await sql`update hold set lapsed_at = null where lapsed_at > ${now}`.execute(tx);
  // Before the times of creation move, which tell what was decided in the future.
  await sql`update outbox
    set body = json_set(body, '$.sendBefore', cast(body->>'$.sendBefore' + ${step} as integer))
    where ended_at is null and created_at > ${now}
      and body->>'$.sendBefore' is not null`.execute(tx);
  const move = async (columns: readonly TimeColumn[], to: (at: RawBuilder<unknown>) => unknown) => {
    for (const [table, column] of columns) {
      const at = sql.ref(column);
      await sql`update ${sql.table(table)} set ${at} = ${to(at)} where ${at} > ${now}`.execute(tx);
    }
  };
  await move(PAST, (at) => sql`min(${at} + ${step}, ${now})`);
  await move(DUE, (at) => sql`${at} + ${step}`);
  await move(CHANGED, () => now);
}

/**
 * Graces go on only while a daemon runs, and are never longer than they were; a reject that waits
 * behind its grace is asked again.
 */
async function moveGraces(tx: Tx, { step, now }: Step): Promise<void> {
  const by = sql<number>`max(0, min(${step}, ${now} - queued_at))`;
  await tx
    .updateTable('reject_entry')
    .set({
      due_at: sql<number>`due_at + ${by}`,
      queued_at: sql<number>`queued_at + ${by}`,
    })
    .where('ended_at', 'is', null)
    .where('state', '=', 'waiting')
    .where('safeguard', 'is', null)
    .execute();
}

/** Follows what happened to the clock while no daemon ran; then give its `clock` to everybody. */
export async function openClockGuard(deps: Timed & { readonly log: Logger }): Promise<ClockGuard> {
  const { store, clock: wall, log } = deps;
  const elapsed = (): number => wall.monotonic();
  let offset = wall.now() - elapsed();
  let watchedSince = wall.now();
  let notedAt = elapsed();

  /** By how much the wall was moved since the last call that was followed; 0: it was not. */
  const moved = (): number => {
    const step = wall.now() - elapsed() - offset;
    if (Math.abs(step) >= STEP_MS_MIN) return Math.round(step);
    offset += step;
    return 0;
  };

  const note = async (db: Db | Tx, noted: Noted | undefined): Promise<void> => {
    const seen = wall.now();
    if (seen < CLOCK_MS_MIN) return;
    const at = elapsed();
    const reached = (noted?.trusted ?? seen) + CATCH_UP * (at - notedAt);
    const trusted = Math.min(seen, Math.floor(reached));
    await writeStateAt(db, STATE, JSON.stringify({ seen, trusted }), seen);
    notedAt = at;
  };

  const follow = async (step: number, isWatched: boolean): Promise<void> => {
    const noted = await readNoted(store.db);
    const now = wall.now();
    await store.transaction(async (tx) => {
      if (step < 0) await moveBack(tx, { step, now, isWatched });
      else await moveGraces(tx, { step, now, isWatched });
      await note(tx, noted);
    });
    offset = now - elapsed();
    watchedSince = now;
  };

  const noted = await readNoted(store.db);
  const away = noted === undefined ? 0 : wall.now() - noted.seen;
  if (Math.abs(away) >= STEP_MS_MIN) await follow(away, false);
  else await note(store.db, noted);

  return {
    name: 'clock',
    clock: {
      ...wall,
      now() {
        moved();
        return Math.round(elapsed() + offset);
      },
    },
    watchedSince: () => watchedSince,
    async run(signal) {
      while (!signal.aborted) {
        const step = moved();
        if (step !== 0) {
          await follow(step, true);
          log.warn({ byMs: step }, 'the clock was moved, and the times that wait with it');
        } else if (elapsed() - notedAt >= NOTE_MS) {
          await note(store.db, await readNoted(store.db));
        }
        await wall.sleep(LOOK_MS, signal).catch(() => undefined);
      }
      if (moved() === 0) await note(store.db, await readNoted(store.db));
    },
  };
}
