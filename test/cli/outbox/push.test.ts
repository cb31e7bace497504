import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer, type ServerResponse } from 'node:http';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { localFile } from '../../../src/console/api.ts';
import { openDoors } from '../../e2e/doors/house.ts';
import { until } from '../../support/house.ts';
import { temporaryFolder } from '../../support/store.ts';
import { type CliRun, selvedge } from '../support.ts';

it('waits for each of many documents, however many before it stay open', async () => {
  const house = await openDoors({ 'outbox.stop': true });
  const file = join(house.folder, 'orders.ndjson');
  const documents = Array.from({ length: 1_001 }, (_, index) =>
    JSON.stringify({ reference: `SO-${index + 1}`, ...house.order() }),
  );
  writeFileSync(file, documents.join('\n'));
  const pushing = house.call('orders', 'push', file, '--wait', '5s');
  await until('the last document', () =>
    house.daemon.store.db
      .selectFrom('outbox')
      .select('outbox_id')
      .where('outbox_id', '=', 1_001)
      .executeTakeFirst(),
  );
  await house.call('outbox', 'cancel', '1001', '--reason', 'not wanted');
  const { code, stdout } = await pushing;
  expect(stdout.trimEnd().split('\n').at(-1)).toMatch(/^SO-1001: canceled, document 1001/);
  expect(code).toBe(3);
});

/** The command line against a daemon that ends so, in the middle of what it was asked for. */
async function pushAgainst(end: (response: ServerResponse) => void): Promise<CliRun> {
  const dataDir = temporaryFolder();
  const server = createServer((_request, response) => end(response));
  server.listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : undefined;
  mkdirSync(join(dataDir, 'rules'));
  const local = { url: `http://127.0.0.1:${port}`, token: 'of-a-daemon-that-dies' };
  writeFileSync(localFile(dataDir), JSON.stringify(local));
  const config = join(dataDir, 'selvedge.yaml');
  writeFileSync(join(dataDir, 'key'), 'a-key-of-nobody-0123456789', { mode: 0o600 });
  const v1 = { baseUrl: 'http://127.0.0.1:9/api/v1', apiKey: { file: join(dataDir, 'key') } };
  const written = { dataDir, rules: { directory: join(dataDir, 'rules') }, service: { v1 } };
  writeFileSync(config, JSON.stringify(written));
  const file = join(dataDir, 'order.json');
  writeFileSync(file, '{"reference": "SO-1", "lines": []}');
  return selvedge(['--config', config, 'orders', 'push', file]);
}

it.each<[string, (response: ServerResponse) => void]>([
  ['before', (response) => response.destroy()],
  [
    'in the middle of',
    (response) => {
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': '1000' });
      response.write('{"answers": [');
      setImmediate(() => response.destroy());
    },
  ],
])('says what it means that the daemon ends %s its answer', async (_when, end) => {
  const { code, stderr } = await pushAgainst(end);
  expect(stderr).toMatch(/^selvedge: the daemon broke off its answer: .+\nhint: .+\n$/);
  expect(stderr).toContain('what was asked for may have been done: look before you ask again');
  expect(code).toBe(1);
});
