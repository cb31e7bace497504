import { Readable } from 'node:stream';
import type { FastifyInstance } from 'fastify';
import { afterEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type ManualClock, manualClock } from '../../../src/lib/clock.ts';
import { createHttpServer, listenOn } from '../../../src/lib/http-server.ts';
import { silentLogger } from '../../../src/lib/log.ts';
import { knobsSchema } from '../../../src/reference/control/knobs.ts';
import { createEdge, type Edge } from '../../../src/reference/edge/edge.ts';
import { inTurns } from '../../../src/reference/v1/lists.ts';

interface Stand {
  readonly url: string;
  readonly edge: Edge;
  readonly clock: ManualClock;
  readonly knobs: (value: object) => void;
  /** How often the route ran: the effect. */
  readonly effects: () => number;
}

const open: FastifyInstance[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((app) => app.close()));
});

const ROWS = [
  { barcode: 'a', quantity: 3 },
  { barcode: 'b', quantity: 4 },
];
const LIST = { status: 200, message: 'OK', data: { count: 2, variants: ROWS } };
const LIST_TEXT = JSON.stringify(LIST);

/** Makes a whole list as V1 sends it: a piece of text at a time. */
function* wholeList(rows: number): Generator<Buffer> {
  let piece = `{"status":200,"message":"OK","data":{"count":${rows},"variants":[`;
  for (let row = 0; row < rows; row += 1) {
    piece += `${row === 0 ? '' : ','}{"barcode":"${row}","quantity":${row}}`;
    if (row % 250 !== 249) continue;
    yield Buffer.from(piece);
    piece = '';
  }
  yield Buffer.from(`${piece}]}}`);
}

async function stand(given: object): Promise<Stand> {
  const clock = manualClock();
  let current = knobsSchema.parse(given);
  let effects = 0;
  const edge = createEdge({
    clock,
    knobs: () => current,
    keyOf: (request) => request.headers['x-key']?.toString(),
  });
  const app = createHttpServer(silentLogger());
  open.push(app);
  edge.install(app);
  const answer = () => {
    effects += 1;
    return LIST;
  };
  app.get('/api/v1/variants/stock', answer);
  app.post('/api/v1/orders', answer);
  app.get('/api/v1/orders/:id', (_request, reply) => reply.code(404).send({ status: 404 }));
  app.get('/api/v2/pdm/colors', answer);
  app.get('/api/v1/variants/season', (request, reply) => {
    const { rows } = z.object({ rows: z.coerce.number().default(1_000) }).parse(request.query);
    const pieces = Readable.from(inTurns(wholeList(rows)), { objectMode: false });
    return reply.type('application/json').send(pieces);
  });
  const { url } = await listenOn(app, '127.0.0.1', 0);
  return {
    url,
    edge,
    clock,
    knobs: (value) => {
      current = knobsSchema.parse(value);
      edge.faults.set(current.faults);
    },
    effects: () => effects,
  };
}

const stock = '/api/v1/variants/stock';

/** The answer as the test expects it to look; a wrong shape fails the expectation after it. */
async function bodyOf(answer: Response | Promise<Response>) {
  return z
    .looseObject({
      status: z.number().optional(),
      data: z.object({ count: z.number(), variants: z.any() }).optional(),
      errors: z.array(z.unknown()).optional(),
      invalid_data: z.array(z.string()).optional(),
    })
    .parse(await (await answer).json());
}

describe('rate limit', () => {
  it('answers 429 with Retry-After to one key and lets the other pass', async () => {
    const { url, clock } = await stand({ rates: { perSecond: 2 } });
    const status = async (key: string) =>
      (await fetch(url + stock, { headers: { 'x-key': key } })).status;
    expect([await status('a'), await status('a'), await status('a')]).toEqual([200, 200, 429]);
    const refused = await fetch(url + stock, { headers: { 'x-key': 'a' } });
    expect(refused.headers.get('retry-after')).toBe('1');
    expect(await refused.json()).toEqual({ status: 429, message: 'Too many requests', data: {} });
    expect(await status('b')).toBe(200);
    await clock.advance(500);
    expect([await status('a'), await status('a')]).toEqual([200, 429]);
  });
});

