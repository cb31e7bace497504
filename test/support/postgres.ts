/**
 * A PostgreSQL of its own for a test: Debian's programs, in a new folder, on a port of its own of
 * 127.0.0.1, as an unprivileged user where the tests run as root, because PostgreSQL refuses that.
 */
import { type ChildProcess, execFile, execFileSync, spawn } from 'node:child_process';
import { chmodSync, chownSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';

/** Leaves the loop free: proxies of a campaign live in this process. */
const runProgram = promisify(execFile);

const DEBIAN = '/usr/lib/postgresql';

/** The folder of the newest server's programs; undefined: none is installed. */
export function postgresPrograms(): string | undefined {
  if (!existsSync(DEBIAN)) return undefined;
  const versions = readdirSync(DEBIAN).filter((name) => /^\d+$/.test(name));
  const newest = versions.sort((a, b) => Number(b) - Number(a))[0];
  return newest === undefined ? undefined : join(DEBIAN, newest, 'bin');
}

function idOf(option: '-u' | '-g'): number {
  return Number(execFileSync('id', [option, 'nobody'], { encoding: 'utf8' }));
}

/** The user that runs the server: nobody, where this is root. */
function unprivileged(): { readonly uid?: number; readonly gid?: number } {
  return process.getuid?.() === 0 ? { uid: idOf('-u'), gid: idOf('-g') } : {};
}

export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (address === null || typeof address === 'string') throw new Error('no port');
  return address.port;
}

export interface Postgres {
  readonly port: number;
  /** Address of the database `postgres`, as its superuser; another name has another database. */
  url(database?: string, user?: string): string;
  /** Runs SQL as the superuser and gives what psql prints, unaligned. */
  sql(text: string, database?: string): string;
  start(): Promise<void>;
  /** `immediate`: as if the machine lost power. */
  stop(how?: 'fast' | 'immediate'): Promise<void>;
  /** Stops it and removes its folder. */
  remove(): Promise<void>;
}

/** Settings of a server that nobody keeps: the least memory, and no waiting for disks. */
const SETTINGS = {
  listen_addresses: '127.0.0.1',
  shared_buffers: '128MB',
  max_connections: '40',
  fsync: 'off',
  full_page_writes: 'off',
  logging_collector: 'off',
};

export interface PostgresOptions {
  /** Makes it a standby of this one. */
  readonly of?: Postgres;
  /** Further settings of postgresql.conf. */
  readonly settings?: Readonly<Record<string, string>>;
}

export async function startPostgres({
  of,
  settings = {},
}: PostgresOptions = {}): Promise<Postgres> {
  const programs = postgresPrograms();
  if (programs === undefined) throw new Error('no PostgreSQL: apt-get install postgresql');
  const folder = mkdtempSync(join(tmpdir(), 'selvedge-pg-'));
  const user = unprivileged();
  if (user.uid !== undefined && user.gid !== undefined) chownSync(folder, user.uid, user.gid);
  chmodSync(folder, 0o700);
  const data = join(folder, 'data');
  const env = { PATH: process.env.PATH, LC_ALL: 'C.UTF-8' };
  const run = { ...user, env, cwd: '/' };
  const [program, ...args] = of
    ? ['pg_basebackup', '-d', of.url(), '-D', data, '-R', '-c', 'fast', '--no-sync']
    : ['initdb', '-D', data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--no-sync'];
  await runProgram(join(programs, program), args, run);
  const port = await freePort();
  let server: ChildProcess | undefined;
  const url = (database = 'postgres', name = 'postgres') =>
    `postgres://${name}@127.0.0.1:${port}/${database}`;
  const ended = async (): Promise<void> => {
    const child = server;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    await new Promise((resolve) => child.once('exit', resolve));
  };
  const isReady = (): Promise<boolean> => {
    const asked = ['-q', '-h', '127.0.0.1', '-p', String(port), '-U', 'postgres'];
    return runProgram(join(programs, 'pg_isready'), asked, { env }).then(
      () => true,
      () => false,
    );
  };
  const postgres: Postgres = {
    port,
    url,
    sql(text, database = 'postgres') {
      const args = ['-XqAt', '-v', 'ON_ERROR_STOP=1', '-d', url(database)];
      return execFileSync(join(programs, 'psql'), args, { env, input: text, encoding: 'utf8' });
    },
    async start() {
      const all = { ...SETTINGS, port: String(port), unix_socket_directories: folder, ...settings };
      const options = Object.entries(all).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
      server = spawn(join(programs, 'postgres'), ['-D', data, ...options], {
        ...run,
        stdio: 'ignore',
      });
      for (let tries = 0; !(await isReady()); tries += 1) {
        if (server.exitCode !== null || tries > 600) throw new Error('PostgreSQL did not start');
        await sleep(50);
      }
    },
    async stop(how = 'fast') {
      server?.kill(how === 'fast' ? 'SIGINT' : 'SIGQUIT');
      await ended();
      server = undefined;
    },
    async remove() {
      await postgres.stop('immediate');
      rmSync(folder, { recursive: true, force: true });
    },
  };
  await postgres.start();
  return postgres;
}
