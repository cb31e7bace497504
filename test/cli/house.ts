/** A daemon beside a reference service, and the configuration by which commands find it. */
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { onTestFinished } from 'vitest';
import { stringify } from 'yaml';
import { runCli } from '../../src/cli/program.ts';
import type { Clock } from '../../src/lib/clock.ts';
import { localFile } from '../../src/local-api/ask.ts';
import type { Reference } from '../../src/reference/reference.ts';
import {
  type ConfigParts,
  type RunningDaemon,
  startTestDaemon,
  testConfig,
  until,
} from '../support/house.ts';
import { type AtEnd, temporaryFolder } from '../support/store.ts';
import { type CliRun, selvedge } from './support.ts';

export interface CliHouse {
  readonly daemon: RunningDaemon;
  readonly folder: string;
  /** The configuration. */
  readonly file: string;
  readonly rulesFolder: string;
  /** At a terminal, where a person types this line when asked. */
  typing(line: string, ...args: readonly string[]): Promise<CliRun>;
  call(...args: readonly string[]): Promise<CliRun>;
}

export async function startCliHouse(
  reference: Reference,
  parts: ConfigParts = {},
  atEnd: AtEnd = onTestFinished,
  clock?: Clock,
): Promise<CliHouse> {
  const folder = parts.folder ?? temporaryFolder(atEnd);
  const config = testConfig(reference, { ...parts, folder });
  const [credentials] = Object.values(reference.credentials);
  const file = join(folder, 'selvedge.yaml');
  writeFileSync(join(folder, 'secret'), credentials?.clientSecret ?? '', { mode: 0o600 });
  const login = { clientId: credentials?.clientId, clientSecret: { file: join(folder, 'secret') } };
  const written = {
    dataDir: config.dataDir,
    rules: { directory: config.rules.directory },
    service: { v1: { baseUrl: reference.v1Url, login } },
  };
  writeFileSync(file, stringify(written));
  const daemon = await startTestDaemon(reference, config, clock, atEnd);
  await until('the local API', () => existsSync(localFile(config.dataDir)) || undefined);
  const call = (...args: readonly string[]) => selvedge(['--config', file, ...args]);
  const typing: CliHouse['typing'] = async (line, ...args) => {
    const said = { stdout: '', stderr: '' };
    const sink = (name: keyof typeof said) => ({
      isTTY: true,
      write: (text: string) => {
        said[name] += text;
      },
    });
    const stdin = () => Object.assign(Readable.from([`${line}\n`]), { isTTY: true });
    const io = { stdin, stdout: sink('stdout'), stderr: sink('stderr'), env: { NO_COLOR: '1' } };
    const code = await runCli(['--config', file, ...args], io);
    return { code, ...said };
  };
  return { daemon, folder, file, rulesFolder: config.rules.directory, call, typing };
}
