/**
 * A service that answers every list with success and something else than the list: nothing is
 * deleted, no stream's clock moves, and the operator is told what happened and what to do.
 */
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { isJsonObject } from '../../src/lib/json.ts';
import type { Stream } from '../../src/sync/stream.ts';
import { startOrders } from './orders-support.ts';
import { clientsOf } from './pull.ts';
import { listStreams } from './streams.ts';

// Five seasons: what one of them has is less than the deletion guard allows.
const WORLD = { brands: 6, styles: 12, colors: 2, sizes: 4, orders: 12 };
const LOGIN = JSON.stringify({ status: 200, message: 'OK', data: { token: 'liar' } });

const LISTS = ['variants', 'brands', 'freightOptions', 'seasons', 'orders'];
const emptyLists = Object.fromEntries(LISTS.map((name) => [name, []]));
const v1 = (status: number, data: unknown) => JSON.stringify({ status, message: 'said', data });

/** Bodies of a 200, in the words of V1 and of V2. */
const LIES: Readonly<Record<string, readonly [v1: string, v2: string]>> = {
  'an error inside': [v1(500, {}), '{"errors":[{"status":"500","title":"fault"}]}'],
  'a refusal inside': [v1(403, {}), '{"errors":[{"status":"403","title":"no"}]}'],
  'no list': [v1(200, {}), '{"meta":{}}'],
  'null for a list': [v1(200, null), '{"data":null}'],
  'a page for people': ['<html><body>Down</body></html>', '<html>Down</html>'],
  'nothing at all': ['', ''],
  'the list without its envelope': ['{"data":{"variants":[]}}', '[]'],
  'an empty list': [v1(200, { count: 0, ...emptyLists }), '{"data":[],"links":{"next":null}}'],
};

/** Every other row of each list in the answer, and a count and links to go with it. */
function halved(text: string): string {
  const answer: unknown = JSON.parse(text);
  const half = (rows: readonly unknown[]) => rows.filter((_, at) => at % 2 === 0);
  if (!isJsonObject(answer)) return text;
  if (Array.isArray(answer.data)) {
    return JSON.stringify({ ...answer, data: half(answer.data), links: { next: null } });
  }
  if (!isJsonObject(answer.data)) return text;
  const data: Record<string, unknown> = { ...answer.data };
  for (const name of LISTS) {
    const rows = data[name];
    if (!Array.isArray(rows)) continue;
    data[name] = half(rows);
    if ('count' in data) data.count = half(rows).length;
  }
  return JSON.stringify({ ...answer, data });
}

type Lie = (request: IncomingMessage) => string | Promise<string>;