describe('faults', () => {
  const withFault = (fault: object) => stand({ rates: { perSecond: 0 }, faults: [fault] });

  it('cuts the connection before the effect or after it', async () => {
    const before = await withFault({ kind: 'reset' });
    await expect(fetch(before.url + stock)).rejects.toThrow();
    expect(before.effects()).toBe(0);
    const after = await withFault({ kind: 'reset', moment: 'after', count: 1 });
    await expect(fetch(after.url + stock)).rejects.toThrow();
    expect(after.effects()).toBe(1);
    expect((await fetch(after.url + stock)).status).toBe(200);
  });

  it('answers as a broken gateway, before the effect or after it', async () => {
    const { url, effects, knobs } = await withFault({ kind: 'serverError', status: 502 });
    const answer = await fetch(url + stock);
    expect([answer.status, answer.headers.get('content-type')]).toEqual([502, 'text/html']);
    expect(await answer.text()).toContain('<h1>502 Bad Gateway</h1>');
    expect(effects()).toBe(0);
    knobs({ faults: [{ kind: 'serverError', status: 504, moment: 'after', body: 'none' }] });
    const late = await fetch(url + stock);
    expect([late.status, await late.text(), effects()]).toEqual([504, '', 1]);
  });

  it('asks to come back later in the shape of the API', async () => {
    const { url } = await withFault({ kind: 'tooMany', retryAfter: 9 });
    const answer = await fetch(`${url}/api/v2/pdm/colors`);
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([429, '9']);
    expect(answer.headers.get('content-type')).toBe('application/vnd.api+json');
    const body = await bodyOf(answer);
    expect(body.errors?.[0]).toMatchObject({ status: '429', code: 'too_many_requests' });
  });

  it('forgets a token', async () => {
    const { url } = await withFault({ kind: 'unauthorized', count: 1 });
    expect((await fetch(url + stock)).status).toBe(401);
    expect((await fetch(url + stock)).status).toBe(200);
  });

  it('holds an answer back on the clock of the service', async () => {
    const { url, clock, effects } = await withFault({ kind: 'latency', delay: '30s' });
    const answer = fetch(url + stock);
    await expect.poll(() => clock.pending()).toBe(1);
    expect(effects()).toBe(0);
    await clock.advance(30_000);
    expect((await answer).status).toBe(200);
  });

  it('ends an answer too early, with the right length and with the wrong one', async () => {
    const { url, knobs } = await withFault({ kind: 'truncated', bytes: 10 });
    expect(await (await fetch(url + stock)).text()).toBe(LIST_TEXT.slice(0, 10));
    knobs({ faults: [{ kind: 'truncated', bytes: 10, contentLength: 'wrong' }] });
    const broken = await fetch(url + stock);
    expect(broken.headers.get('content-length')).toBe(String(LIST_TEXT.length));
    await expect(broken.text()).rejects.toThrow();
  });

  it('sends JSON that is none', async () => {
    const { url } = await withFault({ kind: 'malformed' });
    const text = await (await fetch(url + stock)).text();
    expect(() => JSON.parse(text)).toThrow();
  });

  it('sends one row with a wrong type and leaves the others alone', async () => {
    const { url } = await withFault({ kind: 'wrongTypes', seed: 3 });
    const { data, status } = await bodyOf(fetch(url + stock));
    const wrong = data?.variants.filter((row: { quantity: unknown }) => {
      return typeof row.quantity !== 'number';
    });
    expect([status, data?.variants.length, wrong?.length]).toEqual([200, 2, 1]);
  });

  it('empties, nulls and repeats in a list, adds members and a byte order mark', async () => {
    const { url, knobs } = await withFault({ kind: 'emptyList' });
    expect((await bodyOf(fetch(url + stock))).data).toEqual({ count: 2, variants: [] });
    knobs({ faults: [{ kind: 'nullList' }] });
    expect((await bodyOf(fetch(url + stock))).data).toEqual({ count: 2, variants: null });
    knobs({ faults: [{ kind: 'repeatedRow' }] });
    expect((await bodyOf(fetch(url + stock))).data?.variants).toEqual([...ROWS, ROWS[0]]);
    knobs({ faults: [{ kind: 'unknownMember' }] });
    expect((await bodyOf(fetch(url + stock))).data?.variants[1]).toMatchObject({
      ...ROWS[1],
      unknownMember: { nested: [1, null, 'x'] },
    });
    knobs({ faults: [{ kind: 'byteOrderMark' }] });
    const bytes = Buffer.from(await (await fetch(url + stock)).arrayBuffer());
    expect(bytes.subarray(0, 3)).toEqual(Buffer.from([0xef, 0xbb, 0xbf]));
    knobs({ faults: [{ kind: 'byteOrderMark' }], dialect: { charset: 'windows-1252' } });
    const other = Buffer.from(await (await fetch(url + stock)).arrayBuffer());
    expect(other.subarray(0, 4).toString('latin1')).toBe('\xef\xbb\xbf{');
  });

  it('empties a list that leaves in pieces, up to a mebibyte', async () => {
    const { url } = await withFault({ kind: 'emptyList' });
    const asked = (rows: number) => bodyOf(fetch(`${url}/api/v1/variants/season?rows=${rows}`));
    expect((await asked(20_000)).data).toEqual({ count: 20_000, variants: [] });
    expect((await asked(40_000)).data?.variants).toHaveLength(40_000);
  });

  it('pads an answer, plainly or packed', async () => {
    const { url, knobs } = await withFault({ kind: 'padded', padding: 3_000_000 });
    const padded = await (await fetch(url + stock)).text();
    expect(padded.length).toBe(LIST_TEXT.length + 3_000_000);
    expect(JSON.parse(padded)).toEqual(LIST);
    knobs({ faults: [{ kind: 'gzipBomb', padding: 3_000_000 }] });
    const bomb = await fetch(url + stock);
    expect(bomb.headers.get('content-encoding')).toBe('gzip');
    expect((await bomb.text()).length).toBe(LIST_TEXT.length + 3_000_000);
  });

  it('spoils whole lists that leave as a stream', async () => {
    const { url, knobs } = await withFault({ kind: 'wrongTypes' });
    const text = async () => (await fetch(`${url}/api/v1/variants/season`)).text();
    expect((await text()).match(/"wrong":"type"/g)).toHaveLength(1);
    knobs({ faults: [{ kind: 'truncated', bytes: 100 }] });
    expect((await text()).length).toBe(100);
    knobs({ faults: [{ kind: 'truncated', bytes: 100, contentLength: 'wrong' }] });
    await expect(text()).rejects.toThrow();
    knobs({ faults: [{ kind: 'serverError', moment: 'after' }] });
    expect(await text()).toContain('503 Service');
    knobs({ faults: [] });
    expect(JSON.parse(await text()).data.variants).toHaveLength(1_000);
  });

  it('drips', async () => {
    const { url, clock } = await withFault({ kind: 'drip', bytes: 40, delay: '5s' });
    const body = fetch(url + stock).then((answer) => answer.text());
    for (let piece = 0; piece < Math.ceil(LIST_TEXT.length / 40); piece += 1) {
      await expect.poll(() => clock.pending()).toBe(1);
      await clock.advance(5_000);
    }
    expect(await body).toBe(LIST_TEXT);
  });

  it('keeps to path, method, probability, count and window', async () => {
    const { url, clock, knobs } = await withFault({
      kind: 'serverError',
      path: '/api/v1/variants/*',
      method: 'GET',
      startsAfter: '10s',
      lasts: '10s',
    });
    const status = async (path = stock, method = 'GET') =>
      (await fetch(url + path, { method })).status;
    expect(await status()).toBe(200);
    await clock.advance(10_000);
    expect([await status(), await status('/api/v2/pdm/colors')]).toEqual([503, 200]);
    expect(await status('/api/v1/orders', 'POST')).toBe(200);
    await clock.advance(10_000);
    expect(await status()).toBe(200);
    knobs({ rates: { perSecond: 0 }, faults: [{ kind: 'serverError', probability: 0.5 }] });
    const drawn = await Promise.all(Array.from({ length: 40 }, () => status()));
    const struck = drawn.filter((code) => code === 503).length;
    expect(struck).toBeGreaterThan(8);
    expect(struck).toBeLessThan(32);
  });
});

