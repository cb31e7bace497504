/**
 * The demo's own folder: the configuration of the daemon, its secrets and its database, written
 * as an administrator would write them, so that every other command works on the demo as well.
 */
import { existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { stringify } from 'yaml';
import { ConfigError, toError } from '../../lib/errors.ts';
import { zoneOfMachine } from '../../lib/local-time.ts';
import type { Reference } from '../../reference/reference.ts';
import { makeFolder } from '../../store/folders.ts';
import { lockFile, lockFolder } from '../../store/lock.ts';

export const EXAMPLE_RULES = fileURLToPath(new URL('../../../config/rules/', import.meta.url));

/** Name of the file that marks a folder as the demo's, so that it may be emptied. */
const MARKER = 'this-is-a-selvedge-demo';

export interface DemoFolder {
  readonly path: string;
  readonly configFile: string;
  /** File with the keys of the reference service, for curl. */
  readonly keysFile: string;
}

/** Empties the demo's folder and makes it again; a folder that is not the demo's is refused. */
function emptied(path: string): void {
  if (existsSync(path) && readdirSync(path).length > 0 && !existsSync(join(path, MARKER))) {
    throw new ConfigError('demo.foreign_folder', `${path} holds something that is no demo`, {
      hint: 'name another folder with --dir',
    });
  }
  // The lock is refused while another demo works in the folder, so that its database stays.
  const lock = lockFile(join(path, 'data'));
  if (existsSync(lock)) lockFolder(lock).release();
  rmSync(path, { recursive: true, force: true });
  try {
    makeFolder(join(path, 'secrets'), 0o700);
  } catch (cause) {
    throw new ConfigError('demo.folder', `${path} cannot be made: ${toError(cause).message}`, {
      hint: 'name another folder with --dir',
      cause,
    });
  }
  writeFileSync(join(path, MARKER), '');
}

/**
 * Writes the configuration and secrets of a daemon for this reference service and these rules. The
 * console shows times in the zone of this machine, as the terminal does.
 */
export function prepareDemoFolder(
  dir: string,
  reference: Reference,
  webhookSecret: string,
  rulesDirectory: string = EXAMPLE_RULES,
): DemoFolder {
  const path = resolve(dir);
  emptied(path);
  const [credentials] = Object.values(reference.credentials);
  if (!credentials) throw new ConfigError('demo.no_key', 'the reference service has no key');
  const secret = (name: string, value: string): { readonly file: string } => {
    writeFileSync(join(path, 'secrets', name), `${value}\n`, { mode: 0o600 });
    return { file: `secrets/${name}` };
  };
  const login = {
    clientId: secret('client-id', credentials.clientId),
    clientSecret: secret('client-secret', credentials.clientSecret),
  };
  const config = {
    instance: 'demo',
    dataDir: 'data',
    service: {
      v1: { baseUrl: reference.v1Url, login },
      // Styles and their colors say what is never out of stock, which rules ask for.
      v2: { enabled: true, baseUrl: reference.v2Url, login },
    },
    listener: { port: 0, secrets: [{ secret: secret('webhook-secret', webhookSecret) }] },
    local: { port: 0 },
    console: { enabled: true, port: 0, timeZone: zoneOfMachine() },
    rules: { directory: resolve(rulesDirectory), mode: 'live' },
    decisions: { settle: '0s', reconsider: '1m' },
    streams: { stock: { schedule: '* * * * *' }, orders: { schedule: '* * * * *' } },
  };
  const configFile = join(path, 'selvedge.yaml');
  const text = stringify(config, { aliasDuplicateObjects: false });
  writeFileSync(configFile, `# Written by "selvedge demo" at its start.\n${text}`);
  const keysFile = join(path, 'secrets', 'reference.json');
  const keys = { v1: reference.v1Url, v2: reference.v2Url, keys: reference.credentials };
  writeFileSync(keysFile, `${JSON.stringify(keys, null, 2)}\n`, { mode: 0o600 });
  return { path, configFile, keysFile };
}
