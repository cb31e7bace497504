/** Health of this daemon, from all of its parts, for `/healthz`, `/readyz` and metrics. */
import { statSync } from 'node:fs';
import type { Config } from '../../config/schema.ts';
import type { Meter } from '../../inbox/meter.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Health } from '../../local-api/health-routes.ts';
import type { Metrics } from '../../ops/metrics/metrics.ts';
import { readDatabase } from '../../ops/metrics/readings.ts';
import type { InForce, LiveReadings } from '../../ops/metrics/sources.ts';
import { createTally } from '../../ops/metrics/tally.ts';
import { planeSettingsOf, readPlaneCopy } from '../../ops/plane-copy.ts';
import { readStandbyHere, standbyHereOf } from '../../ops/standby-here.ts';
import { freshnessOf } from '../../ops/status.ts';
import { version } from '../../ops/version.ts';
import { databaseMadeAt } from '../../store/backup/inspect.ts';
import { newestBackup } from '../../store/backup/manifest.ts';
import type { Checkpoints } from '../../store/care/checkpoints.ts';
import type { Lease } from '../../store/lock.ts';
import type { SpaceWatch } from '../../store/space.ts';
import type { Store } from '../../store/store.ts';
import type { Service } from '../service.ts';
import type { WorkerHealth } from '../supervisor.ts';

export interface HealthDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly lease: Pick<Lease, 'failed'>;
  readonly service: Service;
  readonly meter: Meter;
  readonly space: SpaceWatch;
  readonly checkpoints: Pick<Checkpoints, 'figures'>;
  readonly workers: () => readonly WorkerHealth[];
  readonly stuck: () => readonly string[];
  readonly inForce: () => InForce;
  /** Whether both listeners (events, local API) accept connections. */
  readonly isOpen: () => boolean;
}

function bytesOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

function backupReader(config: Config, { store, clock }: HealthDeps): () => LiveReadings['backup'] {
  // The database stays the same for the life of the process, so its age is read once.
  let madeAt: string | undefined;
  return () => {
    try {
      madeAt ??= databaseMadeAt(store.path);
      const now = clock.now();
      const newest = newestBackup(config, now, madeAt);
      if (!newest) return undefined;
      const { createdAt, mirror, exchange } = newest.manifest;
      return {
        ageMs: now - Date.parse(createdAt),
        bytes: mirror.bytes + (exchange?.bytes ?? 0),
      };
    } catch {
      // The folder of backups may be closed to this user, which must not hide all other numbers.
      return undefined;
    }
  };
}

function readPlane(config: Config, now: number): LiveReadings['plane'] {
  const copy = readPlaneCopy(planeSettingsOf(config), now);
  return copy ? { lagMs: copy.lagMs ?? Infinity, limitMs: config.plane.lagWarning } : undefined;
}

function readStandby(config: Config, now: number): LiveReadings['standby'] {
  const here = readStandbyHere(standbyHereOf(config), now);
  return here ? { ...here, ready: here.ready ?? undefined } : undefined;
}

function liveReadings(
  deps: HealthDeps,
  beside: Pick<LiveReadings, 'backup' | 'plane' | 'standby'>,
): LiveReadings {
  const { store, service, meter, space } = deps;
  const { transport } = service;
  const { walBytes, pinnedMs } = deps.checkpoints.figures();
  return {
    inbox: meter.stats(),
    service: {
      ...transport.stats(),
      waiting: transport.limiter.waiting(),
      active: transport.limiter.active(),
      perSecond: transport.limiter.pace().perSecond,
      answered: transport.takeAnswered(),
      logins: service.logins(),
      answers: service.answers(),
    },
    workers: deps.workers(),
    stuck: deps.stuck(),
    space: space.figures(),
    files: {
      databaseBytes: bytesOf(store.path),
      walBytes,
      walPinnedMs: pinnedMs,
    },
    ...beside,
  };
}

/**
 * Failed renewals of the lease in a row from which the database counts as not writable; another
 * program may lock it for a moment.
 */
const RENEWALS_FAILED_MIN = 2;

/**
 * Reasons why the database cannot be written; none: it can. The lease shows it, because it is
 * written again and again, whatever else there is to do.
 */
function cannotWrite({ failed }: Pick<Lease, 'failed'>): string[] {
  const { times, why } = failed();
  return times < RENEWALS_FAILED_MIN ? [] : [`the database cannot be written: ${why}`];
}

function refusesEvents(meter: Meter): string[] {
  const reason = meter.refusesAll();
  return reason === undefined ? [] : [`events are answered 503: ${reason}`];
}

export function createHealth(config: Config, deps: HealthDeps): Health {
  const { store, clock, space } = deps;
  const freshness = freshnessOf(config);
  const readBackup = backupReader(config, deps);
  const tally = createTally(store.db, clock.now());
  const readAll = async () => {
    const now = clock.now();
    const readings = await readDatabase(store.db, now, freshness, config.dataDir);
    return { ...readings, ...(await tally.read(now)), inForce: deps.inForce() };
  };
  // Loads the metrics library at the first request, so that a start does not wait for it.
  const load = async (): Promise<Metrics> => {
    const { createMetrics } = await import('../../ops/metrics/metrics.ts');
    return createMetrics({
      build: { version: version(), node: process.version, instance: config.instance },
      clock,
      readDatabase: readAll,
      readLive: () =>
        liveReadings(deps, {
          backup: readBackup(),
          plane: readPlane(config, clock.now()),
          standby: readStandby(config, clock.now()),
        }),
    });
  };
  let metrics: Promise<Metrics> | undefined;
  return {
    metrics: () => {
      metrics ??= load();
      return metrics;
    },
    ill: () => deps.stuck().map((worker) => `${worker} makes no progress`),
    // Other workers that fail keep no event away; metrics count their restarts.
    unready: () => [
      ...(deps.isOpen() ? [] : ['the listeners do not accept']),
      ...cannotWrite(deps.lease),
      ...refusesEvents(deps.meter),
      ...(space.allows('receive') ? [] : ['the disk is nearly full']),
    ],
  };
}
