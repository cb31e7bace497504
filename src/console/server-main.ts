/**
 * Main program of the console's thread: serves pages from a read-only connection, so that the
 * daemon's event loop never waits for one, and asks the daemon by messages.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { systemClock } from '../lib/clock.ts';
import { listenOn } from '../lib/http-server.ts';
import { createLogger } from '../lib/log.ts';
import { createScrubber } from '../lib/secret.ts';
import { openReadOnlyStore, type Tx } from '../store/store.ts';
import type { Question, Reply } from './acts.ts';
import { createConsoleApp } from './server.ts';
import type { FromThread, ThreadSettings, ToThread } from './thread.ts';

const BEAT_MS = 5_000;

const port = parentPort;
if (!port) throw new TypeError('this file is the start of a thread');
const start: ThreadSettings = workerData.data;
const { store: options, listen, settings } = start;
let { rulesMode } = start;
const clock = systemClock();
const post = (message: FromThread): void => port.postMessage(message);

const waiting = new Map<number, (reply: Reply) => void>();
let lastId = 0;
let daemonSeenAt = clock.monotonic();
const stopping = new AbortController();

function ask(question: Question): Promise<Reply> {
  lastId += 1;
  const id = lastId;
  post({ id, question });
  return new Promise((resolve) => waiting.set(id, resolve));
}

port.on('message', (message: ToThread) => {
  if ('stop' in message) {
    stopping.abort();
    return;
  }
  daemonSeenAt = clock.monotonic();
  if ('rulesMode' in message) {
    rulesMode = message.rulesMode;
    return;
  }
  waiting.get(message.id)?.(message.reply);
  waiting.delete(message.id);
});

/** Beats that are remembered: those of five minutes. */
const BEATS_MAX = 60;
const beats: number[] = [];

async function measured(): Promise<void> {
  const askedAt = clock.monotonic();
  await ask({ ask: 'beat' });
  beats.push(clock.monotonic() - askedAt);
  if (beats.length > BEATS_MAX) beats.shift();
}

async function beat(): Promise<void> {
  while (!stopping.signal.aborted) {
    void measured();
    await clock.sleep(BEAT_MS, stopping.signal).catch(() => undefined);
  }
}

const store = await openReadOnlyStore(options);
const log = createLogger({
  level: 'warn',
  format: 'json',
  scrubber: createScrubber(),
  write: (line) => post({ line }),
});
const deps = {
  db: store.db,
  snapshot: <T>(read: (tx: Tx) => Promise<T>) => store.snapshot(read),
  clock,
  log,
  settings,
  ask,
  rulesMode: () => rulesMode,
  daemonSeenAt: () => daemonSeenAt,
  beats: () => beats,
};
const app = createConsoleApp(deps);
const { url } = await listenOn(app, listen.host, listen.port, 'console.port');
post({ listening: url });
await beat();
await app.close();
await store.close();
port.close();
