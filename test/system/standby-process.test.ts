/** The daemon as a process that is stopped while another machine takes its lease. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { startFastReference } from '../e2e/support.ts';
import { configure, submitTo } from '../standby/machines.ts';
import { drawTaking, initStandby, SCHEMA } from '../standby/support.ts';
import { childDaemon, runCommand } from '../support/daemon-process.ts';
import { until } from '../support/house.ts';
import { type Postgres, startPostgres } from '../support/postgres.ts';
import { placeDatabase, temporaryFolder } from '../support/store.ts';

let postgres: Postgres;

beforeAll(async () => {
  postgres = await startPostgres();
  await initStandby(postgres.url());
});

afterAll(() => postgres.remove());

/** The count once it has stayed the same for many turns of the loop in which the service runs. */
async function settled(count: () => number): Promise<number> {
  let last = count();
  for (let same = 0; same < 50; same += 1) {
    await sleep(10);
    if (count() !== last) same = 0;
    last = count();
  }
  return last;
}

it('a holder that was stopped begins no POST once another machine has its lease', async () => {
  const reference = await startFastReference({
    world: { styles: 20, orders: 3 },
    life: { packAfter: '30d', cancelShare: 0 },
  });
  const { file, dataDir } = configure(reference, postgres.url());
  placeDatabase(join(dataDir, 'mirror.db'));
  const child = childDaemon(file);
  onTestFinished(async ({ task }) => {
    await child.kill();
    if (task.result?.state === 'fail') process.stderr.write(child.output());
  });
  const barcode = reference.world.book.orders.all[0]?.lines[0]?.barcode;
  const submit = (own: string) => submitTo(dataDir, barcode, own);
  const posts = (): number =>
    reference.edge.journal
      .list()
      .filter(({ method, path }) => method === 'POST' && path.endsWith('/orders')).length;
  for (const round of [1, 2]) {
    await child.start();
    await until('the local API', () => existsSync(join(dataDir, 'local.json')) || undefined);
    await until('the first document', async () => (await submit('first')) < 300 || undefined);
    const before = posts();
    const documents = Array.from({ length: 60 }, (_, index) => `S-${round}-${index}`);
    await Promise.all(documents.map(submit));
    await until('some orders', () => posts() > before + 3 || undefined);
    child.freeze();
    // The kernel delivers the rest of what was begun; later requests would be begun later.
    const begun = await settled(posts);
    const there = `taking = '${drawTaking()}', holder = 'there'`;
    postgres.sql(`update ${SCHEMA}.standby_lease set ${there}`);
    await sleep(1_000);
    child.goOn();
    expect(await child.ended()).toBe(76);
    expect(child.output()).toMatch(/that of there/);
    expect([round, posts()]).toEqual([round, begun]);
    expect(begun).toBeLessThan(round * 60);
    // The other machine is gone, and its row with it.
    postgres.sql(`delete from ${SCHEMA}.standby_lease`);
  }
});

it('a machine whose holder was killed amid orders has all of them, each once', async () => {
  postgres.sql('create database killed');
  await initStandby(postgres.url('killed'));
  const reference = await startFastReference({
    world: { styles: 20, orders: 3 },
    life: { packAfter: '30d', cancelShare: 0 },
  });
  const more = { backups: temporaryFolder() };
  const url = postgres.url('killed');
  const [here, there] = [configure(reference, url, more), configure(reference, url, more)];
  placeDatabase(join(here.dataDir, 'mirror.db'));
  const [first, second] = [childDaemon(here.file), childDaemon(there.file)];
  onTestFinished(async ({ task }) => {
    await Promise.all([first.kill(), second.kill()]);
    if (task.result?.state === 'fail') process.stderr.write(first.output() + second.output());
  });
  const barcode = reference.world.book.orders.all[0]?.lines[0]?.barcode;
  await first.start();
  await until('the local API', () => existsSync(join(here.dataDir, 'local.json')) || undefined);
  expect(await runCommand(['backup', 'create', '--config', here.file])).toMatchObject({ code: 0 });
  await until('the first', async () =>
    (await submitTo(here.dataDir, barcode, 'K-0')) < 300 ? true : undefined,
  );
  const taken: string[] = ['K-0'];
  const named = Array.from({ length: 20 }, (_, index) => `K-${index + 1}`);
  const submitting = Promise.allSettled(
    named.map(async (own) => {
      if ((await submitTo(here.dataDir, barcode, own)) < 300) taken.push(own);
    }),
  );
  const posts = () =>
    reference.edge.journal.list().filter(({ method }) => method === 'POST').length;
  await until('some orders', () => posts() > 5 || undefined);
  await first.kill();
  await submitting;
  const waited = await runCommand(['standby', '--config', there.file]);
  expect(waited).toMatchObject({ code: 77 });
  expect(waited.output).toMatch(/until everything was read once/);
  await second.start();
  await until('its local API', () => existsSync(join(there.dataDir, 'local.json')) || undefined);
  const database = new Database(join(there.dataDir, 'mirror.db'), { readonly: true });
  const references = database.prepare('select reference from outbox').pluck().all();
  database.close();
  expect(taken.filter((own) => !references.includes(own))).toEqual([]);
  await until('a later order', async () =>
    (await submitTo(there.dataDir, barcode, 'K-99')) < 300 ? true : undefined,
  );
  const count = (own: string) =>
    reference.world.book.orders.all.filter((order) => order.reference === own).length;
  await until('it to be sent', () => count('K-99') === 1 || undefined);
  expect([...named, 'K-0'].filter((own) => count(own) > 1)).toEqual([]);
});
