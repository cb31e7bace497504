import { describe, expect, it } from 'vitest';
import { isNotFound } from '../../src/client/http/answer.ts';
import { createLoginGate, createSession } from '../../src/client/session.ts';
import { createV1Client, type V1Client } from '../../src/client/v1/client.ts';
import { VARIANT_LIST_DEFAULTS, type VariantPull } from '../../src/client/v1/variants.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { asItCame, unreadIn } from '../../src/lib/reading/as-it-came.ts';
import { createScrubber, Secret } from '../../src/lib/secret.ts';
import { answerJson, envelope, impatient, rejection, startFaulty } from './support.ts';

/** A client of a service that gives one answer to everything, or one that the path decides. */
async function answeredWith(
  answer: unknown,
  use: (client: V1Client, seen: readonly string[], bodies: readonly string[]) => Promise<void>,
  mode: 'stream' | 'pages' = 'stream',
): Promise<void> {
  await using server = await startFaulty((request, response) => {
    if (typeof answer === 'function') answerJson(response, 200, answer(request.url));
    else if (typeof answer === 'string') response.writeHead(200).end(answer);
    else answerJson(response, 200, answer);
  });
  await using transport = impatient();
  const variants = { ...VARIANT_LIST_DEFAULTS, mode, pageRows: 2 };
  const options = {
    baseUrl: server.url,
    variants,
    seasonParameter: 'season',
    idempotencyHeader: 'Idempotency-Key',
  };
  await use(createV1Client(options, { sender: transport }), server.seen, server.bodies);
}

async function pulled(pull: VariantPull): Promise<number> {
  let rows = 0;
  for await (const batch of pull.batches) rows += batch.rowCount;
  return rows;
}

const ORDER = { orderId: 7, status: 'pending', orderLineItems: [{ barcode: 'B', quantity: 1 }] };

