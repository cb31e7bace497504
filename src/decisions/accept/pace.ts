/**
 * Limits the pace of accepts: after too many in an hour, or many in a row that the service refused,
 * an incident is opened and accepting pauses for a while. During the pause deliveries that the
 * rules would accept are held.
 *
 * Hours are those of the clock; the count is stored, so that a restart keeps it.
 */
import { sql } from 'kysely';
import { z } from 'zod';
import { tryParseJson } from '../../lib/json.ts';
import { parseDuration } from '../../lib/units.ts';
import type { Outcome } from '../../rules/combine.ts';
import type { RuleSet } from '../../rules/rule.ts';
import { endIncidents, openDetail, openIncident } from '../../store/incidents.ts';
import { readState, writeStateAt } from '../../store/state.ts';
import type { Db, Tx } from '../../store/store.ts';
import { REFUSED_BY_SERVICE } from '../push.ts';

type Settings = RuleSet['settings'];

const HOUR_MS = 3_600_000;
/** Number of latest outbox rows that are searched for pushes of accepts. */
const ROWS_LOOKED_AT = 500;
const KEY = 'accept_pace';
const INCIDENT = { kind: 'accepts_paused', entity: 'rules', key: 'accept' } as const;

const PACE = z.object({
  /** Hours since the epoch; `count` is the number of accepts in that hour. */
  hour: z.int(),
  count: z.int(),
  /** Time until which accepting pauses, in epoch milliseconds. */
  pausedUntil: z.int(),
  why: z.string(),
});
type Pace = z.output<typeof PACE>;

/** Beginning of the clock hour in which accepts are counted at `now`, in epoch milliseconds. */
export function hourBegan(now: number): number {
  return Math.floor(now / HOUR_MS) * HOUR_MS;
}

function pauseMsOf({ safeguards }: Settings): number {
  return parseDuration(safeguards.accept.pause) ?? HOUR_MS;
}

async function readPace(tx: Db | Tx, settings: Settings, now: number): Promise<Pace> {
  const hour = Math.floor(now / HOUR_MS);
  const text = await readState(tx, KEY);
  if (text === undefined) return { hour, count: 0, pausedUntil: 0, why: '' };
  const read = PACE.parse(tryParseJson(text));
  const pace = read.hour === hour ? read : { ...read, hour, count: 0 };
  // An end further away than a whole pause was stored before the clock was set back.
  return pace.pausedUntil > now + pauseMsOf(settings) ? { ...pace, pausedUntil: 0 } : pace;
}

/** Tells people why and until when accepting pauses; undefined while it does not pause. */
export async function pauseOfAccepts(
  tx: Tx,
  settings: Settings,
  now: number,
): Promise<string | undefined> {
  const { pausedUntil, why } = await readPace(tx, settings, now);
  if (pausedUntil <= now) return undefined;
  const until = new Date(pausedUntil).toISOString();
  return `accepting pauses until ${until} (${why}): what the rules accept is held until then`;
}

function writePace(tx: Tx, pace: Pace, now: number): Promise<void> {
  return writeStateAt(tx, KEY, JSON.stringify(pace), now);
}

/** Whether the last `max` pushes of accepts since `since` all failed. */
async function allRefused(tx: Tx, max: number, since: number): Promise<boolean> {
  const rows = await tx
    .selectFrom('outbox')
    .select('state')
    // Only the latest rows of the outbox are searched: behind a long backlog no push has ended
    // lately.
    .where('outbox_id', '>', (eb) =>
      eb
        .selectFrom('outbox')
        .select(sql<number>`coalesce(max(outbox_id), 0) - ${ROWS_LOOKED_AT}`.as('from')),
    )
    // The plus keeps SQLite from using an index on `kind`, which would read every push ever made;
    // it searches by `outbox_id` instead.
    .where(sql<string>`+kind`, '=', 'delivery_status')
    .where('ended_at', 'is not', null)
    .where('created_at', '>', since)
    // Pushes that were never sent, such as canceled ones, say nothing about the service.
    .where((eb) => eb.or([eb('state', '=', 'confirmed'), REFUSED_BY_SERVICE]))
    .orderBy('outbox_id', 'desc')
    .limit(max)
    .execute();
  return rows.filter(({ state }) => state !== 'confirmed').length === max;
}

async function reasonToPause(
  tx: Tx,
  { safeguards }: Settings,
  { count, pausedUntil }: Pace,
  isCounted: boolean,
): Promise<string | undefined> {
  const { max_per_hour: max, refused_in_a_row: refused } = safeguards.accept;
  if (!isCounted && count >= max) return `${max} accepts in this hour are the limit`;
  if (!(await allRefused(tx, refused, pausedUntil))) return undefined;
  return `the service did not take the last ${refused} pushes`;
}

export interface Paused {
  readonly outcome: Outcome;
  /** Time at which the held delivery is evaluated again, in epoch milliseconds. */
  readonly until: number;
}

/** Gives the hold that replaces an accept while accepting pauses; undefined: it does not pause. */
export async function pausedAccept(
  tx: Tx,
  accept: Outcome,
  settings: Settings,
  now: number,
): Promise<Paused | undefined> {
  const { why, pausedUntil } = await readPace(tx, settings, now);
  return pausedUntil > now ? pausedBy(accept, why, pausedUntil) : undefined;
}

/** Ends the incident of a pause that is over, whether anything is accepted again or not. */
export async function endPauseOver(db: Db, settings: Settings, now: number): Promise<void> {
  if ((await openDetail(db, INCIDENT)) === undefined) return;
  const { pausedUntil } = await readPace(db, settings, now);
  if (pausedUntil <= now) await endIncidents(db, INCIDENT, [INCIDENT.key], now);
}

function pausedBy(accept: Outcome, why: string, until: number): Paused {
  const reason = `safeguard accepts: ${why}; accepting pauses`;
  return { until, outcome: { ...accept, kind: 'hold', code: 'safeguard', reason } };
}

/**
 * Counts an accept that is about to be enqueued, or gives the hold that replaces it while accepting
 * pauses. Call it in the transaction that enqueues the push. `isCounted`: an earlier accept of this
 * delivery was counted but never sent, so this one is not counted again.
 */
export async function paceAccept(
  tx: Tx,
  { accept, isCounted }: { readonly accept: Outcome; readonly isCounted: boolean },
  settings: Settings,
  now: number,
): Promise<Paused | undefined> {
  const pauseMs = pauseMsOf(settings);
  const pace = await readPace(tx, settings, now);
  if (pace.pausedUntil > now) return pausedBy(accept, pace.why, pace.pausedUntil);
  const why = await reasonToPause(tx, settings, pace, isCounted);
  if (why === undefined) {
    await writePace(tx, { ...pace, count: pace.count + Number(!isCounted) }, now);
    return undefined;
  }
  const pausedUntil = now + pauseMs;
  await writePace(tx, { ...pace, pausedUntil, why }, now);
  await openIncident(tx, { ...INCIDENT, detail: { why } }, now);
  return pausedBy(accept, why, pausedUntil);
}
