/**
 * The plane under trouble, as a command:
 *
 *   npm run campaign -- plane [--seeds 200] [--daemons 50] [--first 1] [--outage 10m]
 *
 * Seeds with two small processes (seed.ts), seeds with a whole daemon (daemon-seed.ts), and one
 * long outage of PostgreSQL (outage.ts): only the parts that are named, or all at their full size.
 * Each must end with a copy that is equal to its mirror by value. All accounts share one PostgreSQL
 * (Debian's, which has to be installed). Exits 1 when one is wrong.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { wholeNumber } from '../../../src/cli/arguments.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { parseDuration } from '../../../src/lib/units.ts';
import { connectPostgres } from '../../../src/plane/postgres.ts';
import { ensureSchema } from '../../../src/plane/schema.ts';
import { createSource } from '../../../src/plane/source.ts';
import type { CopiedTable } from '../../../src/plane/tables.ts';
import { openStore } from '../../../src/store/store.ts';
import { startPostgres } from '../../support/postgres.ts';
import { ALL_CONTENT, SCHEMA } from '../world.ts';
import { runDaemonSeed } from './daemon-seed.ts';
import { DATABASE, type SeedFigures } from './far-side.ts';
import { runOutage } from './outage.ts';
import { startProxy } from './proxy.ts';
import { runSeed } from './seed.ts';

const { values } = parseArgs({
  options: {
    seeds: { type: 'string' },
    daemons: { type: 'string' },
    first: { type: 'string', default: '1' },
    outage: { type: 'string' },
  },
});
const isAll = [values.seeds, values.daemons, values.outage].every((one) => one === undefined);
const FULL = isAll ? { seeds: '200', daemons: '50', outage: '10m' } : { seeds: '0', daemons: '0' };
const wish = { outage: '0s', ...FULL, ...values };
const number = wholeNumber(0);
const first = number(wish.first);
const outageMs = parseDuration(wish.outage) ?? 0;

/** The schema is that of the program, whatever is in a mirror. */
async function tablesOfNewMirror(): Promise<readonly CopiedTable[]> {
  const folder = mkdtempSync(join(tmpdir(), 'selvedge-plane-'));
  const path = join(folder, 'mirror.db');
  const { store } = await openStore({ path, busyTimeoutMs: 5_000 }, systemClock());
  const source = createSource({ path, busyTimeoutMs: 5_000, content: ALL_CONTENT });
  const { tables } = source.reader();
  source.close();
  await store.close();
  rmSync(folder, { recursive: true });
  return tables;
}

const postgres = await startPostgres();
const proxy = await startProxy(postgres.port);
let wrong = 0;
const NOTHING = { rows: 0, seq: 0, trouble: {}, told: {} };

function say(name: string, problems: readonly string[], text: string): void {
  if (problems.length > 0) wrong += 1;
  const verdict = problems.length === 0 ? 'equal' : 'WRONG';
  const told = problems.map((problem) => `     ${problem}\n`).join('');
  process.stdout.write(`${verdict} ${name}: ${text}\n${told}`);
}

async function runSeeds(name: string, seeds: number, run: typeof runSeed): Promise<void> {
  if (seeds === 0) return;
  const [totals, before]: [Record<string, number>, number] = [{}, wrong];
  for (let seed = first; seed < first + seeds; seed += 1) {
    const started = performance.now();
    const { problems, rows, seq, trouble, told } = await run(seed, postgres, proxy).catch(
      (error): SeedFigures => ({ ...NOTHING, problems: [String(error)] }),
    );
    const counts = Object.entries({ ...trouble, ...told });
    for (const [what, times] of counts) totals[what] = (totals[what] ?? 0) + times;
    const what = counts.map(([one, times]) => `${times} × ${one}`).join(', ');
    const seconds = ((performance.now() - started) / 1_000).toFixed(1);
    say(`${name} ${seed}`, problems, `${rows} rows, entry ${seq}, ${what}, ${seconds} s`);
  }
  process.stdout.write(`${seeds} × ${name}: ${wrong - before} wrong, ${JSON.stringify(totals)}\n`);
}

try {
  postgres.sql(`create database ${DATABASE}`);
  const connect = connectPostgres({ url: postgres.url(DATABASE), schema: SCHEMA });
  const client = await connect();
  await ensureSchema(client, SCHEMA, await tablesOfNewMirror());
  await client.end();
  if (outageMs > 0) {
    const problems = await runOutage(outageMs, postgres).catch((error) => [String(error)]);
    say('outage', problems, wish.outage);
  }
  await runSeeds('daemon', number(wish.daemons), runDaemonSeed);
  await runSeeds('seed', number(wish.seeds), runSeed);
} finally {
  proxy.close();
  await postgres.remove();
}
if (wrong > 0) process.exitCode = 1;
