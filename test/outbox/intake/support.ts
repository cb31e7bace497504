/** Doors over a real store, without a daemon: nothing is sent, tests move documents themselves. */
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { systemClock } from '../../../src/lib/clock.ts';
import { silentLogger } from '../../../src/lib/log.ts';
import { createExchangeDoor } from '../../../src/outbox/intake/exchange-door.ts';
import { createIntake, type Delivered, type Intake } from '../../../src/outbox/intake/hand-in.ts';
import { openExchange } from '../../../src/store/exchange/exchange.ts';
import type { SqliteStore } from '../../../src/store/store.ts';
import { temporaryFolder, temporaryStore } from '../../support/store.ts';

export const DAY_MS = 86_400_000;

/** The smallest order there is. */
export function order(quantity = 1): Record<string, unknown> {
  return { lines: [{ barcode: '5700000000017', quantity, price: '19.95' }] };
}

export function delivered(reference: string, payload: unknown = order()): Delivered {
  return { kind: 'order', reference, payload, door: 'cli', source: 'test', receivedAt: 1_000 };
}

export interface Doors {
  readonly store: SqliteStore;
  readonly intake: Intake;
  readonly path: string;
  /** By the system's own client. */
  sql(text: string): string;
  stop(): Promise<void>;
  /** Gives the failure of this run of the worker. */
  start(): { readonly failure: Promise<unknown> };
  /** Resolves when the first run of the worker has failed. */
  readonly failure: Promise<unknown>;
}

export function runWorker(worker: { run(signal: AbortSignal): Promise<void> }) {
  const stopping = new AbortController();
  const failure = Promise.withResolvers<unknown>();
  const done = worker.run(stopping.signal).catch(failure.resolve);
  const stop = async (): Promise<void> => {
    stopping.abort();
    await done;
  };
  onTestFinished(stop);
  return { stop, failure: failure.promise };
}

/** The way in behind all doors; nobody waits for what it takes. */
export function intakeOf(store: SqliteStore, hasRoom: () => boolean = () => true): Intake {
  return createIntake({ store, hasRoom, whyOff: () => undefined, onTaken: () => undefined });
}

/** A store and its exchange database, served by the worker. */
export async function openDoors(hasRoom: () => boolean = () => true): Promise<Doors> {
  const store = await temporaryStore(systemClock());
  const path = join(temporaryFolder(), 'exchange.db');
  const intake = intakeOf(store, hasRoom);
  const clock = systemClock();
  openExchange(path, clock)[Symbol.dispose]();
  const door = createExchangeDoor({
    ...{ store, intake, clock, path, log: silentLogger() },
    ...{ keepMs: DAY_MS, hasCallback: true },
  });
  let running = runWorker(door);
  return {
    failure: running.failure,
    store,
    intake,
    path,
    sql: (text) =>
      execFileSync('sqlite3', ['-cmd', '.timeout 5000', path, text], { encoding: 'utf8' }).trim(),
    stop: () => running.stop(),
    start: () => {
      running = runWorker(door);
      return running;
    },
  };
}

/** Moves a document as the dispatcher would. */
export async function endDocument(
  store: SqliteStore,
  outboxId: number,
  state: 'confirmed' | 'refused',
  told: { readonly result?: string; readonly last_error?: string },
): Promise<void> {
  await store.transaction(async (tx) => {
    const row = tx.updateTable('outbox').where('outbox_id', '=', outboxId);
    await row.set({ state: 'sending' }).execute();
    await row.set({ state, ended_at: systemClock().now(), ...told }).execute();
  });
}
