/** Builds the worker of scheduled reports from the configuration. */
import type { Config } from '../config/schema.ts';
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/log.ts';
import type { Scrubber } from '../lib/secret.ts';
import { sendMail, trustOf } from '../ops/notify/channel.ts';
import { createScheduler } from '../report/schedules/scheduler.ts';
import { type Store, storeOptions } from '../store/store.ts';
import type { Worker } from './supervisor.ts';

export interface ReportsDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Logger;
  readonly scrubber: Scrubber;
  readonly timeZone: () => string;
}

export function createReports(config: Config, deps: ReportsDeps): Worker {
  const { store, clock, log, scrubber, timeZone } = deps;
  const { schedules, directory, locale } = config.reports;
  return createScheduler(
    {
      store,
      clock,
      timeZone,
      log: log.child({ room: 'report' }),
      scrub: scrubber.scrub,
      instance: config.instance,
      sendMail: (to, mail, { signal, caFile }) =>
        sendMail({ clock, signal }, { ...to, ...trustOf(caFile) }, mail),
    },
    { schedules, directory, locale: locale ?? undefined, source: storeOptions(config) },
  );
}
