import { spawn } from 'node:child_process';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import Database from 'better-sqlite3';
import { describe, expect, it, onTestFinished } from 'vitest';
import { manualClock } from '../../../src/lib/clock.ts';
import { RelayStore } from '../../../src/reference/relay/store/store.ts';
import { temporaryFolder } from '../../support/store.ts';
import { answering } from './receiver.ts';
import { pass, startBench, startRelay } from './support.ts';

function statePath(): string {
  return join(temporaryFolder(), 'relay.db');
}

describe('the state file', () => {
  it('keeps the queue over a restart: the schedule goes on where it was', async () => {
    const path = statePath();
    const bench = await startBench({ statePath: path });
    const { relay, receiver, clock } = bench;
    const { id } = relay.createEndpoint({ url: receiver.url });
    const secret = relay.secret(id);
    receiver.respond = answering(500);
    relay.publish('ping', { ping: 1 });
    await relay.idle();
    await relay.close();
    await clock.advance(4_000);
    const second = startRelay(clock, { statePath: path });
    expect(second.secret(id)).toBe(secret);
    await pass({ clock, relay: second }, 999);
    expect(receiver.requests).toHaveLength(1);
    receiver.respond = answering(204);
    await pass({ clock, relay: second }, 1);
    expect(receiver.requests).toHaveLength(2);
    expect(receiver.requests[1]?.body).toEqual(receiver.requests[0]?.body);
    expect(second.attempts().data.map(({ status }) => status)).toEqual(['success', 'failed']);
  });

  it('is for its owner alone, because it holds the signing secrets', () => {
    const umask = process.umask(0o022);
    onTestFinished(() => void process.umask(umask));
    const path = statePath();
    const store = new RelayStore(path);
    expect(['', '-wal'].map((ending) => statSync(path + ending).mode & 0o777)).toEqual([
      0o600, 0o600,
    ]);
    store.close();
    new RelayStore(path).close();
  });

  it('sends again what was in flight when the relay stopped', async () => {
    const path = statePath();
    const { relay, receiver, clock } = await startBench({ statePath: path });
    relay.createEndpoint({ url: receiver.url });
    const asked = new Promise<void>((resolve) => {
      receiver.respond = () => resolve();
    });
    relay.publish('ping', { ping: 1 });
    await asked;
    await relay.close();
    receiver.respond = answering(204);
    const second = startRelay(clock, { statePath: path });
    await second.idle();
    expect(receiver.requests.map(({ headers }) => headers['svix-id'])).toEqual([
      second.messages().data[0]?.id,
      second.messages().data[0]?.id,
    ]);
    expect(second.attempts().data).toMatchObject([{ status: 'success' }]);
  });

  it('loses nothing when the process is killed in the middle of sending', async () => {
    const path = statePath();
    const { receiver } = await startBench();
    const program = fileURLToPath(new URL('./killed-relay.ts', import.meta.url));
    const child = spawn(process.execPath, [program, path, receiver.url, '300'], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const gone = new Promise((resolve) => child.once('exit', resolve));
    await new Promise((resolve) => child.stdout.once('data', resolve));
    let killed = false;
    receiver.respond = (response) => {
      if (receiver.requests.length >= 100 && !killed) killed = child.kill('SIGKILL');
      if (!killed) response.writeHead(204).end();
    };
    await gone;
    const before = receiver.requests.length;
    expect([killed, before >= 100 && before < 200]).toEqual([true, true]);
    receiver.respond = answering(204);
    const relay = startRelay(manualClock(Date.now()), { statePath: path });
    await relay.idle();
    const numbers = receiver.requests.map(({ body }) => JSON.parse(String(body)).data.ping);
    expect(new Set(numbers).size).toBe(300);
    // Only what was on its way when it died comes twice.
    expect(numbers.length - 300).toBeLessThanOrEqual(16);
    expect(relay.messages({ status: 'success', limit: 1 }).data).toHaveLength(1);
    expect(relay.messages({ status: 'pending' }).data).toEqual([]);
  });

  it('is refused when it belongs to something else', () => {
    const path = statePath();
    const other = new Database(path);
    other.pragma('application_id = 1234');
    other.close();
    expect(() => startRelay(undefined, { statePath: path })).toThrow('no relay state');
  });

  it('forgets messages that are older than 90 days', async () => {
    const bench = await startBench();
    const { relay, clock, receiver } = bench;
    relay.createEndpoint({ url: receiver.url });
    relay.publish('ping', { ping: 1 });
    await relay.idle();
    await clock.advance(90 * 86_400_000 - 1);
    relay.publish('ping', { ping: 2 });
    await relay.idle();
    expect(relay.messages().data).toHaveLength(2);
    await clock.advance(3_600_000);
    relay.publish('ping', { ping: 3 });
    await relay.idle();
    expect(relay.messages().data.map(({ body }) => JSON.parse(String(body)).data.ping)).toEqual([
      3, 2,
    ]);
    expect(relay.attempts().data).toHaveLength(2);
  });

  it('keeps the newest messages when there are too many', () => {
    const store = new RelayStore(undefined);
    onTestFinished(() => store.close());
    for (let number = 1; number <= 10; number += 1) {
      const id = `msg_${number}`;
      const body = Buffer.from('{}');
      store.insertMessage({
        id,
        eventType: 'ping',
        eventId: null,
        account: null,
        body,
        createdAt: 1_000,
      });
      const job = { messageId: id, endpointId: 'ep_1', number: 0, dueAt: 0, fault: null };
      store.enqueue({ ...job, kind: 'scheduled' });
    }
    store.forgetMessages(0, 3);
    const kept = store.history.messages().data.map(({ id }) => id);
    expect(kept).toEqual(['msg_10', 'msg_9', 'msg_8']);
    expect(store.dueJobs('ep_1', 0, 100)).toHaveLength(3);
    store.forgetMessages(1_001, 3);
    expect(store.history.messages().data).toEqual([]);
  });
});
