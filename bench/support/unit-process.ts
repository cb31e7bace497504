/**
 * The daemon as its unit starts it: by the launcher, with the environment that the unit gives, and
 * a configuration that pulls the stock of a source and nothing else; and what the system says of
 * the process.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { localFile } from '../../src/local-api/ask.ts';
import { type Use, useOf } from './process-use.ts';

const ROOT = join(import.meta.dirname, '../..');
export const LAUNCHER = join(ROOT, 'bin/selvedge.mjs');
const LOOK_MS = 10;

/**
 * Writes the compiled program into a new folder, as a package has it, and gives its launcher. From
 * the sources, a daemon keeps what has stripped their types.
 */
export function install(folder: string): string {
  execFileSync(process.execPath, [join(ROOT, 'scripts/build.mjs'), join(folder, 'dist')]);
  for (const part of ['bin', 'config', 'docs', 'migrations', 'package.json']) {
    cpSync(join(ROOT, part), join(folder, part), { recursive: true });
  }
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  return join(folder, 'bin/selvedge.mjs');
}

/** `Environment=` of the unit, by name. */
function unitEnvironment(): Record<string, string> {
  const unit = readFileSync(join(ROOT, 'systemd/selvedge.service'), 'utf8');
  const assignments = [...unit.matchAll(/^Environment=(.*)$/gm)].flatMap(([, line = '']) =>
    line.split(' '),
  );
  return Object.fromEntries(
    assignments.map((text) => [
      text.slice(0, text.indexOf('=')),
      text.slice(text.indexOf('=') + 1),
    ]),
  );
}

/** Writes a configuration into the folder and gives its path. */
export function writeConfig(folder: string, v1Url: string): string {
  const secret = join(folder, 'secret');
  writeFileSync(secret, 'a-secret-of-the-bench', { mode: 0o600 });
  const others = ['brands', 'freight', 'seasons', 'season', 'orders', 'ordersFull'];
  const file = join(folder, 'selvedge.yaml');
  writeFileSync(
    file,
    `dataDir: ${join(folder, 'data')}
service:
  v1:
    baseUrl: ${v1Url}
    login: { clientId: bench, clientSecret: { file: ${secret} } }
  limits: { requestsPerSecond: 10000, loginSpacing: 0s }
listener: { port: 0 }
local: { port: 0 }
rules: { directory: ${join(ROOT, 'config/rules')} }
streams:
  stock: { schedule: 0 0 1 1 *, jitter: 0s, deletionGuard: { share: 1 } }
${others.map((name) => `  ${name}: { enabled: false }`).join('\n')}
`,
  );
  return file;
}

export interface UnitProcess {
  /** Cost of the start, until both listeners accept. */
  readonly ready: { readonly seconds: number; readonly cpuSeconds: number };
  use(): Use;
  stop(): Promise<void>;
}

/** Address that the daemon has written there; undefined while it is writing. */
function addressIn(file: string): string | undefined {
  const text = existsSync(file) ? readFileSync(file, 'utf8') : '';
  return text.endsWith('}') || text.endsWith('}\n') ? JSON.parse(text).url : undefined;
}

async function isReady(file: string): Promise<boolean> {
  const address = addressIn(file);
  if (address === undefined) return false;
  const answer = await fetch(`${address}/readyz`).catch(() => undefined);
  await answer?.text();
  return answer?.ok === true;
}

/** Starts it and waits until it is ready. Throws when it ends instead. */
export async function startUnit(
  folder: string,
  config: string,
  launcher = LAUNCHER,
): Promise<UnitProcess> {
  const known = localFile(join(folder, 'data'));
  rmSync(known, { force: true });
  const startedAt = performance.now();
  const child: ChildProcess = spawn(process.execPath, [launcher, 'run', '--config', config], {
    env: { PATH: process.env.PATH, ...unitEnvironment() },
    stdio: ['ignore', 'ignore', 2],
  });
  const exit = once(child, 'exit');
  const { pid = 0 } = child;
  while (!(await isReady(known))) {
    if (child.exitCode !== null) throw new Error(`the daemon ended with ${child.exitCode}`);
    await sleep(LOOK_MS);
  }
  const seconds = (performance.now() - startedAt) / 1_000;
  return {
    ready: { seconds, cpuSeconds: useOf(pid).cpuSeconds },
    use: () => useOf(pid),
    async stop() {
      child.kill('SIGTERM');
      await exit;
    },
  };
}