describe('V1 answers', () => {
  it('gives the link to the portal, and sends no body for it', async () => {
    const link = { url: 'https://portal/#t=1', expiresAt: '2026-01-01T00:00:00Z' };
    await answeredWith(envelope(200, link), async (client, seen, bodies) => {
      const { value } = await client.webhookPortal();
      expect(value.url.reveal()).toBe(link.url);
      expect(JSON.stringify(value)).toContain('[secret portal link]');
      expect([seen, bodies]).toEqual([['POST /webhook-portal'], ['']]);
    });
  });

  it('keeps members that it does not know', async () => {
    const order = {
      ...ORDER,
      novelty: { a: 1 },
      orderLineItems: [{ barcode: 'B', quantity: 1, x: 2 }],
    };
    await answeredWith(envelope(200, order), async (client) => {
      expect((await client.order(7)).value).toEqual(order);
    });
  });

  it.each([1_767_225_600, { date: '2026-01-01' }, true])(
    'puts nothing aside for members whose form nobody knows: %j',
    async (odd) => {
      const [line] = ORDER.orderLineItems;
      const ids = { orderId: 7, orderDeliveryId: 8, orderRefundId: 9, pendingRefundId: 10 };
      const one = { ...ids, status: 'pending', createdAt: { odd } };
      const shippingAddress = { zip: odd, phone: odd, email: odd, name: odd, city: odd };
      const freight = { parcelShopId: odd, warehouseCode: odd };
      const order = { ...ORDER, createdAt: { odd }, shippingAddress, freight };
      const delivery = { ...one, fulfilledLineItems: [{ ...line, fulfilledQuantity: 1 }] };
      const refund = { ...one, refundedLineItems: [{ ...line, refundedQuantity: 1 }] };
      const pending = { ...one, comment: odd, refundLineItems: [line] };
      const lists = {
        orders: [order],
        deliveries: [delivery],
        refunds: [refund],
        pendingRefunds: [pending],
      };
      await answeredWith(envelope(200, lists), async (client) => {
        expect((await client.orders()).rows).toEqual([order]);
        expect((await client.deliveries(7)).rows).toMatchObject([delivery]);
        expect((await client.refunds(7)).rows).toEqual([refund]);
        expect((await client.pendingRefunds(7)).rows).toEqual([pending]);
      });
    },
  );

  it('takes a whole number for the text that it stands for, and nothing else', async () => {
    const order = (one: unknown) => ({
      ...ORDER,
      ...{ orderNo: one, comment: one, SeasonName: one, freight: { freightType: one } },
      orderLineItems: [{ barcode: 'B', quantity: 1, season: one, delivery: one }],
      shippingAddress: { accountNo: one, company: one },
    });
    const ids = { orderDeliveryId: 8, orderId: 7, status: 'pending', fulfilledLineItems: [] };
    const trackAndTrace = (one: unknown) => ({ trackingNumbers: [one], trackingLinks: [null] });
    const delivery = (one: unknown) => ({
      ...{ ...ids, deliveryNo: one, orderNo: one },
      trackAndTrace: trackAndTrace(one),
    });
    await answeredWith(
      envelope(200, { orders: [order(1001)], deliveries: [delivery(1001)] }),
      async (client) => {
        expect((await client.orders()).rows).toEqual([order('1001')]);
        expect((await client.deliveries(7)).rows).toMatchObject([delivery('1001')]);
      },
    );
    // The last digits of the first are lost; rules ask whether the others are there at all.
    const odd = [
      { shippingAddress: { accountNo: 2 ** 60 } },
      { shippingAddress: { accountNo: { id: 1 } } },
      { SeasonName: { id: 1 } },
      { shippingAddress: { countryCode: ['DK'] } },
      { shippingAddress: 'Road 1' },
    ];
    const orders = odd.map((one) => ({ ...ORDER, ...one }));
    await answeredWith(envelope(200, { orders }), async (client) => {
      const { rows, rejects } = await client.orders();
      expect(rejects).toEqual([]);
      expect(rows.map(unreadIn)).toEqual([
        ['shippingAddress.accountNo'],
        ['shippingAddress.accountNo'],
        ['SeasonName'],
        ['shippingAddress.countryCode'],
        ['shippingAddress'],
      ]);
      const address = rows[0]?.shippingAddress ?? {};
      expect(address).toMatchObject({ accountNo: null });
      expect(asItCame(address)).toEqual({ accountNo: 2 ** 60 });
    });
    // Whatever stands there tells that it has shipped.
    const deliveries = [null, '', { carrier: 'X', no: 7 }, 'A-1'].map((one) => ({
      ...{ ...ids, trackAndTrace: trackAndTrace(one) },
    }));
    await answeredWith(envelope(200, { deliveries }), async (client) => {
      const { rows } = await client.deliveries(7);
      const numbers = rows.map((row) => row.trackAndTrace?.trackingNumbers);
      expect(numbers).toEqual([[], [], ['{"carrier":"X","no":7}'], ['A-1']]);
    });
  });

  it('puts aside only rows of a list whose key cannot be read, with path and reason', async () => {
    const rows = [ORDER, { ...ORDER, orderId: 'seven' }, null, { ...ORDER, orderLineItems: null }];
    await answeredWith(envelope(200, { orders: rows }), async (client) => {
      const listing = await client.orders();
      expect(listing.rows.map(unreadIn)).toEqual([[], ['orderLineItems']]);
      expect(listing.rejects.map(({ raw, path }) => [raw, path])).toEqual([
        [rows[1], 'orderId'],
        [null, ''],
      ]);
    });
  });

  it.each([
    [undefined, ''],
    [null, ''],
    ['none', ''],
    [[['B', 1]], ''],
    [[{ barcode: 'B' }], '.0.quantity'],
    [[{ barcode: 'B', quantity: '1,5', fulfilledQuantity: 1.5, refundedQuantity: '' }], '.0.'],
  ])(
    'knows that it cannot read %j for lines, never none or a quantity of nothing',
    async (...of) => {
      const [lines, path] = of;
      const ids = { orderId: 7, orderDeliveryId: 8, orderRefundId: 9, pendingRefundId: 10 };
      const one = { ...ids, status: 'pending' };
      const lists = {
        orders: [{ ...one, orderLineItems: lines }],
        deliveries: [{ ...one, fulfilledLineItems: lines }],
        refunds: [{ ...one, refundedLineItems: lines }],
        pendingRefunds: [{ ...one, refundLineItems: lines }],
      };
      await answeredWith(envelope(200, lists), async (client) => {
        const orders = await client.orders();
        expect(unreadIn(Object(orders.rows[0])).join()).toContain(`orderLineItems${path}`);
        for (const list of [
          await client.deliveries(7),
          await client.refunds(7),
          await client.pendingRefunds(7),
        ]) {
          expect(list.rejects).toEqual([]);
          expect(unreadIn(Object(list.rows[0]))).toEqual([expect.stringContaining('LineItems')]);
        }
      });
    },
  );

  it.each([
    ['a failure inside a 200', envelope(500, {})],
    ['words', '"maintenance"'],
    ['a failure without a status', { success: false, data: [] }],
    ['a failure in a word', { status: 'error', message: 'no database', data: {} }],
    ['no list', envelope(200, {})],
    ['null for the list', envelope(200, { orders: null, variants: null, count: 2 })],
    ['HTML with a 200', '<html>maintenance</html>'],
    ['nothing', ''],
  ])('takes %s for a failed read, never for an empty list', async (_name, answer) => {
    for (const mode of ['stream', 'pages'] as const) {
      await answeredWith(
        answer,
        async (client) => {
          expect(await rejection(client.orders())).toMatchObject({ name: 'RetryLaterError' });
          expect(await rejection(pulled(client.stock({})))).toMatchObject({
            name: 'RetryLaterError',
          });
        },
        mode,
      );
    }
  });

  it.each([
    ['a failure inside a 200', envelope(500, {})],
    ['no envelope', {}],
    ['no order id', envelope(201, { orderStatus: 'pending' })],
    ['nothing', ''],
  ])('is in doubt about a new order after %s', async (_name, answer) => {
    await answeredWith(answer, async (client, seen) => {
      const error = await rejection(client.createOrder({ reference: 'R' }));
      expect(error).toMatchObject({ name: 'InDoubtError' });
      expect(seen).toHaveLength(1);
    });
  });

  it.each([
    [503, 'InDoubtError'],
    [429, 'RetryLaterError'],
    [422, 'RefusedError'],
    [401, 'LoginAgainError'],
  ])('takes %i with a list of errors to a new order for %s', async (status, name) => {
    await using server = await startFaulty((_, response) =>
      answerJson(response, status, { errors: [{ status: String(status), detail: 'upstream' }] }),
    );
    await using transport = impatient();
    const options = { variants: VARIANT_LIST_DEFAULTS, seasonParameter: 's' };
    const client = createV1Client(
      { ...options, baseUrl: server.url, idempotencyHeader: undefined },
      { sender: transport },
    );
    const error = await rejection(client.createOrder({ reference: 'R' }));
    expect(error).toMatchObject({ name });
    expect(server.seen).toHaveLength(1);
  });

  it.each([404, 410])(
    'believes after a %i with a list of errors, which is not V1’s own, in no order that is gone',
    async (status) => {
      await using server = await startFaulty((_, response) =>
        answerJson(response, status, { errors: [{ status: String(status), detail: 'no route' }] }),
      );
      await using transport = impatient();
      const options = { variants: VARIANT_LIST_DEFAULTS, seasonParameter: 's' };
      const client = createV1Client(
        { ...options, baseUrl: server.url, idempotencyHeader: undefined },
        { sender: transport },
      );
      expect(isNotFound(await rejection(client.order(7)))).toBe(false);
      expect(isNotFound(await rejection(client.refunds(7)))).toBe(false);
    },
  );

  it('believes in a new order although the rest of the answer is odd', async () => {
    const odd = { orderId: 9, salesOrder: { orderId: 'x' }, deliveries: [{ a: 1 }] };
    await answeredWith(envelope(201, odd), async (client) => {
      const { value } = await client.createOrder({ reference: 'R' }, { idempotencyKey: 'k' });
      expect(value).toMatchObject({ orderId: 9, deliveries: [] });
    });
  });

  it('ends when pages repeat for ever, at the count of the service', async () => {
    const page = envelope(200, { count: 7, variants: [{ barcode: 'A', quantity: 1 }, 1] });
    await answeredWith(
      page,
      async (client, seen) => {
        const pull = client.stock({});
        expect(await pulled(pull)).toBe(8);
        // More rows than are counted came, so that one page more is asked for.
        expect(seen).toHaveLength(5);
        expect(pull.end()).toMatchObject({ count: 7, rows: 8 });
      },
      'pages',
    );
  });

  it('looks behind a full page whose count may be its own', async () => {
    const rows = [1, 2, 3, 4, 5].map((n) => ({ barcode: `${n}`, quantity: n }));
    const pageOf = (url: string) => {
      const at = (Number(new URL(url, 'http://x').searchParams.get('page')) - 1) * 2;
      const variants = rows.slice(at, at + 2);
      return envelope(200, { count: variants.length, variants });
    };
    await answeredWith(
      pageOf,
      async (client) => {
        const pull = client.stock({});
        expect(await pulled(pull)).toBe(5);
        // Not counts of the list, which its short page proves.
        const proved = { countFirst: undefined, count: undefined, rows: 5, doubts: [] };
        expect(pull.end()).toMatchObject(proved);
      },
      'pages',
    );
  });

  it.each([{ count: 2 }, {}])('ends when a full page comes again, told %o', async (told) => {
    const variants = [1, 2].map((n) => ({ barcode: `${n}`, quantity: n }));
    await answeredWith(
      envelope(200, { ...told, variants }),
      async (client) => {
        const pull = client.stock({});
        expect(await pulled(pull)).toBe(2);
        expect(pull.end()).toMatchObject({ ...told, rows: 2 });
      },
      'pages',
    );
  });

  it('takes a service that does not know pages for one page', async () => {
    const rows = [1, 2, 3, 4, 5];
    await answeredWith(
      envelope(200, { count: 5, variants: rows }),
      async (client, seen) => {
        const pull = client.stock({});
        expect(await pulled(pull)).toBe(5);
        // It looks before the first page and behind the last, once for all.
        expect(seen).toHaveLength(3);
        expect(pull.end()).toMatchObject({ count: 5, rows: 5, doubts: [] });
      },
      'pages',
    );
  });

  it('takes a count that is written as text for what it says', async () => {
    const rows = [{ barcode: 'A', quantity: 1, brandName: 'A' }];
    const answer = envelope(200, { count: '5', variants: rows, brands: rows });
    await answeredWith(answer, async (client) => {
      const pull = client.stock({});
      await pulled(pull);
      expect(pull.end()).toMatchObject({ count: 5, rows: 1 });
      expect(await client.shortList('brands')).toMatchObject({
        count: 5,
        rows: [{ brandName: 'A' }],
      });
    });
  });

  it('counts short pages', async () => {
    const pageOf = (url: string) => {
      const isFirst = url.includes('page=1&');
      return envelope(200, { count: 5, variants: isFirst ? [1, 2] : [1] });
    };
    await answeredWith(
      pageOf,
      async (client) => {
        const pull = client.stock({});
        await pulled(pull);
        expect(pull.end()).toMatchObject({ count: 5, rows: 5, shortPages: 1 });
      },
      'pages',
    );
  });
});

