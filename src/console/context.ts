/** Dependencies that the console's routes share: database, settings, the daemon, the session. */
import type { FastifyRequest } from 'fastify';
import type { Config } from '../config/schema.ts';
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/log.ts';
import type { InstallationSettings } from '../ops/installation.ts';
import type { PlaneSettings } from '../ops/plane-copy.ts';
import type { StandbyHereSettings } from '../ops/standby-here.ts';
import type { Db, Store, StoreOptions } from '../store/store.ts';
import type { Refusal } from '../surface/problem.ts';
import type { WrittenSettings } from '../surface/reading.ts';
import type { ProxySettings } from './access/proxy.ts';
import type { Session } from './access/sessions.ts';
import type { Question, Reply } from './acts.ts';
import type { Notices } from './done.ts';

/** Settings that the console's pages need. */
export interface ConsoleSettings {
  readonly instance: string;
  readonly version: string;
  readonly publicUrl: string | null;
  /** Time zone of the times on pages; null: the rules' time zone. */
  readonly timeZone: string | null;
  readonly sessionIdleMs: number;
  /** Reasons of decisions that forms offer. */
  readonly reasons: readonly string[];
  readonly rates: Config['console']['rates'];
  /** Settings of the authenticating proxy; null: no proxy signs people in. */
  readonly proxy: ProxySettings | null;
  readonly freshnessMs: Readonly<Record<string, number>>;
  /** Streams that are pulled: schedule (cron, UTC) and maximum age of their data in ms. */
  readonly pulled: Readonly<
    Record<string, { readonly schedule: string; readonly freshness: number }>
  >;
  /** Streams that are switched on and do not exist at the account's level, each with that level. */
  readonly notAtLevel: Readonly<Record<string, string>>;
  readonly machine: Machine;
  /** Settings by which the installation is judged. */
  readonly installation: InstallationSettings;
  readonly reports: ReportSettings;
}

/** Settings of reports without the targets of schedules, which may hold secrets. */
export interface ReportSettings extends Pick<Config['reports'], 'directory' | 'locale'> {
  readonly schedules: readonly Pick<
    Config['reports']['schedules'][number],
    'name' | 'report' | 'every' | 'format'
  >[];
  /** Database file of the mirror, which reports read. */
  readonly store: Pick<StoreOptions, 'path' | 'busyTimeoutMs'>;
}

/** Folders and files of the host, by the configuration. */
export interface Machine extends Pick<Config, 'dataDir' | 'store'> {
  /** Path of the file exchange.db. */
  readonly exchange: string;
  /** Settings with their origins as the daemon read them at its start; null: it was given none. */
  readonly written: WrittenSettings | null;
  /** Settings of the copy in PostgreSQL; null: there is no copy. */
  readonly plane: PlaneSettings | null;
  /** Left out or null: the configuration has no standby. */
  readonly standby?: StandbyHereSettings | null;
}

export interface ConsoleGiven {
  readonly db: Db;
  readonly snapshot: Store['snapshot'];
  readonly clock: Clock;
  readonly log: Logger;
  readonly settings: ConsoleSettings;
  /** Sends a request to the daemon and waits for its reply. */
  readonly ask: (question: Question) => Promise<Reply>;
  /** Most that any rule may do, by the setting `rules.mode`, which a reload changes. */
  readonly rulesMode: () => Config['rules']['mode'];
  /** When the daemon last answered, on the monotonic clock. */
  readonly daemonSeenAt: () => number;
  /** Milliseconds that the daemon's event loop took to answer recent beats, the latest last. */
  readonly beats: () => readonly number[];
}

/** Dependencies with what the console keeps by itself. */
export interface ConsoleDeps extends ConsoleGiven {
  /** Confirmations of acts that wait for the next page of their session. */
  readonly notices: Notices;
}

/** A refusal as an error, so that the error handler answers it. */
export class RefusedHere extends Error {
  readonly refusal: Refusal;

  constructor(refusal: Refusal) {
    super(refusal.message);
    this.refusal = refusal;
  }
}

/** Sends a request to the daemon and returns the value of its reply; throws its refusal. */
export async function askFor(
  { ask }: Pick<ConsoleDeps, 'ask'>,
  question: Question,
): Promise<unknown> {
  return (await askForReply({ ask }, question)).value;
}

/** The same with whether a standby may lack what was done. */
export async function askForReply({ ask }: Pick<ConsoleDeps, 'ask'>, question: Question) {
  const reply = await ask(question);
  if ('refused' in reply) throw new RefusedHere(reply.refused);
  return reply;
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Session of the person or program; set on every route but those of signing in. */
    console?: Session;
  }
}

/** Address that open pages poll for changes. */
export const LIVE_PATH = '/changes.json';

export function signedIn(request: FastifyRequest): Session {
  if (!request.console) throw new TypeError('a route without a session');
  return request.console;
}
