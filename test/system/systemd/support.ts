/**
 * The service manager's side without one: a datagram socket that hears what we tell, and a
 * listening socket that outlives us. Perl, because Node has no datagram sockets of the Unix kind
 * and Debian always has Perl.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, mkdirSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { onTestFinished } from 'vitest';
import { until, WEBHOOK_SECRET } from '../../support/house.ts';
import { LAUNCHER } from '../../support/launcher.ts';
import { repositoryRoot } from '../../support/source.ts';
import { temporaryFolder } from '../../support/store.ts';

/** Writes each datagram on a line of its own, its assignments parted by tabs. */
const HEAR = `
use Socket; $| = 1;
socket(my $s, PF_UNIX, SOCK_DGRAM, 0) or die $!;
bind($s, pack_sockaddr_un($ARGV[0])) or die $!;
chmod 0777, $ARGV[0]; print "listening\\n";
while (defined recv($s, my $m, 65536, 0)) { $m =~ s/\\n$//; $m =~ s/\\n/\\t/g; print "$m\\n"; }
`;

export interface Manager {
  readonly socket: string;
  /** Everything that was told so far, in order. */
  readonly told: readonly string[];
  /** Resolves with the first assignment from `from` on that begins so. */
  hear(start: string, from?: number): Promise<string>;
}

export async function startManager(): Promise<Manager> {
  const folder = temporaryFolder();
  allowAll(folder);
  const socket = join(folder, 'notify');
  const child = spawn('perl', ['-e', HEAR, socket], { stdio: ['ignore', 'pipe', 'inherit'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  const told: string[] = [];
  const lines = createInterface({ input: child.stdout });
  await once(lines, 'line');
  // The helper also sends a barrier, which the real manager answers by closing its descriptor.
  lines.on('line', (line) => told.push(...line.split('\t').filter((one) => one !== 'BARRIER=1')));
  return {
    socket,
    told,
    hear: (start, from = 0) =>
      until(`${start}… (told: ${told.join(' ')})`, () =>
        told.slice(from).find((one) => one.startsWith(start)),
      ),
  };
}

const NOBODY = 65_534;

/** Whether any user can come as far as this folder. */
function isOpenToAll(path: string): boolean {
  if ((statSync(path).mode & 0o005) !== 0o005) return false;
  return path === '/' || isOpenToAll(dirname(path));
}

/** Whether root drops its rights: the tests run as nobody, wherever they can. */
const unprivileged = process.getuid?.() === 0 && isOpenToAll(repositoryRoot);

/** Root may write whatever it may read. */
export const mayWriteAll = process.getuid?.() === 0 && !unprivileged;

function allowAll(folder: string): void {
  if (unprivileged) chownSync(folder, NOBODY, NOBODY);
}

/** A folder with a configuration whose service answers nobody. */
export function writeInstallation(more = ''): { readonly folder: string; readonly file: string } {
  const folder = temporaryFolder();
  mkdirSync(join(folder, 'rules'));
  const file = join(folder, 'selvedge.yaml');
  writeFileSync(
    file,
    `dataDir: data
service: { v1: { baseUrl: "http://127.0.0.1:9/api/v1", apiKey: { env: API_KEY } } }
listener: { port: 0, secrets: [{ secret: { env: HOOK } }] }
local: { port: 0 }
rules: { directory: rules }
${more}`,
  );
  allowAll(folder);
  return { folder, file };
}

export interface Started {
  /** The one that keeps the socket and starts the daemon, again each time that it ends well. */
  readonly keeper: ChildProcess;
  /** The exit code of the last one, once a daemon has ended with another code than 0. */
  readonly code: Promise<number | null>;
  readonly log: () => string;
  /** The process ids of the daemons, in order. */
  readonly pids: () => readonly number[];
}

const ONCE = 'echo "pid $$"; exec "$@"';
const AGAIN = `while :; do sh -c 'echo "pid $$"; LISTEN_PID=$$ exec "$@"' sh "$@" || exit; done`;

/** \`selvedge run\` as a service manager starts it; with a socket also as it restarts it. */
export function startUnit(
  file: string,
  env: Readonly<Record<string, string>>,
  socketFd?: number,
): Started {
  const isKept = socketFd !== undefined;
  const keeper = spawn(
    'sh',
    ['-c', isKept ? AGAIN : ONCE, 'sh', process.execPath, LAUNCHER, '--config', file, 'run'],
    {
      env: {
        ...{ PATH: process.env.PATH, API_KEY: 'canary-api-key-7f3a', HOOK: WEBHOOK_SECRET },
        ...(isKept ? { LISTEN_FDS: '1', LISTEN_FDNAMES: 'webhook' } : {}),
        ...env,
      },
      stdio: ['ignore', 'pipe', 'pipe', ...(isKept ? [socketFd] : [])],
      ...(unprivileged ? { uid: NOBODY, gid: NOBODY } : {}),
    },
  );
  let log = '';
  for (const stream of [keeper.stdout, keeper.stderr]) {
    stream?.on('data', (chunk) => {
      log += chunk;
    });
  }
  const pids = (): number[] => [...log.matchAll(/^pid (\d+)$/gm)].map((match) => Number(match[1]));
  const code = new Promise<number | null>((resolve) => keeper.on('exit', resolve));
  onTestFinished(async () => {
    keeper.kill('SIGKILL');
    await code;
    for (const pid of pids().slice(-1)) {
      if (pid !== keeper.pid) killIfThere(pid);
    }
  });
  return { keeper, code, log: () => log, pids };
}

function killIfThere(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // The process has ended by itself.
  }
}

/** A listening socket for {@link startUnit}; close it here once that has inherited it. */
export async function openSocket(): Promise<{
  readonly port: number;
  readonly fd: number;
  close(): void;
}> {
  const holder = createServer();
  holder.listen(0, '127.0.0.1', 512);
  await once(holder, 'listening');
  const address = holder.address();
  if (address === null || typeof address === 'string') throw new Error('no TCP address');
  const { fd } = (holder as unknown as { _handle: { fd: number } })._handle;
  return { port: address.port, fd, close: () => holder.close() };
}