describe('an answer that repeats a secret', () => {
  const TOKEN = 'session-token-0123456789abcdef';
  const HEADER = `x-service-authorization: ${TOKEN}`;
  const SPELLED = String.raw`\u002d`;

  it.each<[string, number, unknown]>([
    ['in its message', 403, envelope(403, {}, `${'no '.repeat(318)}${HEADER}`)],
    ['in its lines', 422, { ...envelope(422, {}), invalid_data: [HEADER, { sent: HEADER }] }],
    ['under a 2xx', 200, envelope(403, {}, HEADER)],
    ['as a token that it refuses', 401, envelope(401, {}, HEADER)],
    ['as a token that it refuses under a 2xx', 200, envelope(401, {}, HEADER)],
    ['on the page of a proxy, where it is cut', 403, `<p>${'.'.repeat(150)}${HEADER}</p>`],
    ['in what is no JSON', 200, TOKEN],
    ['in JSON that spells it otherwise', 403, `{"sent":"${TOKEN.replaceAll('-', SPELLED)}"}`],
  ])('does not get it into an error: %s', async (_, status, body) => {
    await using server = await startFaulty((request, response) => {
      if (request.url === '/auth/login') answerJson(response, 200, envelope(200, { token: TOKEN }));
      else if (typeof body === 'string') response.writeHead(status).end(body);
      else answerJson(response, status, body);
    });
    const scrubber = createScrubber();
    const clock = systemClock();
    await using transport = impatient({ retryWaitsMs: [] }, clock, scrubber);
    const spacing = { lastLoginAt: () => undefined, recordLogin: () => undefined };
    const gate = createLoginGate(clock, spacing, 0);
    const credential = {
      kind: 'login',
      ...{ url: `${server.url}/auth/login`, header: 'x-service-authorization' },
      ...{ idMember: 'clientId', secretMember: 'clientSecret', tokenPointers: ['/data/token'] },
      ...{ clientId: 'erp', clientSecret: new Secret('client secret', 'open sesame') },
    } as const;
    const sender = createSession(credential, { transport, clock, scrubber, gate });
    const options = { seasonParameter: 'season', idempotencyHeader: undefined };
    const variants = VARIANT_LIST_DEFAULTS;
    const client = createV1Client({ ...options, baseUrl: server.url, variants }, { sender });
    const errors = [await rejection(client.order(7)), await rejection(pulled(client.stock({})))];
    for (const error of errors) {
      const told = [String(error), JSON.stringify(error)].join().replaceAll(SPELLED, '-');
      // The beginning of the token shows that it was cut off.
      expect(told).not.toContain(TOKEN.slice(0, 15));
      if (status !== 200) expect(String(error)).toMatch(/\[secret token\]|HTTP 4/);
    }
  });
});
