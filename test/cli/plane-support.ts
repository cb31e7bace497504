/** The copy in PostgreSQL as commands and the local API of a daemon tell of it. */
import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { tryParseJson } from '../../src/lib/json.ts';
import { askHere, localFile } from '../../src/local-api/ask.ts';
import type { CliHouse } from './house.ts';

/** Nobody listens at the discard port. */
export const NOWHERE = 'postgresql://plane:canary-5f1@127.0.0.1:9/plane';

const local = z.object({ url: z.string(), token: z.string() });
const findings = z.object({
  checks: z.array(
    z.object({
      check: z.string(),
      grade: z.string(),
      text: z.string(),
      advice: z.string().optional(),
    }),
  ),
});

export async function planeIn(house: CliHouse) {
  const { stdout } = await house.call('doctor', '--offline', '--json');
  return findings.parse(JSON.parse(stdout)).checks.filter(({ check }) => check === 'plane');
}

export function localOf(dataDir: string) {
  return local.parse(tryParseJson(readFileSync(localFile(dataDir), 'utf8')));
}

/** Asks the daemon to begin the feed, as somebody with this token. */
export function askPlane(dataDir: string, action: string, token?: string) {
  return askHere(`${localOf(dataDir).url}/api/acts/plane.${action}`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    },
    body: JSON.stringify({ given: {}, actor: 'test', reason: '' }),
    headersTimeout: 60_000,
  });
}
