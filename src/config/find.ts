/** Finds the file with the user's configuration. */
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { ConfigError } from '../lib/errors.ts';

const SYSTEM_FILE = '/etc/selvedge/selvedge.yaml';
/** Name of the configuration file that `selvedge init` writes. */
const OWN_NAME = 'selvedge.yaml';

/**
 * Finds the configuration file: the named one, else that of `SELVEDGE_CONFIG`, else the system's.
 * Throws a ConfigError when there is none.
 */
export function findConfigFile(
  named: string | undefined,
  env: Readonly<Record<string, string | undefined>>,
): string {
  const wanted = named ?? env.SELVEDGE_CONFIG;
  if (wanted !== undefined && wanted !== '') return wanted;
  if (existsSync(SYSTEM_FILE)) return SYSTEM_FILE;
  // A configuration in the current folder is only named in a hint, never used: going to another
  // folder must not change the account.
  const here = resolve(OWN_NAME);
  throw existsSync(here)
    ? new ConfigError('config.not_found', 'no configuration file was named', {
        hint: `one is in this folder: export SELVEDGE_CONFIG=${here}`,
      })
    : new ConfigError('config.not_found', 'there is no configuration file', {
        hint: `name one with --config FILE or SELVEDGE_CONFIG, or write ${SYSTEM_FILE}`,
      });
}
