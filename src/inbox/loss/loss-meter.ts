/**
 * The loss meter: measures how far events can be trusted, sets the pace of the sweep by it, and
 * raises an alarm when the relay falls silent while orders change, which means that the way from
 * the relay to us is dead or the endpoint was disabled.
 *
 * A worker that looks every few seconds, at tables only. Its figures stand in `daemon_state` for
 * everybody who reads beside the daemon; alarms are incidents, which end by themselves.
 */
import type { Clock } from '../../lib/clock.ts';
import { isJsonObject, tryParseJson } from '../../lib/json.ts';
import type { Logger } from '../../lib/log.ts';
import { reconcileIncidents } from '../../store/incidents.ts';
import { readState, writeState } from '../../store/state.ts';
import type { Store } from '../../store/store.ts';
import type { Meter } from '../meter.ts';
import { type LossFigures, type LossLimits, readLossFigures } from './figures.ts';
import { recordSightings, settleSightings } from './sightings.ts';
import { AWAY_MS_MAX, createTypesSent } from './types-sent.ts';

export interface LossMeterDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Logger;
  readonly meter: Meter;
}

export interface LossMeterLimits extends LossLimits {
  readonly graceMs: number;
}

export interface LossMeter {
  readonly name: 'loss-meter';
  /** Brings everything up to now. */
  look(): Promise<LossFigures>;
  run(signal: AbortSignal): Promise<void>;
  /** Milliseconds between two sweeps; undefined while nothing is measured. */
  pace(): number | undefined;
}

const LOOK_MS = 5_000;
/** Longer than a type may stay away: what it missed tells that it does. */
const KEEP_MS = 2 * AWAY_MS_MAX;
const FIGURES = 'loss_meter';
/** From here on signatures are in danger: they end at 300 s. */
const CLOCK_OFFSET_MS_MAX = 60_000;

interface Alarm {
  readonly kind: 'events_silent' | 'relay_clock';
  readonly isOn: boolean;
  readonly detail: object;
}

/** Opens the incident while the alarm is on, and ends it when it is off. */
async function setAlarm({ store, clock, log }: LossMeterDeps, alarm: Alarm): Promise<void> {
  const { kind, isOn, detail } = alarm;
  const wanted = isOn ? [{ kind, entity: 'relay', key: kind, detail }] : [];
  const { opened, ended } = await reconcileIncidents(store.db, [kind], wanted, clock.now());
  if (opened.length > 0) log.error({ alarm: kind, ...detail }, 'alarm');
  if (ended > 0) log.info({ alarm: kind }, 'the alarm is over');
}

const SILENCE_HINT =
  'the way from the relay is dead, or it has disabled the endpoint: ' +
  'selvedge events ping, then selvedge portal open';

const CLOCK_HINT =
  "our clock and the relay's differ, from five minutes on events are refused: timedatectl; else ";

/** Since when it was silent by these figures; undefined: it was not. */
function silentSinceIn(figures: string): number | undefined {
  const stored = tryParseJson(figures);
  const since = isJsonObject(stored) ? stored.silentSince : undefined;
  return typeof since === 'number' ? since : undefined;
}

export function createLossMeter(deps: LossMeterDeps, limits: LossMeterLimits): LossMeter {
  const { store, clock, meter } = deps;
  let listeningSince = clock.now();
  const typesSent = createTypesSent(() => store.db, clock);
  let latest: LossFigures | undefined;
  let written: string | undefined;
  let heardAt = listeningSince;

  const lastEventAt = async (): Promise<number> => {
    const now = clock.now();
    // What is later than now was written before the clock was set back.
    heardAt = Math.min(heardAt, now);
    const row = await store.db
      .selectFrom('webhook_event')
      .select((eb) => eb.fn.max('received_at').as('at'))
      .where('received_at', '<=', now)
      .executeTakeFirst();
    const { lastAcceptedAt = 0 } = meter.stats();
    return Math.max(row?.at ?? 0, lastAcceptedAt <= now ? lastAcceptedAt : 0, heardAt);
  };

  const look = async (): Promise<LossFigures> => {
    const now = clock.now();
    if (written === undefined) {
      written = (await readState(store.db, FIGURES)) ?? '';
      // While nobody listened no silence could be heard; one from before goes on.
      heardAt = silentSinceIn(written) ?? listeningSince;
    }
    // By a clock that was ahead we would begin to listen only once it has caught up.
    listeningSince = Math.min(listeningSince, now);
    const { graceMs } = limits;
    const sightings = { store, clock, listeningSince, typesSent, graceMs };
    await recordSightings(sightings);
    await settleSightings(sightings);
    await store.db
      .deleteFrom('sighting')
      .where('at', '<', now - KEEP_MS)
      .execute();
    const eventAt = await lastEventAt();
    const figures = await readLossFigures(store.db, limits, now, eventAt);
    latest = figures;
    const { state, lost, waiting, silentSince } = figures;
    const { clockOffsetMs } = meter.stats();
    const isClockOff = Math.abs(clockOffsetMs ?? 0) > CLOCK_OFFSET_MS_MAX;
    const hint = isClockOff ? CLOCK_HINT + SILENCE_HINT : SILENCE_HINT;
    const silence = { silentSince, lost, waiting, hint };
    await setAlarm(deps, { kind: 'events_silent', isOn: state === 'silent', detail: silence });
    if (clockOffsetMs !== undefined) {
      await setAlarm(deps, { kind: 'relay_clock', isOn: isClockOff, detail: { clockOffsetMs } });
    }
    const text = JSON.stringify(figures);
    if (text !== written) await writeState(store.db, FIGURES, text, clock);
    written = text;
    return figures;
  };

  return {
    name: 'loss-meter',
    look,
    async run(signal) {
      while (!signal.aborted) {
        await look();
        await clock.sleep(LOOK_MS, signal).catch(() => undefined);
      }
    },
    pace: () => latest?.sweepMs ?? undefined,
  };
}
