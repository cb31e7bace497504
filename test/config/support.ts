/** Configuration files in a folder of their own, for the tests of this room. */
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type LoadedConfig, type LoadOptions, loadConfig } from '../../src/config/load.ts';
import type { ConfigProblem } from '../../src/config/problems.ts';
import { temporaryFolder } from '../support/store.ts';

/** Enough for a configuration that is right, with nothing secret in a file. */
export const MINIMAL = `
service:
  v1:
    baseUrl: https://key.example.com/api/v1
    apiKey: { env: API_KEY }
`;

export const ENV = { API_KEY: 'canary-api-key-7f3a' };

/** A signing secret of 24 bytes. */
export const HOOK_SECRET = `whsec_${Buffer.from('canary-hook-canary-hook-').toString('base64')}`;

export function writeConfig(text: string): string {
  const folder = temporaryFolder();
  mkdirSync(join(folder, 'rules'));
  const file = join(folder, 'selvedge.yaml');
  writeFileSync(file, text);
  return file;
}

export function writeSecret(value: string, mode = 0o600): string {
  const file = join(temporaryFolder(), 'secret');
  writeFileSync(file, value);
  chmodSync(file, mode);
  return file;
}

export function problemsIn(text: string, options: Partial<LoadOptions> = {}): ConfigProblem[] {
  const loaded = loadConfig({ file: writeConfig(text), env: ENV, ...options });
  return 'problems' in loaded ? [...loaded.problems] : [];
}

export function configIn(text: string, options: Partial<LoadOptions> = {}): LoadedConfig {
  const loaded = loadConfig({ file: writeConfig(text), env: ENV, ...options });
  if ('problems' in loaded) throw new Error(JSON.stringify(loaded.problems, null, 1));
  return loaded;
}
