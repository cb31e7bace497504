/** Probes an account without waiting, and gives what it would set. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DIRECT } from '../../src/client/http/tunnel.ts';
import { DEFAULT_FILE, readConfig } from '../../src/config/load.ts';
import { plainValue } from '../../src/config/source/tree.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { createScrubber, Secret } from '../../src/lib/secret.ts';
import { differing } from '../../src/probe/configuration.ts';
import { type Probed, type ProbeParts, probeAccount } from '../../src/probe/probe.ts';
import type { Reference } from '../../src/reference/reference.ts';
import { configOf, type Setting } from '../config/config-of.ts';
import { startTestReference } from '../support/house.ts';
import { type AtEnd, temporaryFolder } from '../support/store.ts';

const DEFAULTS = plainValue(readConfig({ file: DEFAULT_FILE, env: {} }).tree);

export interface Account {
  readonly v1: string;
  readonly clientId: string;
  readonly clientSecret: string;
}

export function setting(path: string, value: unknown): Setting {
  return { path, value };
}

export async function probed(
  { v1, clientId, clientSecret }: Account,
  settings: readonly Setting[] = [],
  more: Partial<ProbeParts> = {},
): Promise<Probed & { readonly set: Readonly<Record<string, unknown>> }> {
  const config = configOf([
    setting('service.v1.baseUrl', v1),
    setting('service.v1.login.clientId', clientId),
    setting('service.v1.login.clientSecret', new Secret('clientSecret', clientSecret)),
    ...settings,
  ]);
  const seen = await probeAccount({
    ...{ config, way: DIRECT, clock: systemClock(), scrubber: createScrubber(), gapMs: 0 },
    mayLogIn: async () => undefined,
    ...more,
  });
  // V2 and its address are of no interest here.
  const rest = differing(seen.findings, DEFAULTS).filter(
    ({ setting: name = '' }) => !/^service\.v2\.(enabled|baseUrl)$/.test(name),
  );
  const set = Object.fromEntries(rest.map(({ setting: name, value }) => [name, value]));
  return { ...seen, set };
}

export function accountOf({ v1Url, credentials }: Reference): Account {
  const [key] = Object.values(credentials);
  return { v1: v1Url, clientId: key?.clientId ?? '', clientSecret: key?.clientSecret ?? '' };
}

export type Knobs = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

/** An account of the reference with orders, and as fast as may be. */
export function startAccount(
  { world, auth, ...knobs }: Knobs = {},
  atEnd?: AtEnd,
): Promise<Reference> {
  const few = { world: { styles: 20, orders: 40, ...world }, auth: { loginSpacing: 0, ...auth } };
  return startTestReference({ ...few, ...knobs }, undefined, atEnd);
}

/** Returns the settings for such an account, and the doubts about it. */
export async function settingsFor(knobs: Knobs): Promise<Readonly<Record<string, unknown>>> {
  return (await probed(accountOf(await startAccount(knobs)))).set;
}

/** Writes a configuration for the account, its secret beside it; `more` follows `service.v1`. */
export function writeAccount(reference: Reference, more: string, atEnd?: AtEnd) {
  const { clientId, clientSecret } = accountOf(reference);
  const folder = temporaryFolder(atEnd);
  writeFileSync(join(folder, 'secret'), clientSecret, { mode: 0o600 });
  const file = join(folder, 'selvedge.yaml');
  writeFileSync(
    file,
    `dataDir: data
service:
  v1:
    baseUrl: ${reference.v1Url}
    login: { clientId: ${clientId}, clientSecret: { file: secret } }
${more}
`,
  );
  return { file, clientSecret };
}
