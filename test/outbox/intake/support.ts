/** Doors over a real store, without a daemon: nothing is sent, tests move documents themselves. */
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { type Clock, systemClock } from '../../../src/lib/clock.ts';
import { silentLogger } from '../../../src/lib/log.ts';
import {
  createExchangeChannel,
  type ExchangeChannelDeps,
} from '../../../src/outbox/intake/exchange-channel.ts';
import { createIntake, type Intake, type Submission } from '../../../src/outbox/intake/intake.ts';
import { openExchange } from '../../../src/store/exchange/exchange.ts';
import type { SqliteStore } from '../../../src/store/store.ts';
import { foreignSql } from '../../support/foreign-sql.ts';
import { temporaryFolder, temporaryStore } from '../../support/store.ts';

export const DAY_MS = 86_400_000;

/** Time between two looks of a door, which sleeps less because its document is there at once. */
const LOOK_MS = 10;

export function hastyClock(): Clock {
  const clock = systemClock();
  return { ...clock, sleep: (ms, signal) => clock.sleep(Math.min(ms, LOOK_MS), signal) };
}

/** The smallest order there is. */
export function order(quantity = 1): Record<string, unknown> {
  return { lines: [{ barcode: '5700000000017', quantity, price: '19.95' }] };
}

export function delivered(reference: string, payload: unknown = order()): Submission {
  return { kind: 'order', reference, payload, channel: 'cli', source: 'test', receivedAt: 1_000 };
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

/** A store with its exchange database, whose door is opened as a test wants it. */
export async function closedDoors(hasRoom?: () => boolean) {
  const clock = hastyClock();
  const store = await temporaryStore(clock);
  const path = join(temporaryFolder(), 'exchange.db');
  openExchange(path, clock)[Symbol.dispose]();
  const intake = intakeOf(store, hasRoom);
  const settings = { keepMs: DAY_MS, hasCallback: true };
  const common = { store, intake, clock, path, log: silentLogger(), ...settings };
  return {
    ...{ store, intake, path },
    /** Asks from another process. */
    sql: (text: string): string => foreignSql(path, text).trim(),
    open: (more: Partial<ExchangeChannelDeps> = {}) =>
      runWorker(createExchangeChannel({ ...common, ...more })),
  };
}

/** The same, served by the worker from the start. */
export async function openDoors(hasRoom?: () => boolean) {
  const doors = await closedDoors(hasRoom);
  let running = doors.open();
  return {
    ...doors,
    /** Resolves when the first run of the worker has failed. */
    failure: running.failure,
    stop: () => running.stop(),
    start: () => {
      running = doors.open();
      return running;
    },
  };
}

export type Doors = Awaited<ReturnType<typeof openDoors>>;

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
    await tx
      .insertInto('outbox_attempt')
      .values({
        ...{ outbox_id: outboxId, attempt: 1, started_at: 0, ended_at: 0, http_status: null },
        ...{ class: state === 'refused' ? 'refused' : 'done', error_code: null, answer: null },
        ...{ max_order_id_before: null, count_before: null },
      })
      .execute();
    await row.set({ state, ended_at: systemClock().now(), ...told }).execute();
  });
}
