/** Answers that are larger than a body may be. */
import { describe, expect, it } from 'vitest';
import { createV1Client } from '../../src/client/v1/client.ts';
import { nextCursor, orderNumber, type WalkPlace } from '../../src/client/v1/orders.ts';
import { VARIANT_LIST_DEFAULTS } from '../../src/client/v1/variants.ts';
import { createV2Client } from '../../src/client/v2/client.ts';
import { answerJson, envelope, impatient, rejection, startFaulty } from './support.ts';

const MiB = 1_048_576;

function v1Of(baseUrl: string, sender: ReturnType<typeof impatient>) {
  const seasonParameter = 'seasonName';
  const options = { baseUrl, variants: VARIANT_LIST_DEFAULTS, seasonParameter };
  return createV1Client({ ...options, idempotencyHeader: undefined }, { sender });
}

const line = (at: number) => ({ barcode: `57000001${10_000 + at}`, quantity: 1, price: 40 });
const LINES = Array.from({ length: 12_000 }, (_, at) => line(at));
const comment = 'x'.repeat(MiB);
const order = (orderId: number) => ({ orderId, comment, orderLineItems: LINES.slice(0, 9) });

describe('an answer that is larger than a body may be', () => {
  it('is a page of orders, and comes in parts that a cursor joins', async () => {
    const ids = Array.from({ length: 12 }, (_, at) => 500_012 - at);
    await using server = await startFaulty(({ url }, response) => {
      const before = Number(
        new URL(url ?? '', 'http://x').searchParams.get('beforeOrderId') ?? 1e9,
      );
      answerJson(
        response,
        200,
        envelope(200, { orders: ids.filter((id) => id < before).map(order) }),
      );
    });
    await using transport = impatient({ bodyBytesMax: MiB });
    const client = v1Of(server.url, transport);
    const seen: number[] = [];
    const held: number[] = [];
    let place: WalkPlace = {};
    for (;;) {
      const page = await client.orders(place.before);
      if (page.rows.length === 0) break;
      held.push(page.rows.length);
      seen.push(...page.rows.map(({ orderId }) => orderId));
      const { to, last } = nextCursor(
        page.raws.flatMap((raw) => orderNumber(raw) ?? []),
        place,
      );
      if (to === undefined) break;
      place = { before: to, last };
    }
    expect([...new Set(seen)]).toEqual(ids);
    // Some 8 MiB of rows are held at once, of the 12 MiB that the page has.
    expect(Math.max(...held)).toBeLessThan(10);
    expect(transport.stats().retries).toBe(0);
  });

  it('is no longer expected after a page of orders that cannot be read so', async () => {
    const long = { orders: Array.from({ length: 12 }, (_, at) => order(500_012 - at)) };
    const short = { orders: [{ orderId: 7, orderLineItems: LINES.slice(0, 1) }] };
    const answers = [long, long, { others: [] }, short];
    await using server = await startFaulty((_request, response, nth) =>
      answerJson(response, 200, envelope(200, answers[nth - 1])),
    );
    await using transport = impatient({ bodyBytesMax: MiB });
    const client = v1Of(server.url, transport);
    expect((await client.orders()).isCut).toBe(true);
    expect(await rejection(client.orders())).toMatchObject({ code: 'transport.broken_answer' });
    // The values of a page that is read as one body are whole.
    expect((await client.orders()).raws).toEqual(short.orders);
  });

  it('is the deliveries of one order, and is read to its end', async () => {
    const fulfilledLineItems = LINES.map(({ barcode }) => ({ barcode, fulfilledQuantity: 1 }));
    const deliveries = [71, 72, 73].map((orderDeliveryId) => {
      return { orderDeliveryId, orderId: 7, status: 'accepted', fulfilledLineItems };
    });
    await using server = await startFaulty((_request, response) =>
      answerJson(response, 200, envelope(200, { deliveries })),
    );
    await using transport = impatient({ bodyBytesMax: MiB / 2 });
    const { rows, rejects } = await v1Of(server.url, transport).deliveries(7);
    expect([rows.map((row) => row.orderDeliveryId), rejects]).toEqual([[71, 72, 73], []]);
    expect(rows[2]?.fulfilledLineItems?.length).toBe(LINES.length);
  });

  it('is no list, or breaks off, and is not taken for one', async () => {
    const whole = JSON.stringify(envelope(200, { deliveries: [{ fulfilledLineItems: LINES }] }));
    const bodies = [whole.replace('deliveries', 'others'), whole.slice(0, -20)];
    await using server = await startFaulty((_request, response, nth) =>
      response.end(bodies[Math.floor((nth - 1) / 2)]),
    );
    await using transport = impatient({ bodyBytesMax: MiB / 2 });
    const client = v1Of(server.url, transport);
    for (const _body of bodies) {
      const broken = { code: 'transport.broken_answer' };
      expect(await rejection(client.deliveries(7))).toMatchObject(broken);
    }
  });

  it('is a page of V2 with what it includes, and is asked for with fewer rows', async () => {
    const all = Array.from({ length: 10 }, (_, at) => ({ type: 'style', id: String(at) }));
    const numberIn = (query: URLSearchParams, name: string): number =>
      Number(query.get(`page[${name}]`) ?? 0);
    await using server = await startFaulty(({ url }, response) => {
      const query = new URL(url ?? '', 'http://x').searchParams;
      const [from, limit] = [numberIn(query, 'offset'), numberIn(query, 'limit')];
      const data = all.slice(from, from + limit);
      const included = { brand: { 1: { type: 'brand', id: '1', attributes: {} } } };
      const next = from + limit < all.length ? `?page[offset]=${from + limit}` : null;
      const filler = 'x'.repeat(data.length * 100_000);
      answerJson(response, 200, {
        data,
        included,
        meta: { pageToken: 't', filler },
        links: { next },
      });
    });
    await using transport = impatient({ bodyBytesMax: MiB / 2 });
    const paging = { pageRows: 10, follow: 'token' } as const;
    const pull = createV2Client({ baseUrl: server.url, paging }, transport).collection('style');
    const ids: string[] = [];
    for await (const { rows, doubts } of pull) {
      ids.push(...rows.map(({ id }) => id));
      expect(doubts).toEqual([]);
    }
    expect(ids).toEqual(all.map(({ id }) => id));
    expect(server.seen.length).toBe(3);
  });
});
