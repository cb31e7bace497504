/**
 * The plane under trouble, as a command:
 *
 *   npm run campaign -- plane [--seeds 200] [--first 1]
 *
 * Each seed (seed.ts) must end with a copy that is equal to its mirror by value. All accounts share
 * one PostgreSQL (Debian's, which has to be installed). Exits 1 when a seed is wrong.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { wholeNumber } from '../../../src/cli/arguments.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { connectPostgres } from '../../../src/plane/postgres.ts';
import { ensureSchema } from '../../../src/plane/schema.ts';
import { createSource } from '../../../src/plane/source.ts';
import type { CopiedTable } from '../../../src/plane/tables.ts';
import { openStore } from '../../../src/store/store.ts';
import { startPostgres } from '../../support/postgres.ts';
import { ALL_CONTENT, SCHEMA } from '../world.ts';
import { startProxy } from './proxy.ts';
import { runSeed } from './seed.ts';

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '200' },
    first: { type: 'string', default: '1' },
  },
});
const [seeds = 0, first = 1] = [values.seeds, values.first].map(wholeNumber());

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
const totals: Record<string, number> = {};
let wrong = 0;
try {
  postgres.sql('create database plane');
  const connect = connectPostgres({ url: postgres.url('plane'), schema: SCHEMA });
  const client = await connect();
  await ensureSchema(client, SCHEMA, await tablesOfNewMirror());
  await client.end();
  for (let seed = first; seed < first + seeds; seed += 1) {
    const { problems, rows, seq, trouble, told, seconds } = await runSeed(seed, postgres, proxy);
    const counts = Object.entries({ ...trouble, ...told });
    for (const [name, count] of counts) totals[name] = (totals[name] ?? 0) + count;
    if (problems.length > 0) wrong += 1;
    process.stdout.write(
      `${problems.length === 0 ? 'equal' : 'WRONG'} seed ${seed}: ${rows} rows, entry ${seq}, ` +
        `${counts.map(([name, count]) => `${count} × ${name}`).join(', ')}, ` +
        `${seconds.toFixed(1)} s\n${problems.map((text) => `     ${text}\n`).join('')}`,
    );
  }
} finally {
  proxy.close();
  await postgres.remove();
}
process.stdout.write(`${seeds} seeds: ${wrong} wrong, ${JSON.stringify(totals)}\n`);
process.exitCode = wrong === 0 ? 0 : 1;
