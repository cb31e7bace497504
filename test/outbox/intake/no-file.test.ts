import { mkdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { systemClock } from '../../../src/lib/clock.ts';
import { createLogger } from '../../../src/lib/log.ts';
import { createScrubber } from '../../../src/lib/secret.ts';
import { createFolderDoor } from '../../../src/outbox/intake/folder/folder-door.ts';
import { createIntake } from '../../../src/outbox/intake/hand-in.ts';
import { until } from '../../support/house.ts';
import { temporaryFolder, temporaryStore } from '../../support/store.ts';
import { DAY_MS, order, runWorker } from './support.ts';

it('says in the log why a link and a folder are left alone, and takes what is behind', async () => {
  const clock = systemClock();
  const store = await temporaryStore(clock);
  const intake = createIntake({ store, onTaken: () => undefined, hasRoom: () => true });
  const folder = temporaryFolder();
  const elsewhere = join(temporaryFolder(), 'order.json');
  const document = { kind: 'order', reference: 'SO-1', payload: order() };
  writeFileSync(elsewhere, JSON.stringify(document));
  symlinkSync(elsewhere, join(folder, 'a.json'));
  mkdirSync(join(folder, 'b.json'));
  writeFileSync(join(folder, '.c.tmp'), JSON.stringify({ ...document, reference: 'SO-2' }));
  renameSync(join(folder, '.c.tmp'), join(folder, 'c.json'));
  let written = '';
  const write = (line: string): void => {
    written += line;
  };
  const log = createLogger({ level: 'info', format: 'json', scrubber: createScrubber(), write });
  const limits = { settleMs: 0, fileBytesMax: 100_000, keepMs: DAY_MS };
  runWorker(createFolderDoor({ store, intake, clock, log, folder, ...limits }));
  await until('the file', () => written.includes('file taken') || undefined);
  expect(written).toMatch(/a\.json.*a file is left alone: it is no file \(a link counts as such\)/);
  expect(written).toMatch(/b\.json.*a file is left alone: it is a folder/);
  const taken = await store.db.selectFrom('outbox').select('reference').execute();
  expect(taken).toEqual([{ reference: 'SO-2' }]);
});