describe('the window of a fault', () => {
  it('is counted from the start of the service, not from its first request', async () => {
    const window = { startsAfter: '10s', lasts: '10s' };
    const { url, clock } = await stand({ faults: [{ kind: 'serverError', ...window }] });
    await clock.advance(12_000);
    expect((await fetch(url + stock)).status).toBe(503);
    await clock.advance(8_000);
    expect((await fetch(url + stock)).status).toBe(200);
  });
});

describe('journal', () => {
  it('is the same, byte for byte, when the same happens again', async () => {
    const run = async (): Promise<string> => {
      const { url, edge, clock } = await stand({
        strict: true,
        rates: { perSecond: 3 },
        faults: [{ kind: 'serverError', probability: 0.3, seed: 5 }],
      });
      for (let turn = 0; turn < 12; turn += 1) {
        await fetch(`${url}${stock}?page=${turn}&limit=5`, { headers: { 'x-key': 'k' } });
        await clock.advance(200);
      }
      return JSON.stringify(edge.journal.list());
    };
    const first = await run();
    expect(await run()).toBe(first);
    expect(JSON.parse(first)).toHaveLength(12);
    expect(JSON.parse(first)[1]).toEqual({
      n: 2,
      at: '2026-01-05T08:00:00.200Z',
      method: 'GET',
      path: stock,
      query: 'page=1&limit=5',
      keyId: 'k',
      reference: null,
      status: 200,
      durationMs: 0,
      faults: [],
      mistakes: [],
    });
  });

  it('filters by method, path, key, status and mistakes, and keeps only so many', async () => {
    const { url, edge } = await stand({ strict: true, journal: { size: 3 } });
    await fetch(url + stock, { headers: { 'x-key': 'a' } });
    await fetch(`${url}/api/v1/orders/9`);
    await fetch(`${url}/api/v1/orders`, { method: 'POST' });
    await fetch(`${url}${stock}?oops=1`);
    const numbers = (filter: object) => edge.journal.list(filter).map((entry) => entry.n);
    expect(numbers({})).toEqual([2, 3, 4]);
    expect(numbers({ path: '/api/v1/orders*' })).toEqual([2, 3]);
    expect(numbers({ method: 'POST' })).toEqual([3]);
    expect(numbers({ status: 404 })).toEqual([2]);
    expect(numbers({ mistakes: true })).toEqual([4]);
    expect(numbers({ limit: 1 })).toEqual([4]);
    expect(numbers({ after: 3 })).toEqual([4]);
    expect(numbers({ keyId: 'a' })).toEqual([]);
  });
});

