/** A machine of the campaign: its folder, its process, and the door of its intake. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, openSync, readFileSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { stringify } from 'yaml';
import { z } from 'zod';
import { tryParseJson } from '../../../src/lib/json.ts';
import { readStandbyStatus, type StandbyStatus } from '../../../src/standby/status-file.ts';
import { repositoryRoot } from '../../support/source.ts';

/** Compiled scripts, of which each start needs all. */
const CACHE = join(repositoryRoot, 'node_modules', '.cache', 'campaign');
const CHILD = fileURLToPath(new URL('./machine-child.ts', import.meta.url));
/** Shorter than what a POST may come late by in this campaign, by far longer than a lease. */
const QUIET_MS = 6_000;

export interface MachineWish {
  readonly name: string;
  readonly folder: string;
  /** Folder of backups, which both machines have. */
  readonly backups: string;
  readonly rules: string;
  readonly servers: readonly string[];
  readonly service: {
    readonly url: string;
    readonly id: string;
    readonly secret: string;
    /** Port of this machine's way to it. */
    readonly tap: number;
  };
  readonly token: string;
  readonly webhook: string;
  readonly lease: string;
}

export interface Machine {
  readonly name: string;
  readonly dataDir: string;
  start(): void;
  kill(): Promise<void>;
  freeze(): void;
  goOn(): void;
  isRunning(): boolean;
  stepClock(ms: number): void;
  /** By how much its clock is moved. */
  stepMs(): number;
  role(): 'holder' | 'standby' | 'none';
  /** Address of its listener for events. */
  url(): string | undefined;
  status(): StandbyStatus | undefined;
  /** Address and token of its local API; undefined: it never had one. */
  local(): { readonly url: string; readonly token: string } | undefined;
  /** Ends that no unit expects, since the last call. */
  failures(): readonly string[];
  /** Writes a line into its log. */
  note(line: string): void;
  /** Processor time of all its processes so far, in seconds. */
  cpuSeconds(): number;
}

function writeConfig(wish: MachineWish, dataDir: string): string {
  const secret = (name: string, value: string) => {
    writeFileSync(join(wish.folder, name), value, { mode: 0o600 });
    return { file: name };
  };
  const { url, id, secret: clientSecret } = wish.service;
  const file = join(wish.folder, 'selvedge.yaml');
  const settings = {
    instance: 'main',
    dataDir,
    rules: { directory: wish.rules, mode: 'live' },
    service: {
      v1: { baseUrl: url, login: { clientId: id, clientSecret: secret('client', clientSecret) } },
      limits: { requestsPerSecond: 2_000, loginSpacing: '0s' },
    },
    listener: { port: 0, keepAlive: '0s', secrets: [{ secret: secret('hook', wish.webhook) }] },
    local: { port: 0 },
    decisions: { settle: '0s' },
    intake: { clients: [{ name: 'erp', token: secret('token', wish.token) }] },
    streams: { off: ['brands', 'freight', 'seasons', 'stock', 'season'] },
    outbox: { quietTime: '20m', delayMin: '200ms', delayMax: '2s' },
    store: { backup: { directory: wish.backups } },
    standby: {
      servers: wish.servers.map((server, index) => secret(`server${index}`, server)),
      lease: wish.lease,
    },
  };
  writeFileSync(file, stringify(settings));
  return file;
}

const MESSAGE = z.union([
  z.object({ role: z.enum(['holder', 'standby', 'none']), url: z.string().optional() }),
  z.object({ failure: z.string() }),
]);
const LOCAL = z.object({ url: z.string(), token: z.string() });

/** Linux counts in hundredths of a second. */
function cpuSecondsOf(pid: number | undefined): number {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
    return (Number(fields[11]) + Number(fields[12])) / 100;
  } catch {
    return 0;
  }
}

export function createMachine(wish: MachineWish): Machine {
  mkdirSync(wish.folder, { recursive: true });
  const dataDir = join(wish.folder, 'data');
  const file = writeConfig(wish, dataDir);
  const log = openSync(join(wish.folder, 'log'), 'a');
  let child: ChildProcess | undefined;
  let role: 'holder' | 'standby' | 'none' = 'none';
  let url: string | undefined;
  let failures: string[] = [];
  let stepMs = 0;
  let spent = 0;
  const isRunning = () => child !== undefined && child.exitCode === null && !child.signalCode;
  const hear = (message: unknown): void => {
    const heard = MESSAGE.parse(message);
    if ('failure' in heard) failures.push(heard.failure);
    else [role, url] = [heard.role, heard.url];
  };
  return {
    name: wish.name,
    dataDir,
    isRunning,
    start() {
      const { port } = new URL(wish.service.url);
      const ways = [port, String(wish.service.tap)];
      const args = [CHILD, file, String(stepMs), String(QUIET_MS), ...ways];
      const started = spawn(process.execPath, args, {
        env: { ...process.env, NODE_COMPILE_CACHE: CACHE },
        stdio: ['ignore', log, log, 'ipc'],
      });
      child = started;
      started.on('message', (message) => {
        if (child === started) hear(message);
      });
      started.on('error', () => undefined);
      started.on('exit', (code, signal) => {
        if (child === started) role = 'none';
        if (signal !== 'SIGKILL') failures.push(`the process ended with ${code ?? signal}`);
      });
    },
    async kill() {
      const ending = child;
      if (!ending || !isRunning()) return;
      spent += cpuSecondsOf(ending.pid);
      const gone = once(ending, 'exit');
      ending.kill('SIGKILL');
      await gone;
    },
    freeze: () => void child?.kill('SIGSTOP'),
    goOn: () => void child?.kill('SIGCONT'),
    stepMs: () => stepMs,
    stepClock(ms) {
      stepMs += ms;
      if (child?.connected) child.send({ stepMs: ms }, () => undefined);
    },
    role: () => role,
    url: () => url,
    status: () => readStandbyStatus(dataDir),
    local() {
      try {
        const text = readFileSync(join(dataDir, 'local.json'), 'utf8');
        return LOCAL.safeParse(tryParseJson(text)).data;
      } catch {
        return undefined;
      }
    },
    failures() {
      const told = failures;
      failures = [];
      return told;
    },
    note: (line) => void writeSync(log, `${line}\n`),
    cpuSeconds: () => spent + (isRunning() ? cpuSecondsOf(child?.pid) : 0),
  };
}
