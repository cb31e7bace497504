/** Builds the console from the configuration: its thread, its answers, its ways in. */
import type { SettingRow } from '../config/describe.ts';
import { streamsNotAtLevel } from '../config/level.ts';
import type { ConfigProblem } from '../config/problems.ts';
import type { Config } from '../config/schema.ts';
import { pulledStreams } from '../config/streams.ts';
import {
  createEntrance,
  type Entrance,
  type People,
  signInUrl,
} from '../console/access/entrance.ts';
import { type ProxySettings, secretDigestOf } from '../console/access/proxy.ts';
import { createAnswers } from '../console/answers.ts';
import type { ReportSettings } from '../console/context.ts';
import type { LookupDeps } from '../console/lookups.ts';
import { createConsoleThread } from '../console/thread.ts';
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/log.ts';
import type { Random } from '../lib/random.ts';
import type { RouteGroup } from '../local-api/api.ts';
import { consoleRoutes } from '../local-api/console-routes.ts';
import { installationOf } from '../ops/installation.ts';
import { planeSettingsOf } from '../ops/plane-copy.ts';
import { standbyHereOf } from '../ops/standby-here.ts';
import { freshnessOf } from '../ops/status.ts';
import { version } from '../ops/version.ts';
import { exchangeFile } from '../store/exchange/exchange.ts';
import { type Store, storeOptions } from '../store/store.ts';
import type { Keep } from '../store/transaction/keep.ts';
import type { BoundAct } from '../surface/perform.ts';
import type { Role } from '../surface/roles.ts';
import { createDoctor } from './doctor/beside.ts';
import type { Inbox } from './inbox.ts';
import type { Worker } from './supervisor.ts';
import type { Sync } from './sync.ts';

export interface ConsoleParts {
  readonly acts: readonly BoundAct[];
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly sync: Pick<Sync, 'operations'>;
  readonly inbox: Pick<Inbox, 'meter'>;
  /** Written form of the configuration; undefined: nobody handed it over. */
  readonly written: Written | undefined;
  readonly keep?: Keep | undefined;
}

/** Written form of the configuration, which shows where each value comes from. */
export interface Written {
  readonly file: string;
  readonly settings: readonly SettingRow[];
  readonly warnings: readonly ConfigProblem[];
}

export interface Console {
  readonly entrance: Entrance;
  /** Workers of the console; none where it is switched off. */
  readonly workers: readonly Worker[];
  readonly routes: readonly RouteGroup[];
  /** Makes a link that signs in once; resolves as soon as pages are served. */
  link(name: string, role: Role): Promise<string>;
  /** Takes over the settings of a reload that act at once: who may sign in, and `rules.mode`. */
  takeConfig(fresh: Config): Promise<void>;
}

function peopleOf({ console: { operators, proxy } }: Config): People {
  return { operators, proxyRole: proxy.role };
}

/** Functions that answer the console's pages about pulls, events and the system. */
function lookupsOf(
  config: Config,
  { sync, inbox, written, clock }: ConsoleParts,
  entrance: Entrance,
): LookupDeps {
  return {
    sync: sync.operations,
    inbox: inbox.meter.stats,
    people: entrance.people,
    doctor: createDoctor({ config, warnings: written?.warnings ?? [] }, clock),
  };
}

function machineOf(config: Config, written: Written | undefined) {
  const { dataDir, store } = config;
  return {
    dataDir,
    store,
    exchange: exchangeFile(config),
    written: written ? { file: written.file, rows: written.settings } : null,
    plane: planeSettingsOf(config),
    standby: standbyHereOf(config),
  };
}

function reportsOf(config: Config): ReportSettings {
  const { directory, locale, schedules } = config.reports;
  return {
    directory,
    locale,
    store: storeOptions(config),
    // Leaves out the schedules' targets, because passwords of mail servers are in them.
    schedules: schedules.map(({ name, report, every, format }) => ({
      name,
      report,
      every,
      format,
    })),
  };
}

/**
 * Settings of the authenticating proxy, with a digest in place of the secret: the console's thread
 * only compares it. Null: there is no such proxy.
 */
function proxyOf({ console: { proxy } }: Config): ProxySettings | null {
  const { userHeader, secretHeader, secret } = proxy;
  if (userHeader === null || secret === null) return null;
  return {
    userHeader: userHeader.toLowerCase(),
    secretHeader: secretHeader.toLowerCase(),
    secretDigest: secretDigestOf(secret.reveal()),
  };
}

export function createConsole(config: Config, parts: ConsoleParts): Console {
  const { enabled, host, port, publicUrl, timeZone, sessions, reasons, rates } = config.console;
  const { store, clock, random } = parts;
  const log = parts.log.child({ room: 'console' });
  const sessionIdleMs = sessions.idle;
  let people = peopleOf(config);
  const entrance = createEntrance({
    store,
    clock,
    random,
    people,
    sessionIdleMs,
    sessionMs: sessions.last,
  });
  const answer = createAnswers({
    acts: parts.acts,
    store,
    clock,
    log,
    entrance,
    lookups: lookupsOf(config, parts, entrance),
    sessionIdleMs,
    keep: parts.keep,
  });
  const settings = {
    instance: config.instance,
    version: version(),
    publicUrl,
    timeZone,
    sessionIdleMs,
    reasons,
    rates,
    proxy: proxyOf(config),
    freshnessMs: freshnessOf(config),
    pulled: pulledStreams(config),
    notAtLevel: streamsNotAtLevel(config),
    reports: reportsOf(config),
    machine: machineOf(config, parts.written),
    installation: installationOf(config),
  };
  const { mode: rulesMode } = config.rules;
  const data = { store: storeOptions(config), listen: { host, port }, settings, rulesMode };
  const thread = createConsoleThread(data, answer, { clock, log });
  const url = () => (thread.url() === undefined ? undefined : (publicUrl ?? thread.url()));
  const worker: Worker = {
    name: 'console',
    async run(signal) {
      await entrance.takePeople(people);
      await thread.run(signal);
    },
  };
  return {
    entrance,
    async takeConfig(fresh) {
      people = peopleOf(fresh);
      thread.takeMode(fresh.rules.mode);
      if (enabled) await entrance.takePeople(people);
    },
    async link(name, role) {
      const base = publicUrl ?? (await thread.listening);
      return signInUrl(base, entrance.mintLink(name, role).key);
    },
    workers: enabled ? [worker] : [],
    routes: [consoleRoutes({ clock, entrance, url })],
  };
}
