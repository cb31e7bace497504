import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import { expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { localFile } from '../../../src/local-api/ask.ts';
import { temporaryFolder } from '../../support/store.ts';
import { type CliRun, selvedge } from '../support.ts';

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
const none = { orderId: null, orderNo: null, pendingRefundId: null, refundId: null, problems: [] };

it('looks for the end of each of many documents, however many before it stay open', async () => {
  // The daemon tells of 1,000 in one answer; this is one more.
  const ids = z.object({ documentIds: z.array(z.int()).max(1_000) });
  const references = Array.from({ length: 1_001 }, (_, at) => `SO-${at + 1}`);
  const receiptOf = (documentId: number, state: string) => ({
    ...{ documentId, reference: `SO-${documentId}`, state, final: state !== 'queued' },
    ...{ ...none, nextStep: 'look' },
  });
  const answer = async (response: ServerResponse, request: IncomingMessage): Promise<void> => {
    const body = await json(request);
    const told = request.url?.endsWith('/receipts')
      ? {
          receipts: ids
            .parse(body)
            .documentIds.map((id) => receiptOf(id, id === 1_001 ? 'canceled' : 'queued')),
        }
      : {
          answers: asked.parse(body).payloads.map(({ reference }) => {
            const receipt = receiptOf(Number(reference.slice(3)), 'queued');
            return { repeated: false, receipt };
          }),
        };
    response.end(JSON.stringify(told));
  };
  const text = references.map((reference) => JSON.stringify({ reference })).join('\n');
  const { code, stdout } = await pushAgainst(
    (response, request) => void answer(response, request).catch(() => response.destroy()),
    text,
    ...['--wait', '100ms'],
  );
  const lines = stdout.trimEnd().split('\n');
  expect(lines.slice(-2)).toEqual([
    'SO-1000: queued, document 1000',
    'SO-1001: canceled, document 1001: → look',
  ]);
  expect([lines.length, code]).toEqual([1_001, 3]);
});

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

it('submits every document of a file, in order, and never too many at once', async () => {
  const many = Array.from({ length: 250 }, (_, at) => `queued-${at}`);
  const { stdout, batches } = await pushSaying(many);
  expect(batches).toEqual([100, 100, 50]);
  expect(stdout.split('\n').slice(0, -1)).toEqual(
    many.map((reference) => `${reference}: queued, document 1`),
  );
  const large = await pushSaying(many.slice(0, 7), { comment: '\u20ac'.repeat(340_000) });
  expect(large.batches).toEqual([3, 3, 1]);
});
