import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';
import { manualClock, systemClock } from '../../src/lib/clock.ts';
import { seededRandom } from '../../src/lib/random.ts';
import { openStore } from '../../src/store/store.ts';
import { temporaryFolder } from '../support/store.ts';
import { deliveryCreated, eventually, sign, startInbox } from './support.ts';

const CHILD = fileURLToPath(new URL('./child.ts', import.meta.url));
const clock = systemClock();

/** How often the inbox is killed; a campaign asks for more. */
const KILLS = Number(process.env.SELVEDGE_KILLS ?? 3);

interface Ready {
  readonly pid: number;
  readonly url: string | undefined;
}

/** The lines by which a child says that it is ready, one for each start. */
function readiness(child: ChildProcess): () => Promise<Ready> {
  if (!child.stdout) throw new Error('the child has no stdout');
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return async () => JSON.parse(String((await lines.next()).value));
}

interface Load {
  /** Ids that were answered 204. */
  readonly acknowledged: string[];
  /** Whatever else came of an event. */
  readonly failures: string[];
  /** Resolves when `count` more events have been acknowledged. */
  progress(count: number): Promise<void>;
  stop(): Promise<void>;
}

/** Senders that send one event after the other, every second one on a connection of its own. */
function startLoad(url: string, prefix: string, senders: number): Load {
  const acknowledged: string[] = [];
  const failures: string[] = [];
  let stopped = false;
  const send = async (id: string, connection: object): Promise<void> => {
    const body = deliveryCreated(1 + (acknowledged.length % 50));
    const headers = { ...sign(body, { id }), ...connection };
    const answer = await fetch(url, { method: 'POST', body, headers });
    if (answer.status === 204) acknowledged.push(id);
    else failures.push(String(answer.status));
  };
  const work = async (sender: number): Promise<void> => {
    for (let index = 0; !stopped; index += 1) {
      const connection = index % 2 === 0 ? {} : { connection: 'close' };
      await send(`${prefix}_${sender}_${index}`, connection).catch((error: unknown) => {
        failures.push(String(error));
      });
    }
  };
  const working = Promise.all(Array.from({ length: senders }, (_, sender) => work(sender)));
  return {
    acknowledged,
    failures,
    async progress(count) {
      const goal = acknowledged.length + count;
      await eventually(() => expect(acknowledged.length).toBeGreaterThanOrEqual(goal));
    },
    async stop() {
      stopped = true;
      await working;
    },
  };
}

async function storedIds(path: string): Promise<Set<string>> {
  const { store } = await openStore({ path, busyTimeoutMs: 5_000 }, clock);
  const rows = await store.db.selectFrom('webhook_event').select('event_id').execute();
  await store.close();
  return new Set(rows.map((row) => row.event_id));
}

describe('kill -9', () => {
  it(
    'in the middle of a burst loses no acknowledged event (R1)',
    async () => {
      const path = join(temporaryFolder(), 'mirror.db');
      const random = seededRandom(11);
      const acknowledged: string[] = [];
      for (let round = 0; round < KILLS; round += 1) {
        const child = spawn(process.execPath, [CHILD, path], {
          stdio: ['ignore', 'pipe', 'inherit'],
        });
        onTestFinished(() => {
          child.kill('SIGKILL');
        });
        const { url = '' } = await readiness(child)();
        const load = startLoad(`${url}/events`, `msg_${round}`, 16);
        await load.progress(random.int(20, 120));
        child.kill('SIGKILL');
        await once(child, 'exit');
        await load.stop();
        acknowledged.push(...load.acknowledged);
        const stored = await storedIds(path);
        expect(acknowledged.filter((id) => !stored.has(id))).toEqual([]);
      }
      if (process.env.SELVEDGE_KILLS !== undefined) {
        process.stderr.write(
          `${KILLS} kills, ${acknowledged.length} acknowledged events, 0 lost\n`,
        );
      }
    },
    300_000 + KILLS * 15_000,
  );
});

describe('a stop', () => {
  async function open(port: number): Promise<Socket> {
    const socket = connect(port, '127.0.0.1');
    onTestFinished(() => {
      socket.destroy();
    });
    await once(socket, 'connect');
    return socket;
  }

  function request(at: number): string {
    const body = deliveryCreated(1);
    const headers = Object.entries(sign(body, { at })).map(([name, value]) => `${name}: ${value}`);
    const lines = ['POST /events HTTP/1.1', 'Host: a', ...headers];
    return [...lines, `Content-Length: ${body.length}`, '', body].join('\r\n');
  }

  const answerOf = (socket: Socket): Promise<string> =>
    new Promise((resolve) => socket.once('data', (data) => resolve(String(data))));

  it('answers what is on its way, also on connections that have not spoken yet (R11)', async () => {
    const time = manualClock(systemClock().now());
    const inbox = await startInbox({ clock: time });
    const silent = await open(inbox.port);
    const half = await open(inbox.port);
    const idle = await open(inbox.port);
    const bytes = request(time.now());
    idle.write(bytes);
    expect(await answerOf(idle)).toMatch(/ 204 .*keep-alive/s);
    half.write(bytes.slice(0, -20));
    // All have been accepted once a later connection is served.
    expect((await inbox.post(deliveryCreated(2))).status).toBe(204);

    const closed = inbox.listener.close(10_000);
    await expect(open(inbox.port)).rejects.toMatchObject({ code: 'ECONNREFUSED' });
    half.write(bytes.slice(-20));
    expect(await answerOf(half)).toMatch(/ 204 .*Connection: close/is);
    silent.write(bytes);
    expect(await answerOf(silent)).toMatch(/ 204 .*Connection: close/is);
    const idleEnded = once(idle, 'close');
    await time.advance(1_000);
    await idleEnded;
    await closed;
  });

  it('waits for a body no longer than its deadline', async () => {
    const time = manualClock(systemClock().now());
    const inbox = await startInbox({ clock: time });
    const half = await open(inbox.port);
    half.write(request(time.now()).slice(0, -20));
    await eventually(async () => {
      expect((await inbox.post(deliveryCreated(2))).status).toBe(204);
    });
    const closed = inbox.listener.close(10_000);
    const ended = once(half, 'close');
    await time.advance(10_000);
    await ended;
    await closed;
  });
});

describe('a restart on a socket that somebody else keeps open', () => {
  it('refuses and loses nothing (R11)', async () => {
    const path = join(temporaryFolder(), 'mirror.db');
    const holder = createServer();
    holder.listen(0, '127.0.0.1', 512);
    await once(holder, 'listening');
    const address = holder.address() as AddressInfo;
    const { fd } = (holder as unknown as { _handle: { fd: number } })._handle;
    // The shell stands for the service manager: it keeps the socket and starts the next process.
    const script = `while :; do '${process.execPath}' '${CHILD}' '${path}' 3 || exit; done`;
    const shell = spawn('sh', ['-c', script], { stdio: ['ignore', 'pipe', 'inherit', fd] });
    holder.close();
    const ready = readiness(shell);
    let current = await ready();
    onTestFinished(() => {
      shell.kill('SIGKILL');
      process.kill(current.pid, 'SIGKILL');
    });
    const load = startLoad(`http://127.0.0.1:${address.port}/events`, 'msg', 8);
    for (let restart = 0; restart < 2; restart += 1) {
      await load.progress(50);
      process.kill(current.pid, 'SIGTERM');
      current = await ready();
    }
    await load.progress(50);
    await load.stop();
    expect(load.failures).toEqual([]);
    const stored = await storedIds(path);
    expect(load.acknowledged.filter((id) => !stored.has(id))).toEqual([]);
  });
});
