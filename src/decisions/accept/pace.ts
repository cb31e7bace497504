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
import type { RuleSet } from '../../rules/rule.ts';
import { endIncidents, openDetail, openIncident } from '../../store/incidents.ts';
import { readState, writeStateAt } from '../../store/state.ts';
import type { Db, Tx } from '../../store/store.ts';
import type { Candidate, Precaution } from '../judgement.ts';
import { REFUSED_BY_SERVICE, wasCounted } from '../push.ts';

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
function hourBegan(now: number): number {
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

/** Ends the incident of a pause that is over, whether anything is accepted again or not. */
export async function endPauseOver(db: Db, settings: Settings, now: number): Promise<void> {
  if ((await openDetail(db, INCIDENT)) === undefined) return;
  const { pausedUntil } = await readPace(db, settings, now);
  if (pausedUntil <= now) await endIncidents(db, INCIDENT, [INCIDENT.key], now);
}

/**
 * Holds an accept while accepting pauses, and begins a pause; else counts the accept. An earlier
 * accept of the delivery that was counted but never sent is not counted again.
 */
export async function holdForPace(
  tx: Tx,
  { subject, ruleSet: { settings }, outcome, now }: Candidate,
): Promise<Partial<Precaution>> {
  const pace = await readPace(tx, settings, now);
  const heldUntil = (lookAt: number, why: string) => {
    const reason = `safeguard accepts: ${why}; accepting pauses`;
    return { lookAt, outcome: { ...outcome, kind: 'hold', code: 'safeguard', reason } } as const;
  };
  if (pace.pausedUntil > now) return heldUntil(pace.pausedUntil, pace.why);
  const { order_delivery_id: id } = subject.delivery;
  const isCounted = await wasCounted(tx, id, hourBegan(now));
  const why = await reasonToPause(tx, settings, pace, isCounted);
  if (why === undefined) {
    const counted = { ...pace, count: pace.count + Number(!isCounted) };
    return { effect: (own) => writePace(own, counted, now) };
  }
  const pausedUntil = now + pauseMsOf(settings);
  return {
    ...heldUntil(pausedUntil, why),
    async effect(own) {
      await writePace(own, { ...pace, pausedUntil, why }, now);
      await openIncident(own, { ...INCIDENT, detail: { why } }, now);
    },
  };
}
