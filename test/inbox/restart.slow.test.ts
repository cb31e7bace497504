/** Processes that are killed and restarted while events come in. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';
import { systemClock } from '../../src/lib/clock.ts';
import { seededRandom } from '../../src/lib/random.ts';
import { openStore } from '../../src/store/store.ts';
import { temporaryFolder } from '../support/store.ts';
import { deliveryCreated, eventually, sign } from './support.ts';

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