describe('strict mode', () => {
  it('refuses and lists what the wire contract does not name', async () => {
    const { url, edge, effects } = await stand({ strict: true });
    const parameter = await fetch(`${url}${stock}?seasonName=SS26&limit=5`);
    expect(parameter.status).toBe(422);
    expect((await bodyOf(parameter)).invalid_data).toEqual([
      `seasonName: no such parameter of GET ${stock}`,
    ]);
    expect((await fetch(`${url}${stock}?page=1&page=2`)).status).toBe(422);
    // Also a parameter that another path of the same shape has.
    const season = `${url}/api/v1/variants/season?includeVariantsOnOrder=true`;
    expect((await fetch(season)).status).toBe(422);
    expect((await fetch(`${url}/api/v1/stocks`)).status).toBe(404);
    expect((await fetch(url + stock, { method: 'DELETE' })).status).toBe(404);
    expect((await fetch(`${url}/api/v2/pdm/colors?page=3`)).status).toBe(400);
    expect((await fetch(`${url}/api/v2/pdm/colors?page[limit]=3`)).status).toBe(200);
    expect(effects()).toBe(1);
    expect(edge.journal.list({ mistakes: true })).toHaveLength(6);
  });

  it('refuses members of a body that the wire contract does not name', async () => {
    const { url, edge, effects } = await stand({ strict: true });
    const post = (body: object) =>
      fetch(`${url}/api/v1/orders`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
    const line = { barcode: '1', quantity: 1, price: 2 };
    const good = { reference: 'R', Freight: { freightAmount: 1 }, orderLineItems: [line, line] };
    expect((await post(good)).status).toBe(200);
    const misspelt = [line, { ...line, deliveryName: 'x' }];
    const refused = await post({ ...good, orderLineItems: misspelt, note: 'x' });
    expect(refused.status).toBe(422);
    expect(effects()).toBe(1);
    expect(edge.journal.list({ mistakes: true })[0]?.mistakes).toEqual([
      'orderLineItems[].deliveryName: no such member of the body',
      'note: no such member of the body',
    ]);
  });

  it('lists nothing for states that any client meets, nor for injected faults', async () => {
    const { url, edge } = await stand({
      strict: true,
      faults: [{ kind: 'tooMany', path: stock }],
    });
    expect((await fetch(`${url}/api/v1/orders/9`)).status).toBe(404);
    expect((await fetch(url + stock)).status).toBe(429);
    expect(edge.journal.list({ mistakes: true })).toEqual([]);
    expect(edge.journal.list({ status: 429 })[0]?.faults).toEqual(['tooMany']);
  });

  it('passes over unknown parameters when it is off', async () => {
    const { url, edge } = await stand({});
    expect((await fetch(`${url}${stock}?oops=1`)).status).toBe(200);
    expect(edge.journal.list({ mistakes: true })).toEqual([]);
  });
});
