/**
 * A session with PostgreSQL. While a statement has no answer, the server is asked on a second way
 * every few seconds: a cut cable, or a host that is gone without a word, is noticed in seconds,
 * and a statement that takes an hour is left alone. `pg` is an optional package, loaded only here.
 */
import { Socket } from 'node:net';
import type { Client, ClientConfig } from 'pg';
import { type Clock, systemClock } from '../lib/clock.ts';
import { RefusedError, toError } from '../lib/errors.ts';
import { asPlaneError, sqlState } from './refusal.ts';

export interface SessionWay {
  /** `postgres://…`; holds the password. */
  readonly url: string;
  readonly connectTimeoutMs?: number;
  readonly clock?: Clock;
  /** Cuts the session, whatever it is at. */
  readonly cut?: AbortSignal | undefined;
}

export interface Session {
  readonly client: Client;
  /** Runs a statement while the server is watched; a pooler may let the first wait for minutes. */
  watched<T>(statement: () => Promise<T>, isFirst?: boolean): Promise<T>;
  /** Ends the session soon, even where nobody answers; never throws. */
  end(): Promise<void>;
}

const CONNECT_TIMEOUT_MS = 10_000;
/** A statement without an answer for so long makes the server be asked. */
const SILENT_MS = 5_000;
const PROBE_TIMEOUT_MS = 5_000;
/** As long as a pooler waits before it tries again to reach its server. */
const FIRST_MS_MAX = 15_000;
const END_MS = 1_000;
const NO_SERVER = 'no server took a transaction: the pooler has none, or none that is free';
/** The first probe of the kernel; its others follow each second (libuv). */
const KEEP_ALIVE_MS = 5_000;

async function loadDriver() {
  try {
    return (await import('pg')).default;
  } catch (cause) {
    throw new RefusedError('plane.no_driver', 'the package "pg" is not installed', {
      hint: 'it is an optional dependency: "npm ci" without --omit=optional brings it',
      cause,
    });
  }
}

async function connect(
  { url, connectTimeoutMs = CONNECT_TIMEOUT_MS, cut }: SessionWay,
  config: ClientConfig,
  socket: Socket,
): Promise<Client> {
  const driver = await loadDriver();
  const onCut = () => socket.destroy(toError(cut?.reason));
  cut?.addEventListener('abort', onCut);
  socket.once('close', () => cut?.removeEventListener('abort', onCut));
  let client: Client | undefined;
  try {
    cut?.throwIfAborted();
    client = new driver.Client({
      connectionString: url,
      connectionTimeoutMillis: connectTimeoutMs,
      keepAlive: true,
      keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
      stream: () => socket,
      ...config,
    });
    // The next statement fails with the same; without a listener the process would end.
    client.on('error', () => undefined);
    await client.connect();
    return client;
  } catch (thrown) {
    socket.destroy();
    throw asPlaneError(thrown);
  }
}

/** Whether the server, or a pooler before it, says anything at all to a new session. */
async function doesAnswer(way: SessionWay): Promise<boolean> {
  const socket = new Socket();
  try {
    await connect(
      { ...way, connectTimeoutMs: PROBE_TIMEOUT_MS },
      { application_name: 'selvedge-plane probe' },
      socket,
    );
    return true;
  } catch (thrown) {
    return sqlState(toError(thrown).cause) !== undefined;
  } finally {
    socket.end();
  }
}

/** Begins a session; nothing of it is left where that fails. */
export async function startSession(way: SessionWay, config: ClientConfig): Promise<Session> {
  const { clock = systemClock() } = way;
  const socket = new Socket();
  const client = await connect(way, config, socket);
  return {
    client,
    async watched(statement, isFirst = false) {
      let isOut = true;
      const lose = (why: string) => socket.destroy(new Error(why));
      const late = isFirst ? clock.after(FIRST_MS_MAX, () => lose(NO_SERVER)) : undefined;
      const watch = () =>
        clock.after(SILENT_MS, async () => {
          const answers = await doesAnswer(way);
          if (!isOut) return;
          if (answers) timer = watch();
          else lose('no answer to a statement, nor to a new connection');
        });
      let timer = watch();
      try {
        return await statement();
      } catch (thrown) {
        // Where PostgreSQL did not say so itself, the next statement would wait as long again.
        if (sqlState(thrown) === undefined) socket.destroy();
        throw thrown;
      } finally {
        isOut = false;
        timer.cancel();
        late?.cancel();
      }
    },
    async end() {
      const late = clock.after(END_MS, () => socket.destroy());
      await client.end().catch(() => undefined);
      late.cancel();
    },
  };
}
