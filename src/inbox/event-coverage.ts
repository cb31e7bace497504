/**
 * Missed-event detection: compares deliveries found by sweeps with received events (view
 * `event_coverage`). One rule without settings: of the newest 20 deliveries of a day, at least
 * three and at least a quarter were found by a sweep and announced by no event in time; at an
 * account with fewer a day, the newest two of a week. While it holds, the incident `events_missed`
 * is open and orders are swept every two minutes. The worker also raises `relay_clock`, because
 * signatures fail once the clocks differ by five minutes, `events_refused`, and `secret_ends`. Its
 * figures are stored in `daemon_state`, for readers beside the daemon.
 */
import { sql } from 'kysely';
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/log.ts';
import {
  type Incident,
  openDetail,
  reconcileIncidents,
  updateIncident,
} from '../store/incidents.ts';
import { readState, writeState } from '../store/state.ts';
import type { Db, Store } from '../store/store.ts';
import { KNOWN_TYPES } from './event-store.ts';
import type { Meter } from './meter.ts';
import { endingSecret, type NamedSecret } from './refusals.ts';

export interface EventCoverage {
  /** Number of recent deliveries that the figures are about, 20 at most. */
  readonly deliveries: number;
  /** Deliveries that a sweep found and no event announced in time. */
  readonly missed: number;
}

interface CoverageDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Logger;
  readonly meter: Meter;
  /** Signing secrets of the listener. */
  readonly secrets?: readonly NamedSecret[];
}

export interface CoverageWatch {
  readonly name: 'event-coverage';
  /** Reads the figures once, stores them, and opens or ends the incidents. */
  look(): Promise<void>;
  run(signal: AbortSignal): Promise<void>;
  /** Milliseconds between sweeps while events are missed; undefined: the schedule applies. */
  pace(): number | undefined;
}

const COVERAGE_STATE = 'event_coverage';
const LOOK_MS = 15_000;
const QUICK_SWEEP_MS = 2 * 60_000;
const WINDOW_MS = 86_400_000;
/**
 * Milliseconds after a sweep within which an event still counts as in time; the view
 * `event_coverage` uses the same figure.
 */
const EVENT_DELAY_MS = 5 * 60_000;
const DELIVERIES_MAX = 20;
const MISSED_MIN = 3;
/** Milliseconds that are examined at an account with fewer deliveries a day than may be missed. */
const QUIET_WINDOW_MS = 7 * WINDOW_MS;
/** Newest deliveries of such an account that must all be missed. */
const QUIET_MIN = 2;
const MISSED_SHARE_MIN = 0.25;
/** Newest deliveries examined; more than 20, because not all of them count. */
const ROWS_MAX = 200;
/** Clock difference in ms above which `relay_clock` opens; signatures fail at 300 s. */
const CLOCK_OFFSET_MS_MAX = 60_000;

const CLOCK_HINT =
  "our clock and the relay's differ, from five minutes on events are refused: timedatectl; else ";

/** Different types of events that a hint names. */
const TYPES_NAMED_MAX = 3;
const ANNOUNCING = 'sales_order.delivery_created';

/** Says why deliveries are not announced, by the events that did come in the last day. */
async function whyMissed(db: Db, now: number): Promise<string> {
  const { rows } = await sql<{ readonly type: string | null; readonly count: number }>`
    select type, count(*) count from webhook_event
    where received_at between ${now - WINDOW_MS} and ${now} group by type order by 2 desc
    `.execute(db);
  const came = rows.filter(({ type }) => type !== 'ping');
  const unknown = came.filter(({ type }) => type === null || !KNOWN_TYPES.has(type));
  if (came.some(({ type }) => type === ANNOUNCING) || came.length === 0) {
    return (
      'events are lost on their way from the relay, or it has disabled the endpoint: ' +
      'selvedge portal open, send an example there, and see: selvedge events list --follow'
    );
  }
  if (unknown.length === 0) {
    const subscribe = 'subscribe the endpoint to it (selvedge portal open)';
    return `events come, and none is ${ANNOUNCING}: ${subscribe}`;
  }
  const named = unknown.slice(0, TYPES_NAMED_MAX).map(({ type, count }) => `${count} ${type}`);
  return (
    `events come, of types that are not known (${named.join(', ')}), and none is ${ANNOUNCING}: ` +
    'see what they say (selvedge events list), and what the endpoint is subscribed to'
  );
}

/**
 * Counts announced and missed deliveries. A delivery that a sweep found counts only if the sweep
 * before it began at `since` or later, when the listener was running.
 */
export async function readCoverage(db: Db, since: number, now: number): Promise<EventCoverage> {
  const day = await countCoverage(db, since, now, WINDOW_MS);
  if (day.deliveries >= MISSED_MIN) return day;
  const week = await countCoverage(db, since, now, QUIET_WINDOW_MS, QUIET_MIN);
  return week.deliveries < QUIET_MIN ? day : week;
}

