/**
 * Limits accepts: after too many in an hour, or many in a row that the service refused, an incident
 * is opened and accepting pauses for a while. Accepts by the rules are held until the pause is
 * over.
 *
 * Hours are those of the clock; the count is stored, so that a restart keeps it.
 */
import { sql } from 'kysely';
import { z } from 'zod';
import { tryParseJson } from '../../lib/json.ts';
import { parseDuration } from '../../lib/units.ts';
import type { Outcome } from '../../rules/combine.ts';
import type { RuleSet } from '../../rules/rule.ts';
import { endIncidents, openIncident } from '../../store/incidents.ts';
import { readState, writeStateAt } from '../../store/state.ts';
import type { Tx } from '../../store/store.ts';
import { REFUSED_BY_SERVICE } from '../push.ts';

type Settings = RuleSet['settings'];

const HOUR_MS = 3_600_000;
/** The latest rows of the outbox among which pushes of accepts are looked for. */
const ROWS_LOOKED_AT = 500;
const KEY = 'accept_pace';
const INCIDENT = { kind: 'accepts_paused', entity: 'rules', key: 'accept' } as const;

const PACE = z.object({
  /** Number of the hour, and the accepts in it. */
  hour: z.int(),
  count: z.int(),
  /** Accepting pauses until then; epoch milliseconds. */
  pausedUntil: z.int(),
  why: z.string(),
});
type Pace = z.output<typeof PACE>;

/** When the hour began in which accepts are counted now. */
export function hourBegan(now: number): number {
  return Math.floor(now / HOUR_MS) * HOUR_MS;
}

function pauseMsOf({ safeguards }: Settings): number {
  return parseDuration(safeguards.accept.pause) ?? HOUR_MS;
}

async function readPace(tx: Tx, settings: Settings, now: number): Promise<Pace> {
  const hour = Math.floor(now / HOUR_MS);
  const text = await readState(tx, KEY);
  if (text === undefined) return { hour, count: 0, pausedUntil: 0, why: '' };
  const read = PACE.parse(tryParseJson(text));
  const pace = read.hour === hour ? read : { ...read, hour, count: 0 };
  // A pause that is longer than one can be began before the clock was set back.
  return pace.pausedUntil > now + pauseMsOf(settings) ? { ...pace, pausedUntil: 0 } : pace;
}

/** Says to people that accepting pauses, why and until when; undefined while it does not. */
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

/** Whether the last `max` pushes of accepts since then all failed. */
async function allRefused(tx: Tx, max: number, since: number): Promise<boolean> {
  const rows = await tx
    .selectFrom('outbox')
    .select('state')
    // Only the latest rows count: behind a long backlog no push has ended lately.
    .where('outbox_id', '>', (eb) =>
      eb
        .selectFrom('outbox')
        .select(sql<number>`coalesce(max(outbox_id), 0) - ${ROWS_LOOKED_AT}`.as('from')),
    )
    // The plus makes SQLite search by number instead of through every push ever made.
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
  /** When it is to be looked at again; epoch milliseconds. */
  readonly until: number;
}

/** The hold in the place of an accept while accepting pauses; undefined: it does not. */
export async function pausedAccept(
  tx: Tx,
  accept: Outcome,
  settings: Settings,
  now: number,
): Promise<Paused | undefined> {
  const { why, pausedUntil } = await readPace(tx, settings, now);
  return pausedUntil > now ? pausedBy(accept, why, pausedUntil) : undefined;
}

function pausedBy(accept: Outcome, why: string, until: number): Paused {
  const reason = `safeguard accepts: ${why}; accepting pauses`;
  return { until, outcome: { ...accept, kind: 'hold', code: 'safeguard', reason } };
}

/**
 * Counts an accept that is about to be enqueued, or gives the hold in its place while accepting
 * pauses. Call it in the transaction that enqueues. `isCounted`: it was counted and never sent.
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
    if (pace.count === 0) await endIncidents(tx, INCIDENT, [INCIDENT.key], now);
    return undefined;
  }
  const pausedUntil = now + pauseMs;
  await writePace(tx, { ...pace, pausedUntil, why }, now);
  await openIncident(tx, { ...INCIDENT, detail: { why } }, now);
  return pausedBy(accept, why, pausedUntil);
}
