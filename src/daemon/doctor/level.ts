/** Checks the account's level: what it lacks, and whether published descriptions agree. */
import { z } from 'zod';
import type { RawCall } from '../../client/raw-call.ts';
import { lackLine, missingAtLevel } from '../../config/level.ts';
import type { Config } from '../../config/schema.ts';
import { type Finding, fine, odd, skipped } from './finding.ts';
import { asked, type Network } from './network.ts';

/** Version of the service's V2 description that the client was written from. */
const V2_VERSION = '2.1.3';

const described = z.object({ info: z.object({ version: z.string() }) });

/** Findings for what the account's level does not have, one for each thing. */
export function checkLacks({ service }: Config): Finding[] {
  const { level } = service.dialect.v1;
  const lacking = missingAtLevel(level);
  if (lacking.length === 0) return [fine('level', `${level}, which has everything`)];
  return lacking.map((one) => skipped('level', lackLine(level, one)));
}

/** Version in the service's published description; undefined: none can be read. */
async function versionOf(
  config: Config,
  network: Network,
  api: RawCall['api'],
): Promise<string | undefined> {
  try {
    const call = { api, method: 'GET', path: '/openapi.json' } as const;
    const { json } = await asked(config, network, call);
    return described.safeParse(json).data?.info.version;
  } catch {
    // No contract promises a description, and faults of the service are found by other checks.
    return undefined;
  }
}

/** Compares the level that a V1 service reports with the configured one. */
export async function checkLevel(config: Config, network: Network): Promise<Finding[]> {
  const { level } = config.service.dialect.v1;
  const version = await versionOf(config, network, 'v1');
  if (version === undefined) return [skipped('description', 'of V1 is not shown')];
  if (version === level) return [fine('description', `of V1 says ${version}, too`)];
  const text = `of V1 says ${version}, and service.dialect.v1.level ${level}`;
  if (!/^\d+\.\d+\.\d+$/.test(version)) return [skipped('description', text)];
  const set = `if the account is described there, set service.dialect.v1.level: "${version}"`;
  return [odd('description', text, set)];
}

export async function checkV2Version(config: Config, network: Network): Promise<Finding[]> {
  const version = await versionOf(config, network, 'v2');
  if (version === undefined) return [skipped('description', 'of V2 is not shown')];
  if (version === V2_VERSION) return [fine('description', `of V2 says ${version}, as expected`)];
  const text = `of V2 says ${version}; this program was written from ${V2_VERSION}`;
  return [
    odd('description', text, 'what comes otherwise is kept, and counted as drift with each run'),
  ];
}
