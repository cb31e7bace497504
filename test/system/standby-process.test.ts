/** The daemon as a process that is stopped while another machine takes its lease. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { stringify } from 'yaml';
import { z } from 'zod';
import type { Reference } from '../../src/reference/reference.ts';
import { startFastReference } from '../e2e/support.ts';
import { drawTaking, initStandby, SCHEMA } from '../standby/support.ts';
import { childDaemon } from '../support/daemon-process.ts';
import { SIMPLE_RULES, until, WEBHOOK_SECRET } from '../support/house.ts';
import { type Postgres, startPostgres } from '../support/postgres.ts';
import { placeDatabase, temporaryFolder } from '../support/store.ts';

const TOKEN = 'the-token-of-the-erp-0123456789';
let postgres: Postgres;

beforeAll(async () => {
  postgres = await startPostgres();
  await initStandby(postgres.url());
});

afterAll(() => postgres.remove());

/** Writes a configuration with a lease of two seconds. */
function configure(reference: Reference): { readonly file: string; readonly dataDir: string } {
  const folder = temporaryFolder();
  const [key] = Object.values(reference.credentials);
  if (!key) throw new Error('the reference has no key');
  mkdirSync(join(folder, 'rules'));
  writeFileSync(join(folder, 'rules', 'rules.yaml'), SIMPLE_RULES);
  const secret = (name: string, value: string) => {
    writeFileSync(join(folder, name), value, { mode: 0o600 });
    return { file: name };
  };
  const dataDir = join(folder, 'data');
  const file = join(folder, 'selvedge.yaml');
  const clientSecret = secret('client', key.clientSecret);
  const written = {
    dataDir,
    rules: { directory: join(folder, 'rules'), mode: 'live' },
    service: {
      v1: { baseUrl: reference.v1Url, login: { clientId: key.clientId, clientSecret } },
      limits: { requestsPerSecond: 2_000, loginSpacing: '0s' },
    },
    listener: { port: 0, secrets: [{ secret: secret('webhook', WEBHOOK_SECRET) }] },
    local: { port: 0 },
    console: { port: 0 },
    intake: { clients: [{ name: 'erp', token: secret('token', TOKEN) }] },
    streams: { off: ['brands', 'freight', 'seasons', 'stock', 'season'] },
    outbox: { quietTime: '20m' },
    standby: { servers: [secret('server', postgres.url())], lease: '2s' },
  };
  writeFileSync(file, stringify(written));
  return { file, dataDir };
}

it('a holder that was stopped begins no POST once another machine has its lease', async () => {
  const reference = await startFastReference({
    world: { styles: 20, orders: 3 },
    life: { packAfter: '30d', cancelShare: 0 },
  });
  const { file, dataDir } = configure(reference);
  placeDatabase(join(dataDir, 'mirror.db'));
  const child = childDaemon(file);
  onTestFinished(async ({ task }) => {
    await child.kill();
    if (task.result?.state === 'fail') process.stderr.write(child.output());
  });
  const barcode = reference.world.book.orders.all[0]?.lines[0]?.barcode;
  const submit = async (own: string): Promise<number> => {
    const local: unknown = JSON.parse(readFileSync(join(dataDir, 'local.json'), 'utf8'));
    const { url } = z.object({ url: z.string() }).parse(local);
    const headers = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' };
    const lines = [{ barcode, quantity: 1, price: '12.50', priceConfirmed: true }];
    const body = JSON.stringify({ reference: own, lines });
    return (await fetch(`${url}/api/orders`, { method: 'POST', headers, body })).status;
  };
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
    await sleep(300);
    const begun = posts();
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
