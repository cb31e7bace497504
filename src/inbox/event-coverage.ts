/**
 * Missed-event detection: compares deliveries found by sweeps with received events (view
 * `event_coverage`). One rule without settings: of the newest 20 deliveries, at least three and at
 * least a quarter were found by a sweep and announced by no event in time. While it holds, the
 * incident `events_missed` is open and orders are swept every two minutes. The worker also raises
 * the incident `relay_clock`, because signatures fail once the clocks differ by five minutes. Its
 * figures are stored in `daemon_state`, for readers beside the daemon.
 */
import { sql } from 'kysely';
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/log.ts';
import { reconcileIncidents } from '../store/incidents.ts';
import { readState, writeState } from '../store/state.ts';
import type { Db, Store } from '../store/store.ts';
import type { Meter } from './meter.ts';

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
const MISSED_SHARE_MIN = 0.25;
/** Newest deliveries examined; more than 20, because not all of them count. */
const ROWS_MAX = 200;
/** Clock difference in ms above which `relay_clock` opens; signatures fail at 300 s. */
const CLOCK_OFFSET_MS_MAX = 60_000;

const MISSED_HINT =
  'events are lost on their way from the relay, or it has disabled the endpoint: ' +
  'selvedge portal open, send an example there, and see: selvedge events list --follow';

const CLOCK_HINT =
  "our clock and the relay's differ, from five minutes on events are refused: timedatectl; else ";

/**
 * Counts announced and missed deliveries. A delivery that a sweep found counts only if the sweep
 * before it began at `since` or later, when the listener was running.
 */
export async function readCoverage(db: Db, since: number, now: number): Promise<EventCoverage> {
  const { rows } = await sql<{ readonly announced: number }>`
    select announced from event_coverage
    where order_delivery_id >= (select min(order_delivery_id) from (
        select order_delivery_id from delivery order by order_delivery_id desc limit ${ROWS_MAX}))
      and at between ${now - WINDOW_MS} and ${now}
      and (by_event or since >= ${since})
      and (announced or at < ${now - EVENT_DELAY_MS})
    order by order_delivery_id desc limit ${DELIVERIES_MAX}`.execute(db);
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
  const { store, clock, log, meter } = deps;
  let listeningSince = clock.now();
  let pace: number | undefined;

  const setAlarm = async (kind: Alarm, isOn: boolean, detail: object): Promise<void> => {
    const wanted = isOn ? [{ kind, entity: 'relay', key: kind, detail }] : [];
    const { opened, ended } = await reconcileIncidents(store.db, [kind], wanted, clock.now());
    if (opened.length > 0) log.error({ alarm: kind, ...detail }, 'alarm');
    if (ended > 0) log.info({ alarm: kind }, 'the alarm is over');
  };

  const look = async (): Promise<void> => {
    const now = clock.now();
    // A clock that was ahead at the start would delay the counting of deliveries.
    listeningSince = Math.min(listeningSince, now);
    const { clockOffsetMs } = meter.stats();
    const isClockOff = Math.abs(clockOffsetMs ?? 0) > CLOCK_OFFSET_MS_MAX;
    if (clockOffsetMs !== undefined) await setAlarm('relay_clock', isClockOff, { clockOffsetMs });
    const found = await readCoverage(store.db, listeningSince, now);
    // Without deliveries nothing new is known, so the incident stays, also over a restart.
    if (found.deliveries > 0) {
      const hint = isClockOff ? CLOCK_HINT + MISSED_HINT : MISSED_HINT;
      await setAlarm('events_missed', isLosing(found), { ...found, hint });
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
