/**
 * A daemon in a process of its own that accepts whatever is packed, beside a reference service in
 * this one: what the benchmarks of the way through are made of.
 */
import { spawn } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { Reference } from '../../src/reference/reference.ts';
import { BENCH_KEY } from './event-server.ts';
import { useOf } from './process-use.ts';

/** Secret of the relay's endpoint at the daemon; event-load.ts signs with it, too. */
export const SECRET = `whsec_${BENCH_KEY}`;
export const LAUNCHER = fileURLToPath(new URL('../../bin/selvedge.mjs', import.meta.url));
const RULES = `rules:
  - id: accept-all
    title: Everything
    action: accept
    mode: live
    when: [delivery.quantity > 0]
`;

export interface DaemonWish {
  readonly requestsPerSecond: number;
  /** The section `streams` of the configuration, in YAML. */
  readonly streams: readonly string[];
  /** Further lines of the configuration. */
  readonly more?: readonly string[];
}

/** Writes configuration, rules and secrets to this folder, and gives the path of the first. */
export function writeConfig(folder: string, reference: Reference, wish: DaemonWish): string {
  const [key] = Object.values(reference.credentials);
  if (!key) throw new Error('the reference has no key');
  mkdirSync(join(folder, 'rules'));
  writeFileSync(join(folder, 'rules', 'rules.yaml'), RULES);
  writeFileSync(join(folder, 'client'), key.clientSecret, { mode: 0o600 });
  writeFileSync(join(folder, 'webhook'), SECRET, { mode: 0o600 });
  const path = join(folder, 'selvedge.yaml');
  const lines = [
    `dataDir: ${join(folder, 'data')}`,
    `rules: { directory: ${join(folder, 'rules')}, mode: live }`,
    'service:',
    '  v1:',
    `    baseUrl: ${reference.v1Url}`,
    `    login: { clientId: ${key.clientId}, clientSecret: { file: client } }`,
    `  limits: { requestsPerSecond: ${wish.requestsPerSecond} }`,
    'listener: { port: 0, secrets: [{ secret: { file: webhook } }] }',
    'local: { port: 0 }',
    'streams:',
    ...wish.streams.map((line) => `  ${line}`),
    ...(wish.more ?? []),
  ];
  writeFileSync(path, lines.join('\n'));
  return path;
}

/** The address that a line of the log names, once the daemon listens. */
function listenerIn(line: string): string | undefined {
  if (!line.includes('listening for events')) return undefined;
  return /"url":"([^"]+)"/.exec(line)?.[1];
}

export interface DaemonProcess {
  /** Where it takes events. */
  readonly url: string;
  cpuSeconds(): number;
  stop(): Promise<void>;
  /** `kill -9`, and waits until it is gone. */
  kill(): Promise<void>;
}

/** Starts it in this folder and has the relay send to it. */
export function startDaemon(
  folder: string,
  reference: Reference,
  wish: DaemonWish,
): Promise<DaemonProcess> {
  return startConfigured(writeConfig(folder, reference, wish), reference);
}

/** Starts it by a configuration that is written, and has the relay send to it. */
export async function startConfigured(
  config: string,
  reference: Reference,
): Promise<DaemonProcess> {
  const child = spawn(process.execPath, [LAUNCHER, 'run', '--config', config], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const gone = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const url = await new Promise<string>((resolve, reject) => {
    child.once('exit', () => reject(new Error('the daemon ended')));
    // Read to its end: a full pipe would stop the daemon.
    createInterface(child.stdout).on('line', (line) => {
      const listener = listenerIn(line);
      if (listener !== undefined) resolve(listener);
    });
  });
  reference.relay.createEndpoint({ url, secret: SECRET });
  const endBy = async (signal: NodeJS.Signals): Promise<void> => {
    child.kill(signal);
    await gone;
  };
  return {
    url,
    cpuSeconds: () => useOf(child.pid ?? 0).cpuSeconds,
    stop: () => endBy('SIGTERM'),
    kill: () => endBy('SIGKILL'),
  };
}
