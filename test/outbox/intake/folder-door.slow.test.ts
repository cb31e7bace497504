/** A slow upload into the drop folder, by a program of its own. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { systemClock } from '../../../src/lib/clock.ts';
import { silentLogger } from '../../../src/lib/log.ts';
import { openCauses } from '../../../src/ops/causes.ts';
import { createFolderChannel } from '../../../src/outbox/intake/folder-channel.ts';
import { until } from '../../support/house.ts';
import { repositoryRoot } from '../../support/source.ts';
import { temporaryFolder, temporaryStore } from '../../support/store.ts';
import { envelope } from './folder-support.ts';
import { DAY_MS, hastyClock, intakeOf, runWorker } from './support.ts';

const ORDERS = 1_100;

it.each([1, 2, 3])('loses and doubles no order of a throttled upload (seed %s)', async (seed) => {
  const store = await temporaryStore(systemClock());
  const folder = temporaryFolder();
  const deps = { store, intake: intakeOf(store), clock: hastyClock(), log: silentLogger(), folder };
  const limits = { settleMs: 100, fileBytesMax: 4_194_304, keepMs: DAY_MS };
  runWorker(createFolderChannel({ ...deps, ...limits }));
  const content = Array.from({ length: ORDERS }, (_, at) => `${envelope(`SO-${at}`)}\n`).join('');
  const script = join(repositoryRoot, 'test/support/throttled-writer.mjs');
  const args = [script, join(folder, 'orders.json'), String(seed)];
  const writer = spawn(process.execPath, args, { stdio: ['pipe', 'inherit', 'inherit'] });
  onTestFinished(() => void writer.kill());
  writer.stdin.end(content);
  expect((await once(writer, 'exit'))[0]).toBe(0);
  const references = store.db.selectFrom('outbox').select('reference').distinct();
  await until('all orders', async () => {
    return (await references.execute()).length === ORDERS || undefined;
  });
  const rows = await store.db.selectFrom('intake').select('repeats').execute();
  expect(rows.length).toBe(ORDERS);
  expect(rows.filter(({ repeats }) => repeats !== 0)).toEqual([]);
  await until('the whole file', async () => {
    const files = await store.db.selectFrom('intake_file').select('folder').execute();
    return files.every((file) => file.folder === 'done') || undefined;
  });
  const kinds = (await openCauses(store.db)).map(({ kind }) => kind);
  expect(kinds).toContain('file_grew');
});
