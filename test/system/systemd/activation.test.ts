import { describe, expect, it } from 'vitest';
import { inheritedSockets } from '../../../src/daemon/systemd/manager.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { openReadOnlyStore } from '../../../src/store/store.ts';
import { deliveryCreated, sign } from '../../inbox/support.ts';
import { until } from '../../support/house.ts';
import { openSocket, startManager, startUnit, writeInstallation } from './support.ts';

const clock = systemClock();
const EVENTS_PER_SECOND = 500;

interface Load {
  readonly acknowledged: string[];
  readonly failures: string[];
  stop(): Promise<void>;
}

/** A relay keeps the order of the day: what falls due while all its hands are full waits. */
const SENDERS = 48;

/** Sends at a steady rate, every other event on a connection of its own. */
function startLoad(url: string): Load {
  const acknowledged: string[] = [];
  const failures: string[] = [];
  const startedAt = clock.monotonic();
  let [next, stopped] = [0, false];
  const send = async (index: number): Promise<void> => {
    const id = `msg_${index}`;
    const body = deliveryCreated(1 + (index % 50));
    const connection = index % 2 === 0 ? {} : { connection: 'close' };
    const request = { method: 'POST', body, headers: { ...sign(body, { id }), ...connection } };
    const answer = await fetch(url, request).catch((error: Error) => error);
    if (answer instanceof Response && answer.status === 204) acknowledged.push(id);
    else failures.push(answer instanceof Response ? String(answer.status) : String(answer.cause));
  };
  const work = async (): Promise<void> => {
    while (!stopped) {
      const index = next++;
      const due = startedAt + (index * 1_000) / EVENTS_PER_SECOND;
      await clock.sleep(Math.max(0, due - clock.monotonic()));
      await send(index);
    }
  };
  const working = Promise.all(Array.from({ length: SENDERS }, work));
  return {
    acknowledged,
    failures,
    async stop() {
      stopped = true;
      await working;
    },
  };
}

describe('a restart with a socket that the service manager keeps', () => {
  it('under 500 events a second loses none and refuses none', async () => {
    const { folder, file } = writeInstallation();
    const manager = await startManager();
    const socket = await openSocket();
    const unit = startUnit(file, { NOTIFY_SOCKET: manager.socket }, socket.fd);
    socket.close();
    await manager.hear('READY=1');
    const load = startLoad(`http://127.0.0.1:${socket.port}/webhooks`);
    await until('events', () => load.acknowledged.length > 200 || undefined);
    const told = manager.told.length;
    process.kill(unit.pids().at(-1) ?? 0, 'SIGTERM');
    await manager.hear('READY=1', told);
    const seen = load.acknowledged.length;
    await until('more events', () => load.acknowledged.length > seen + 200 || undefined);
    await load.stop();
    expect(load.failures).toEqual([]);
    expect(new Set(unit.pids()).size).toBe(2);
    const path = `${folder}/data/mirror.db`;
    const store = await openReadOnlyStore({ path, busyTimeoutMs: 5_000 });
    const rows = await store.db.selectFrom('webhook_event').select('event_id').execute();
    await store.close();
    const stored = new Set(rows.map((row) => row.event_id));
    expect(load.acknowledged.filter((id) => !stored.has(id))).toEqual([]);
  });
});

describe('sockets of the service manager', () => {
  const env = { LISTEN_PID: '12', LISTEN_FDS: '1' };

  it('are taken by name, or as the webhook when there is only one', () => {
    expect(inheritedSockets({ ...env, LISTEN_FDNAMES: 'webhook' }, 12)).toEqual({ webhook: 3 });
    expect(inheritedSockets({ ...env, LISTEN_FDNAMES: 'selvedge.socket' }, 12)).toEqual({
      webhook: 3,
    });
    expect(inheritedSockets(env, 12)).toEqual({ webhook: 3 });
  });

  it('are left alone when they are meant for another process', () => {
    expect(inheritedSockets(env, 13)).toEqual({});
    expect(inheritedSockets({}, 13)).toEqual({});
  });

  it('are refused when they are misnamed or named twice', () => {
    expect(() => inheritedSockets({ ...env, LISTEN_FDNAMES: 'console' }, 12)).toThrow(
      /passes a socket named "console"/,
    );
    const twice = { ...env, LISTEN_FDS: '2', LISTEN_FDNAMES: 'webhook:webhook' };
    expect(() => inheritedSockets(twice, 12)).toThrow(/two sockets named "webhook"/);
  });
});
