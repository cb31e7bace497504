/** A whole daemon on a large mirror, as its launcher starts it, with meters inside. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { localFile } from '../../../src/local-api/ask.ts';
import type { Figures } from '../meters.ts';
import { LAUNCHER } from '../unit-process.ts';
import type { Shop } from './shop.ts';

const ROOT = join(import.meta.dirname, '../../..');
const PRELOAD = pathToFileURL(join(import.meta.dirname, 'meter-preload.ts')).href;
const SECRET = `whsec_${Buffer.alloc(24, 9).toString('base64')}`;
const STREAMS = ['brands', 'freight', 'seasons', 'stock', 'season'];
const LOOK_MS = 20;
const LINK_TRIES = 100;
/** Nothing of it ever holds; but each of them asks for what lies behind. */
const RULES = `rules:
  - { id: hold-busy-day, title: Day, action: hold, mode: live, when: [today.accepted > 1000000] }
  - id: hold-busy-customer
    title: Customer
    action: hold
    mode: live
    when: [customer.accepted_today > 1000000 || customer.orders_before > 1000000]
  - id: hold-credit
    title: Credit
    action: hold
    mode: live
    when:
      - has(customer.credit) && has(customer.credit.headroom)
      - customer.credit.currency == "DKK"
      - customer.credit.headroom < -1000000000
`;

export type AskedOfMeter = 'cpu' | 'watch' | 'read';

export interface LoopFigures extends Figures {
  /**
   * CPU of a turn of the loop: how late others come by it where the machine has nothing else to do,
   * however busy it is now.
   */
  readonly turnP99Ms: number;
  readonly turnMaxMs: number;
}

export interface YearDaemon {
  /** CPU milliseconds so far. */
  cpuMs(): Promise<number>;
  /** Looks at its loop while something is done. */
  watched(work: () => Promise<void>): Promise<LoopFigures>;
  /** Asks a page of its console; gives the length of the body. */
  page(path: string): Promise<number>;
  /** Asks its local API. */
  local(path: string, body?: object): Promise<string>;
  stop(): Promise<void>;
}

/** Writes rules and configuration of a daemon into the folder; its data is in `data`. */
export function writeYearConfig(folder: string, service: Pick<Shop, 'v1Url' | 'credentials'>) {
  const rules = join(folder, 'rules');
  mkdirSync(rules, { recursive: true });
  for (const name of ['settings.yaml', 'deliveries.yaml']) {
    cpSync(join(ROOT, 'config/rules', name), join(rules, name));
  }
  writeFileSync(join(rules, 'past.yaml'), RULES);
  writeFileSync(join(folder, 'client'), service.credentials.clientSecret, { mode: 0o600 });
  writeFileSync(join(folder, 'webhook'), SECRET, { mode: 0o600 });
  const lines = [
    `dataDir: ${join(folder, 'data')}`,
    `rules: { directory: ${rules}, mode: live }`,
    'service:',
    '  v1:',
    `    baseUrl: ${service.v1Url}`,
    `    login: { clientId: ${service.credentials.clientId}, clientSecret: { file: client } }`,
    '  limits: { requestsPerSecond: 5000, loginSpacing: 0s }',
    'listener: { port: 0, secrets: [{ secret: { file: webhook } }] }',
    'local: { port: 0 }',
    'console: { enabled: true, port: 0 }',
    'streams:',
    ...STREAMS.map((name) => `  ${name}: { schedule: "0 0 1 1 *" }`),
    // At its start a daemon would read every open order of the mirror, which the service lacks.
    '  orders: { enabled: false }',
    '  ordersFull: { enabled: false }',
  ];
  writeFileSync(join(folder, 'selvedge.yaml'), lines.join('\n'));
}

/** The console listens a moment after the rest. */
async function consoleLink(local: YearDaemon['local']): Promise<string> {
  const who = { actor: 'bench', reason: 'measured', name: 'bench', role: 'operator' };
  for (let tries = 1; ; tries += 1) {
    try {
      return JSON.parse(await local('/api/console/link', who)).url;
    } catch (error) {
      if (tries === LINK_TRIES) throw error;
      await sleep(100);
    }
  }
}

async function signIn(link: string) {
  const { origin, searchParams } = new URL(link);
  const signedIn = await fetch(`${origin}/sign-in/link`, {
    method: 'POST',
    body: new URLSearchParams({ key: searchParams.get('key') ?? '' }),
    headers: { origin },
    redirect: 'manual',
  });
  return { origin, cookie: signedIn.headers.get('set-cookie')?.split(';')[0] ?? '' };
}

/** Starts the daemon of a folder and has the shop send to it. */
export async function startYearDaemon(folder: string, shop: Shop): Promise<YearDaemon> {
  const child = spawn(
    process.execPath,
    [LAUNCHER, 'run', '--config', join(folder, 'selvedge.yaml')],
    {
      stdio: ['ignore', 'pipe', 2, 'ipc'],
      env: { ...process.env, NODE_OPTIONS: `--import=${PRELOAD}` },
    },
  );
  const exit = once(child, 'exit');
  const listener = await new Promise<string>((resolve, reject) => {
    child.once('exit', () => reject(new Error('the daemon ended')));
    // Read to its end: a full pipe would stop the daemon.
    if (child.stdout === null) return;
    createInterface(child.stdout).on('line', (line) => {
      const found = line.includes('listening for events') && /"url":"([^"]+)"/.exec(line)?.[1];
      if (found) resolve(found);
    });
  });
  await shop.ask({ listener, secret: SECRET });
  const file = localFile(join(folder, 'data'));
  while (!existsSync(file) || readFileSync(file, 'utf8') === '') await sleep(LOOK_MS);
  const { url, token } = JSON.parse(readFileSync(file, 'utf8'));
  const local = async (path: string, body?: object): Promise<string> => {
    const answer = await fetch(`${url}${path}`, {
      method: body ? 'POST' : 'GET',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      ...(body ? { body: JSON.stringify(body) } : {}),
    });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${text}`);
    return text;
  };
  const { origin, cookie } = await signIn(await consoleLink(local));
  const ask = async (asked: AskedOfMeter) => {
    child.send(asked);
    const [answer] = await once(child, 'message');
    return answer;
  };
  return {
    cpuMs: async () => (await ask('cpu')).cpuMs,
    async watched(work) {
      await ask('watch');
      await work();
      return ask('read');
    },
    async page(path) {
      const answer = await fetch(`${origin}${path}`, { headers: { cookie } });
      if (!answer.ok) throw new Error(`${path}: ${answer.status}`);
      return (await answer.text()).length;
    },
    local,
    async stop() {
      child.kill('SIGTERM');
      await exit;
    },
  };
}

/** Seconds until a daemon with these rules is ready; beyond the limit it is ended. */
export async function timedStart(folder: string, limitMs: number) {
  const file = localFile(join(folder, 'data'));
  rmSync(file, { force: true });
  const from = performance.now();
  const child = spawn(
    process.execPath,
    [LAUNCHER, 'run', '--config', join(folder, 'selvedge.yaml')],
    {
      stdio: ['ignore', 'ignore', 2],
    },
  );
  const exit = once(child, 'exit');
  let hasEnded = false;
  void exit.then(() => {
    hasEnded = true;
  });
  while (!existsSync(file) && !hasEnded && performance.now() - from < limitMs) await sleep(LOOK_MS);
  const isReady = existsSync(file);
  const seconds = (performance.now() - from) / 1_000;
  if (hasEnded) throw new Error('the daemon ended');
  child.kill(isReady ? 'SIGTERM' : 'SIGKILL');
  await exit;
  return { seconds, isReady };
}
