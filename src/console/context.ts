/** Parts that the console's routes share: reading, the way to the daemon, who is signed in. */
import type { FastifyRequest } from 'fastify';
import type { SettingRow } from '../config/describe.ts';
import type { Config } from '../config/schema.ts';
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/log.ts';
import type { PlaneSettings } from '../ops/plane-copy.ts';
import type { Db, Store, StoreOptions } from '../store/store.ts';
import type { ProxySettings } from './access/proxy.ts';
import type { Session } from './access/sessions.ts';
import type { Question, Refusal, Reply } from './acts.ts';

/** Settings of the console that pages need. */
export interface ConsoleSettings {
  readonly instance: string;
  readonly version: string;
  readonly publicUrl: string | null;
  /** Zone of the times on pages; null: that of the rules. */
  readonly timeZone: string | null;
  readonly sessionIdleMs: number;
  /** Null: no proxy signs people in. */
  readonly proxy: ProxySettings | null;
  readonly freshnessMs: Readonly<Record<string, number>>;
  /** Streams that are pulled: their schedule (cron, UTC) and how old their data may get (ms). */
  readonly pulled: Readonly<
    Record<string, { readonly schedule: string; readonly freshness: number }>
  >;
  /** Streams that are wanted and do not exist at the account's level, each with it. */
  readonly notAtLevel: Readonly<Record<string, string>>;
  readonly machine: Machine;
  readonly reports: ReportSettings;
  /** The most that a rule may do. */
  readonly rulesMode: Config['rules']['mode'];
}

/** Reports as the configuration describes them, without the places that they go to. */
export interface ReportSettings extends Pick<Config['reports'], 'directory' | 'locale'> {
  readonly schedules: readonly Pick<
    Config['reports']['schedules'][number],
    'name' | 'report' | 'every' | 'format'
  >[];
  /** The mirror that they read. */
  readonly store: Pick<StoreOptions, 'path' | 'busyTimeoutMs'>;
}

/** The host as the configuration describes it. */
export interface Machine extends Pick<Config, 'dataDir' | 'store'> {
  /** Path of exchange.db. */
  readonly exchange: string;
  /** Settings with their origins as the daemon read them at its start; null: it got none. */
  readonly written: WrittenSettings | null;
  /** The copy in PostgreSQL; null: there is none. */
  readonly plane: PlaneSettings | null;
}

export interface WrittenSettings {
  readonly file: string;
  readonly rows: readonly SettingRow[];
}

export interface ConsoleDeps {
  readonly db: Db;
  readonly snapshot: Store['snapshot'];
  readonly clock: Clock;
  readonly log: Logger;
  readonly settings: ConsoleSettings;
  /** Asks the daemon. */
  readonly ask: (question: Question) => Promise<Reply>;
  /** When the daemon last answered; epoch milliseconds. */
  readonly daemonSeenAt: () => number;
  /** How long the daemon's loop took to answer the last beats, ms; the latest last. */
  readonly beats: () => readonly number[];
}

/** A refusal as an error, so that one handler answers it. */
export class RefusedHere extends Error {
  readonly refusal: Refusal;

  constructor(refusal: Refusal) {
    super(refusal.message);
    this.refusal = refusal;
  }
}

/** The value of an answer; throws its refusal. */
export async function askFor(
  { ask }: Pick<ConsoleDeps, 'ask'>,
  question: Question,
): Promise<unknown> {
  const reply = await ask(question);
  if ('refused' in reply) throw new RefusedHere(reply.refused);
  return reply.value;
}

declare module 'fastify' {
  interface FastifyRequest {
    /** The signed-in person; every route but those of signing in has it. */
    console?: Session;
  }
}

/** Open pages ask for it by themselves. */
export const LIVE_PATH = '/changes.json';

export function signedIn(request: FastifyRequest): Session {
  if (!request.console) throw new TypeError('a route without a session');
  return request.console;
}
