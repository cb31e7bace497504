import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from '../../support/store.ts';

/** A configuration whose service answers nobody, and the environment that it needs. */
export function writeConfig() {
  const folder = temporaryFolder();
  mkdirSync(join(folder, 'rules'));
  const file = join(folder, 'selvedge.yaml');
  writeFileSync(
    file,
    `dataDir: data
service: { v1: { baseUrl: "http://127.0.0.1:9/api/v1", apiKey: { env: API_KEY } } }
listener: { port: 0 }
local: { port: 0 }
rules: { directory: rules }
`,
  );
  return { file, env: { PATH: process.env.PATH, API_KEY: 'canary-api-key-7f3a' } };
}
