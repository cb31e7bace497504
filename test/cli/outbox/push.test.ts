import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import { expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
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
  expect(stdout.trimEnd().split('\n').at(-1)).toMatch(
    /^SO-1001: canceled, document 1001: \S+ canceled it: not wanted; → hand it in under a new/,
  );
  expect(code).toBe(3);
});

/** The command line against a daemon that ends so, in the middle of what it was asked for. */
async function pushAgainst(
  end: (response: ServerResponse, request: IncomingMessage) => void,
  text = '{"reference": "SO-1", "lines": []}',
  ...options: string[]
): Promise<CliRun> {
  const dataDir = temporaryFolder();
  const server = createServer((request, response) => end(response, request));
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
  writeFileSync(file, text);
  return selvedge(['--config', config, 'orders', 'push', file, ...options]);
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

const asked = z.object({ payloads: z.array(z.object({ reference: z.string() })) });

/** Pushes against a daemon that answers each document by its reference, and says how many came. */
async function pushSaying(
  references: readonly string[],
  { comment = '', options = [] }: { comment?: string; options?: readonly string[] } = {},
) {
  const batches: number[] = [];
  const text = references.map((reference) => JSON.stringify({ reference, comment })).join('\n');
  const answer = async (response: ServerResponse, request: IncomingMessage): Promise<void> => {
    const { payloads } = asked.parse(await json(request));
    batches.push(payloads.length);
    const none = { orderId: null, orderNo: null, pendingRefundId: null, problems: [] };
    const answers = payloads.map(({ reference }) => {
      const [state = ''] = reference.split('-');
      const final = state !== 'queued' && state !== 'dead';
      const receipt = { documentId: 1, reference, state, final, ...none, nextStep: 'look' };
      const checked = { reference, verdict: state, documentId: null, problems: [] };
      return options.includes('--dry-run') ? checked : { repeated: false, receipt };
    });
    response.end(JSON.stringify({ answers }));
  };
  const run = await pushAgainst(
    (response, request) => void answer(response, request),
    text,
    ...options,
  );
  return { ...run, batches };
}

it.each<[string, readonly string[], number, readonly string[]]>([
  ['all taken', ['confirmed-1', 'queued-2'], 0, []],
  ['some refused', ['confirmed-1', 'refused-2', 'confirmed-3'], 3, []],
  ['one canceled', ['confirmed-1', 'canceled-2'], 3, []],
  ['one dead, which is not waited for', ['confirmed-1', 'dead-2'], 3, ['--wait', '1h']],
  ['all fit or there already', ['fit-1', 'repeated-2'], 0, ['--dry-run']],
  ['one of which nothing can be said', ['fit-1', 'unclear-2'], 3, ['--dry-run']],
])('ends as its documents did: %s', async (_, references, code, options) => {
  const run = await pushSaying(references, { options });
  expect([run.code, run.stderr]).toEqual([code, '']);
  expect(run.stdout.split('\n').slice(0, -1)).toHaveLength(references.length);
});

it('hands in every document of a file, in order, and never too many at once', async () => {
  const many = Array.from({ length: 250 }, (_, at) => `queued-${at}`);
  const { stdout, batches } = await pushSaying(many);
  expect(batches).toEqual([100, 100, 50]);
  expect(stdout.split('\n').slice(0, -1)).toEqual(
    many.map((reference) => `${reference}: queued, document 1`),
  );
  const large = await pushSaying(many.slice(0, 7), { comment: '\u20ac'.repeat(340_000) });
  expect(large.batches).toEqual([3, 3, 1]);
});
