/**
 * Limits of accepts. After too many in an hour, or many in a row that the service refused, an
 * incident is opened and accepting pauses for a while: what the rules would accept is held. Hours
 * are those of the clock; the count is stored, so that a restart keeps it.
 *
 * Besides: how many a day, how many a day for one customer, which amount a day in one currency, and
 * which share of all decided deliveries. These are counted from the database, in the transaction
 * that enqueues the next one; an accept whose push failed or was canceled does not count. A day is
 * any 24 hours.
 */
import { sql } from 'kysely';
import { z } from 'zod';
import { tryParseJson } from '../../lib/json.ts';
import { AMOUNT_DECIMALS, sumOfUnits } from '../../lib/money.ts';
import { parseDuration } from '../../lib/units.ts';
import { compareExact, Decimal } from '../../rules/cel/decimal.ts';
import type { RuleSet } from '../../rules/rule.ts';
import { endIncidents, openDetail, openIncident } from '../../store/incidents.ts';
import { readState, writeStateAt } from '../../store/state.ts';
import type { Db, Tx } from '../../store/store.ts';
import type { OutboxState } from '../../store/tables.ts';
import { kept, type Value } from '../../store/transaction/kept.ts';
import type { Candidate, Precaution } from '../judgement.ts';
import { REFUSED_BY_SERVICE, wasCounted } from '../push.ts';
import { countedOf, decidedToday } from '../reject/caps.ts';
import { safeguardHold } from '../reject/outcome.ts';
import { type AcceptedBefore, acceptedSince, DAY_MS } from './accepted.ts';

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

// Only the latest rows of the outbox are searched: behind a long backlog no push has ended lately.
// The plus keeps SQLite from using an index on `kind`, which would read every push ever made; it
// searches by `outbox_id` instead. Pushes that were never sent, such as canceled ones, say nothing
// about the service.
const latestEnds = kept(
  (_db: Db, since: Value<number>, max: Value<number>) => sql<{ readonly state: OutboxState }>`
    select state from outbox
    where outbox_id > (select coalesce(max(outbox_id), 0) - ${sql.lit(ROWS_LOOKED_AT)} from outbox)
      and +kind = 'delivery_status' and ended_at is not null and created_at > ${since}
      and (state = 'confirmed' or ${REFUSED_BY_SERVICE})
    order by outbox_id desc limit ${max}`,
);

async function reasonToPause(
  tx: Tx,
  { safeguards }: Settings,
  { count, pausedUntil }: Pace,
  isCounted: boolean,
): Promise<string | undefined> {
  const { max_per_hour: max, refused_in_a_row: refused } = safeguards.accept;
  if (!isCounted && count >= max) return `${max} accepts in this hour are the limit`;
  const ends = await latestEnds(tx, pausedUntil, refused);
  if (ends.filter(({ state }) => state !== 'confirmed').length < refused) return undefined;
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
  const isCounted = subject.past.isDecided && (await wasCounted(tx, id, hourBegan(now)));
  const why = await reasonToPause(tx, settings, pace, isCounted);
  if (why === undefined) {
    const counted = { ...pace, count: pace.count + Number(!isCounted) };
    return { effect: (own) => writeStateAt(own, KEY, JSON.stringify(counted), now) };
  }
  const pausedUntil = now + pauseMsOf(settings);
  return {
    ...heldUntil(pausedUntil, why),
    async effect(own) {
      await writeStateAt(own, KEY, JSON.stringify({ ...pace, pausedUntil, why }), now);
      await openIncident(own, { ...INCIDENT, detail: { why } }, now);
    },
  };
}

/**
 * Milliseconds after which a delivery over a limit is evaluated again: failed pushes free the
 * limit.
 */
const LOOK_MS = 600_000;

function amountOver(
  today: readonly AcceptedBefore[],
  amount: number | null,
  currency: string | null,
  limits: Readonly<Record<string, number>>,
): string | undefined {
  const max = currency === null ? undefined : limits[currency];
  if (currency === null) return 'the limit by amount, because the currency is not known';
  if (max === undefined) return undefined;
  const same = today.filter((one) => one.currency === currency || one.currency === null);
  const sum = sumOfUnits([amount, ...same.map((one) => one.amount)]);
  if (sum === null) return 'the limit by amount, because an amount is not known';
  const isWithin = compareExact(new Decimal(BigInt(sum), AMOUNT_DECIMALS), max) <= 0;
  return isWithin ? undefined : `${max} ${currency} a day`;
}

/** Holds an accept that would exceed a limit. */
export async function holdForCap(
  tx: Tx,
  { subject: { facts, delivery }, ruleSet, outcome, now, supposed = [] }: Candidate,
): Promise<Precaution | undefined> {
  const { accept } = ruleSet.settings.safeguards;
  const { max_per_day, max_per_customer_per_day, max_amount_per_day, max_share_of_day } = accept;
  const limits = [max_per_day, max_per_customer_per_day, max_amount_per_day, max_share_of_day];
  if (limits.every((one) => one === undefined)) return undefined;
  const before = await acceptedSince(tx, delivery.order_delivery_id, now - DAY_MS);
  const today = [...before, ...supposed];
  const { accountNo, amount, currency } = countedOf(facts);
  const own = today.filter((one) => one.accountNo === accountNo);
  const limit =
    over('a day', today.length + 1, max_per_day) ??
    over('a day for one customer', own.length + 1, max_per_customer_per_day) ??
    (max_amount_per_day && amountOver(today, amount, currency, max_amount_per_day)) ??
    (await shareOver(tx, today.length + 1, accept, now));
  if (limit === undefined) return undefined;
  const detail = `accepts would exceed ${limit}`;
  const held = safeguardHold(undefined, { safeguard: 'cap', detail });
  return { outcome: { ...held, missing: outcome.missing }, lookAt: now + LOOK_MS };
}

function over(what: string, count: number, max: number | undefined): string | undefined {
  return max !== undefined && count > max ? `${max} ${what}` : undefined;
}

async function shareOver(
  tx: Tx,
  accepts: number,
  { max_share_of_day: max, share_floor: floor }: Settings['safeguards']['accept'],
  now: number,
): Promise<string | undefined> {
  if (max === undefined || accepts <= floor) return undefined;
  const decided = Math.max(accepts, await decidedToday(tx, now));
  return accepts * 100 > max * decided ? `${max} % of the deliveries of a day` : undefined;
}