/** A service that takes every log-in and answers all else as the lie says. */
async function startLiar(lie: Lie) {
  const server = createServer(async (request, response) => {
    const isLogin = request.url?.endsWith('/auth/login') === true;
    const body = isLogin ? LOGIN : await lie(request);
    response.writeHead(200, { 'content-type': 'application/json' }).end(body);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  const { port }: Pick<AddressInfo, 'port'> = Object(server.address());
  const url = `http://127.0.0.1:${port}`;
  const credentials = { liar: { clientId: 'a', clientSecret: 'b' } };
  return { v1Url: `${url}/api/v1`, v2Url: `${url}/api/v2`, credentials };
}

/** Everything mirrored, by the clients of the true service; streams by those of a liar. */
async function startHouse(mode: 'stream' | 'pages') {
  const pull = await startOrders(
    { world: WORLD, life: { ordersPerMinute: 0, restocksPerMinute: 0, packAfter: '1h' } },
    { mode, pageRows: 50 },
  );
  const streamsOf = (clients: Parameters<typeof listStreams>[0]): Stream[] => [
    ...listStreams(clients, mode),
    pull.stream({ v1: clients.v1 }),
    pull.stream({ v1: clients.v1, full: true, closedOrders: 2 }),
  ];
  for (const stream of streamsOf(pull)) {
    expect(await pull.run(stream)).toMatchObject({ outcome: 'complete' });
  }
  const told = async () => {
    const changes = await pull.store.db.selectFrom('change').select('op').execute();
    return changes.length;
  };
  let lie: Lie = () => '';
  const liar = await startLiar((request) => lie(request));
  const lying = clientsOf(liar, { mode, pageRows: 50 });
  onTestFinished(() => lying.transport[Symbol.asyncDispose]());
  const tell = (next: Lie): void => {
    lie = next;
  };
  const pairs = streamsOf(pull).map((truth, at) => ({
    truth,
    lied: streamsOf(lying)[at] ?? truth,
  }));
  return { ...pull, told, tell, pairs };
}

type House = Awaited<ReturnType<typeof startHouse>>;

/** Runs until the run has ended; at the most as often as a fault is asked for again. */
async function ended({ run }: House, stream: Stream) {
  for (let times = 1; ; times += 1) {
    const result = await run(stream);
    if (result.outcome !== 'interrupted' || times === 7) return result;
  }
}

async function expectNothingBelieved(house: House, stream: Stream, lie: Lie) {
  const { state, told, lastRun, tell } = house;
  const { name } = stream;
  const [before, rows] = [await state(name), await told()];
  tell(lie);
  const result = await ended(house, stream);
  const what = `${name}: ${result.outcome}, ${result.reason}`;
  expect(['suspicious', 'failed'], what).toContain(result.outcome);
  const { run_id, rows_deleted } = await lastRun(name);
  if (result.outcome === 'suspicious') {
    expect(result.reason).toContain(`selvedge sync release ${run_id}`);
  }
  expect(rows_deleted).toBe(0);
  expect(await told(), what).toBe(rows);
  const after = await state(name);
  expect(after.complete_at, what).toBe(before.complete_at);
  expect(after.last_error).toBe(result.reason);
}

/** Asks the service itself for the truth. */
function wholeTruth({ reference }: House): (request: IncomingMessage) => Promise<string> {
  const [key] = Object.values(reference.credentials);
  return async ({ url }) => {
    const headers = { 'x-service-authorization': key?.apiKey ?? '' };
    const truth = await fetch(`${reference.serviceUrl}${url}`, { headers });
    return truth.text();
  };
}

/** The same, less every other row. */
function halfTruth(house: House): Lie {
  const truth = wholeTruth(house);
  return async (request) => halved(await truth(request));
}

/** The count of the whole list, and every other row of it. */
function halfWithItsCount(house: House): Lie {
  const truthOf = wholeTruth(house);
  return async (request) => {
    const truth = JSON.parse(await truthOf(request));
    // A page that there is none of, such as page 0, is refused.
    if (truth.data === undefined) return JSON.stringify(truth);
    const half = JSON.parse(halved(JSON.stringify(truth)));
    if ('count' in truth.data) half.data.count = truth.data.count;
    return JSON.stringify(half);
  };
}

describe.each(['stream', 'pages'] as const)('a service that lies, mode %s', (mode) => {
  it('is not believed, whatever the stream and whatever it says', async () => {
    const house = await startHouse(mode);
    for (const { truth, lied } of house.pairs) {
      // The mode concerns the lists of variants only.
      if (mode === 'pages' && lied.list?.isLong !== true) continue;
      for (const [v1Body, v2Body] of Object.values(LIES)) {
        const lie: Lie = ({ url = '' }) => (url.includes('/v2/') ? v2Body : v1Body);
        await expectNothingBelieved(house, lied, lie);
      }
      await expectNothingBelieved(house, lied, halfTruth(house));
      if (lied.list?.isLong === true) {
        await expectNothingBelieved(house, lied, halfWithItsCount(house));
      }
      expect(await house.run(truth)).toMatchObject({ outcome: 'complete', changed: 0 });
    }
  });

  it('is not believed about one season of many', { timeout: 60_000 }, async () => {
    const house = await startHouse(mode);
    const { world } = house.reference;
    const [one] = world.catalog.seasons;
    const pair = house.pairs.find(({ truth }) => truth.name === 'season');
    if (!pair || !one) throw new Error('there is no season');
    const truth = wholeTruth(house);
    const about =
      (lie: Lie): Lie =>
      (request) =>
        request.url?.includes(encodeURIComponent(one.name)) ? lie(request) : truth(request);
    for (const [body] of Object.values(LIES)) {
      await expectNothingBelieved(
        house,
        pair.lied,
        about(() => body),
      );
    }
    for (const lie of [halfTruth(house), halfWithItsCount(house)]) {
      await expectNothingBelieved(house, pair.lied, about(lie));
    }
    expect(await house.run(pair.truth)).toMatchObject({ outcome: 'complete', changed: 0 });
  });
});