async function countCoverage(
  db: Db,
  since: number,
  now: number,
  windowMs: number,
  most = DELIVERIES_MAX,
): Promise<EventCoverage> {
  const { rows } = await sql<{ readonly announced: number }>`
    select announced from event_coverage
    where order_delivery_id >= (select min(order_delivery_id) from (
        select order_delivery_id from delivery order by order_delivery_id desc limit ${ROWS_MAX}))
      and at between ${now - windowMs} and ${now}
      and (by_event or since >= ${since})
      and (announced or at < ${now - EVENT_DELAY_MS})
    order by order_delivery_id desc limit ${most}`.execute(db);
  const missed = rows.filter(({ announced }) => announced === 0).length;
  return { deliveries: rows.length, missed };
}

export interface MissedDelivery {
  readonly orderDeliveryId: number;
  readonly orderId: number;
  /** Epoch ms when a sweep found the delivery; `createdAt`: when the service says it was packed. */
  readonly foundAt: number;
  readonly createdAt: number | null;
}

/** Newest deliveries that a sweep found and that no event announced in time. */
export async function listMissed(
  db: Db,
  now: number,
  limit: number,
): Promise<readonly MissedDelivery[]> {
  const { rows } = await sql<MissedDelivery>`
    select order_delivery_id "orderDeliveryId", order_id "orderId", at "foundAt",
      created_at "createdAt"
    from event_coverage
    where order_delivery_id >= (select min(order_delivery_id) from (
        select order_delivery_id from delivery order by order_delivery_id desc limit ${ROWS_MAX}))
      and not announced and at between ${now - WINDOW_MS} and ${now - EVENT_DELAY_MS}
    order by order_delivery_id desc limit ${limit}`.execute(db);
  return rows;
}

function isLosing({ deliveries, missed }: EventCoverage): boolean {
  if (deliveries <= QUIET_MIN) return missed >= QUIET_MIN;
  return missed >= MISSED_MIN && missed >= deliveries * MISSED_SHARE_MIN;
}

type Alarm = 'events_missed' | 'relay_clock';

async function isOpen(db: Db, kind: Alarm): Promise<boolean> {
  const row = await db
    .selectFrom('incident')
    .select('id')
    .where('kind', '=', kind)
    .where('resolved_at', 'is', null)
    .executeTakeFirst();
  return row !== undefined;
}

export function createCoverageWatch(deps: CoverageDeps): CoverageWatch {
  const { store, clock, log, meter, secrets = [] } = deps;
  let listeningSince = clock.now();
  let pace: number | undefined;

  const setAlarm = async (kind: Alarm, isOn: boolean, detail: object): Promise<void> => {
    const wanted = isOn ? [{ kind, entity: 'relay', key: kind, detail }] : [];
    const { opened, ended } = await reconcileIncidents(store.db, [kind], wanted, clock.now());
    if (opened.length > 0) log.error({ alarm: kind, ...detail }, 'alarm');
    if (ended > 0) log.info({ alarm: kind }, 'the alarm is over');
  };

  /** Makes the incidents of a kind those that there should be, with their figures of now. */
  const tell = async (kind: string, wanted: readonly Incident[]): Promise<void> => {
    const { opened } = await reconcileIncidents(store.db, [kind], wanted, clock.now());
    for (const { detail } of opened) log.error({ alarm: kind, ...detail }, 'alarm');
    for (const incident of wanted) {
      const isSame = (await openDetail(store.db, incident)) === JSON.stringify(incident.detail);
      if (!isSame) await updateIncident(store.db, incident, clock.now());
    }
  };

  const tellMissed = async (found: EventCoverage, isClockOff: boolean): Promise<void> => {
    const why = isLosing(found) ? await whyMissed(store.db, clock.now()) : '';
    const hint = isClockOff ? CLOCK_HINT + why : why;
    await setAlarm('events_missed', isLosing(found), { ...found, hint });
  };

  const look = async (): Promise<void> => {
    const now = clock.now();
    // A clock that was ahead at the start would delay the counting of deliveries.
    listeningSince = Math.min(listeningSince, now);
    const { clockOffsetMs } = meter.stats();
    const isClockOff = Math.abs(clockOffsetMs ?? 0) > CLOCK_OFFSET_MS_MAX;
    if (clockOffsetMs !== undefined) await setAlarm('relay_clock', isClockOff, { clockOffsetMs });
    const { refusals } = meter;
    const refused = refusals.incidents();
    if (refused.length > 0 || refusals.isKnown()) await tell('events_refused', refused);
    await tell('secret_ends', endingSecret(secrets, now));
    const found = await readCoverage(store.db, listeningSince, now);
    // Without deliveries nothing new is known, so the incident stays, also over a restart.
    if (found.deliveries > 0) {
      await tellMissed(found, isClockOff);
      const text = JSON.stringify(found);
      const written = await readState(store.db, COVERAGE_STATE);
      if (text !== written) await writeState(store.db, COVERAGE_STATE, text, clock);
    }
    pace = (await isOpen(store.db, 'events_missed')) ? QUICK_SWEEP_MS : undefined;
  };

  return {
    name: 'event-coverage',
    look,
    async run(signal) {
      while (!signal.aborted) {
        await look();
        await clock.sleep(LOOK_MS, signal).catch(() => undefined);
      }
    },
    pace: () => pace,
  };
}
