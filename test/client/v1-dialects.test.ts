/** Envelopes, lists and errors as accounts may write them. */
import { describe, expect, it } from 'vitest';
import { isNotFound } from '../../src/client/http/answer.ts';
import { createV1Client, type V1Client } from '../../src/client/v1/client.ts';
import { VARIANT_LIST_DEFAULTS, type VariantListOptions } from '../../src/client/v1/variants.ts';
import { answerJson, envelope, impatient, rejection, startFaulty } from './support.ts';
import { readAll } from './v1-support.ts';

interface Given {
  readonly status?: number;
  /** JSON; text as it is. */
  readonly body: unknown;
}

const VARIANTS = [1, 2, 3, 4, 5].map((n) => ({ barcode: `b${n}`, quantity: n }));

interface Asked {
  readonly client: V1Client;
  readonly seen: readonly string[];
  readonly dialects: () => readonly string[];
}

/** A client of a service that answers by the path. */
async function answering(
  answerTo: (path: string) => Given,
  use: (asked: Asked) => Promise<void>,
  variants: Partial<VariantListOptions> = {},
): Promise<void> {
  await using server = await startFaulty((request, response) => {
    const { status = 200, body } = answerTo(`${request.method} ${request.url}`);
    if (typeof body === 'string') response.writeHead(status).end(body);
    else answerJson(response, status, body);
  });
  await using transport = impatient();
  const client = createV1Client(
    {
      baseUrl: server.url,
      variants: { ...VARIANT_LIST_DEFAULTS, ...variants },
      seasonParameter: 'season',
      idempotencyHeader: undefined,
    },
    { sender: transport },
  );
  const dialects = () => Object.keys(transport.stats().dialects);
  await use({ client, seen: server.seen, dialects });
}

const ORDER = { orderId: 7, status: 'pending', orderLineItems: [{ barcode: 'B', quantity: 1 }] };
const BRANDS = [{ brandName: 'A' }, { brandName: 'B' }];

describe('one variant', () => {
  it.each<[string, unknown, readonly string[]]>([
    ['below its name', envelope(200, { variant: VARIANTS[1] }), []],
    ['in its place', envelope(200, VARIANTS[1]), ['data={} (variant)']],
  ])('is read %s', async (_where, body, noted) => {
    await answering(
      () => ({ body }),
      async ({ client, dialects }) => {
        const { value } = await client.stockVariant('b2', {});
        expect(value).toMatchObject({ barcode: 'b2', quantity: 2 });
        const season = await client.seasonVariant('SS27', 'b2', {});
        expect(season.value.quantity).toBe(2);
        expect(dialects()).toEqual(noted);
      },
    );
  });
});

describe('an envelope', () => {
  it.each<[string, unknown, readonly string[]]>([
    ['of the contract', envelope(200, { brands: BRANDS }), []],
    [
      'with its status as text',
      { status: '200', message: 'OK', data: { brands: BRANDS } },
      ['envelope.status=text'],
    ],
    [
      'with a word for it',
      { status: 'success', data: { brands: BRANDS } },
      ['envelope.status=text'],
    ],
    ['without a status', { data: { brands: BRANDS } }, ['envelope.status=none']],
    ['that is not there', { count: 2, brands: BRANDS }, ['envelope=none']],
    [
      'whose data stands beside its status',
      { status: 200, message: 'OK', brands: BRANDS },
      ['envelope.data=none'],
    ],
    ['around the list itself', envelope(200, BRANDS), ['data=[] (brands)']],
    ['that is not there, nor the name of the list', BRANDS, ['envelope=none', 'data=[] (brands)']],
    [
      'with the list by number',
      envelope(200, { brands: { 0: BRANDS[0], 1: BRANDS[1] } }),
      ['brands={"0": …}'],
    ],
    [
      'with the data by number',
      envelope(200, { 0: BRANDS[0], 7: BRANDS[1] }),
      ['data (brands)={"0": …}'],
    ],
  ])('%s is read', async (_name, body, noted) => {
    await answering(
      () => ({ body }),
      async ({ client, dialects }) => {
        expect((await client.shortList('brands')).rows).toEqual(BRANDS);
        expect(dialects()).toEqual(noted);
      },
    );
  });

  it('is not taken for what a single thing says of itself', async () => {
    for (const body of [ORDER, { data: ORDER }, { status: '200', message: '', data: ORDER }]) {
      await answering(
        () => ({ body }),
        async ({ client }) => expect((await client.order(7)).value).toEqual(ORDER),
      );
    }
  });

  it.each([
    { success: false, brands: BRANDS },
    { status: 'error', message: 'no database', data: { brands: BRANDS } },
    { error: 'no database', data: { brands: [] } },
    { errors: { database: ['is away'] }, data: { brands: [] } },
    { status: '500', message: 'no database', data: [] },
    { status: 0, message: 'no database', data: { brands: [] } },
  ])('that tells of a failure has no data: %j', async (body) => {
    await answering(
      () => ({ body }),
      async ({ client }) => {
        expect(await rejection(client.shortList('brands'))).toMatchObject({
          name: 'RetryLaterError',
        });
        const made = await rejection(client.createOrder({ reference: 'R' }));
        expect(made).toMatchObject({ name: 'InDoubtError' });
      },
    );
  });
});

describe('a list without rows', () => {
  it.each<[string, Given]>([
    ['{}', { body: envelope(200, { brands: {} }) }],
    ['[] for the data', { body: envelope(200, []) }],
    ['null', { body: envelope(200, { count: 0, brands: null }) }],
    ['null for the data', { body: envelope(200, null) }],
    ['absent, and counted as none', { body: envelope(200, { count: '0' }) }],
    ['204', { status: 204, body: '' }],
  ])('may be %s', async (_name, given) => {
    await answering(
      () => given,
      async ({ client, dialects }) => {
        expect(await client.shortList('brands')).toMatchObject({ rows: [], rejects: [] });
        expect(dialects()).toHaveLength(1);
      },
    );
  });

  it.each<[string, Given]>([
    ['null that is counted', { body: envelope(200, { count: 2, brands: null }) }],
    ['nothing that says what it is', { body: envelope(200, {}) }],
    ['another list', { body: envelope(200, { items: [] }) }],
    ['words', { body: envelope(200, 'none') }],
    ['a body that never came', { body: '' }],
    ['404', { status: 404, body: envelope(404, {}) }],
  ])('is not %s', async (_name, given) => {
    await answering(
      () => given,
      async ({ client }) => {
        const { name } = Object(await rejection(client.shortList('brands')));
        expect(name).toBe(given.status === 404 ? 'RefusedError' : 'RetryLaterError');
      },
    );
  });
});

type Below = 'deliveries' | 'refunds' | 'pendingRefunds';
const BELOW: readonly Below[] = ['deliveries', 'refunds', 'pendingRefunds'];

describe('a list below an order', () => {
  it.each<[string, Given]>([
    ['404', { status: 404, body: envelope(404, {}, 'no refunds found') }],
    ['404 without an envelope', { status: 404, body: { message: 'Not found.' } }],
    ['204', { status: 204, body: '' }],
    ['null', { body: envelope(200, { deliveries: null, refunds: null, pendingRefunds: null }) }],
    ['null for the data', { body: envelope(200, null) }],
    ['absent', { body: envelope(200, {}) }],
    ['absent, and counted as none', { body: envelope(200, { count: 0 }) }],
    ['a success and nothing else', { body: { status: 200, message: 'OK' } }],
  ])('is without rows where the order is there: %s', async (_name, given) => {
    await answering(
      (path) => (path === 'GET /orders/7' ? { body: envelope(200, ORDER) } : given),
      async ({ client, seen, dialects }) => {
        for (const name of BELOW) expect(await client[name](7)).toMatchObject({ rows: [] });
        expect(dialects().length).toBeGreaterThan(0);
        // Only 404 leaves open whether it is the order that is not there.
        const asked = seen.filter((path) => path === 'GET /orders/7');
        expect(asked).toHaveLength(given.status === 404 ? 3 : 0);
      },
    );
  });

  it('is not there where its order is not', async () => {
    await answering(
      () => ({ status: 404, body: envelope(404, {}, 'no such order') }),
      async ({ client }) => {
        for (const name of BELOW) expect(isNotFound(await rejection(client[name](7)))).toBe(true);
      },
    );
  });

  it.each<[string, Given]>([
    ['an order that cannot be asked', { status: 503, body: envelope(503, {}) }],
    ['another order', { body: envelope(200, { ...ORDER, orderId: 8 }) }],
  ])('is not known to be without rows beside %s', async (_name, order) => {
    const none = { status: 404, body: envelope(404, {}) };
    await answering(
      (path) => (path === 'GET /orders/7' ? order : none),
      async ({ client }) => {
        for (const name of BELOW) {
          expect(await rejection(client[name](7))).toMatchObject({ name: 'RetryLaterError' });
        }
      },
    );
  });

  it.each<[string, Given]>([
    ['a page', { status: 404, body: '<html>no such page</html>' }],
    ['another list', { body: envelope(200, { items: [{ orderRefundId: 1 }] }) }],
    ['null that is counted', { body: envelope(200, { count: 1, refunds: null }) }],
  ])('is not without rows after %s', async (_name, given) => {
    await answering(
      (path) => (path === 'GET /orders/7' ? { body: envelope(200, ORDER) } : given),
      async ({ client }) => {
        const { name } = Object(await rejection(client.refunds(7)));
        expect(['RetryLaterError', 'RefusedError']).toContain(name);
      },
    );
  });

  it('takes the word of its caller that the order is there', async () => {
    await answering(
      () => ({ status: 404, body: envelope(404, {}) }),
      async ({ client, seen }) => {
        const order = Promise.resolve({ value: ORDER, startedAt: 5 });
        expect(await client.refunds(7, { order })).toMatchObject({ rows: [], startedAt: 5 });
        expect(seen).toEqual(['GET /orders/7/refunds']);
      },
    );
  });
});

describe('the end of the list of orders', () => {
  it('may be a 404, though the list itself may not', async () => {
    const none = { status: 404, body: envelope(404, {}, 'no orders') };
    const some = { body: envelope(200, { orders: [ORDER] }) };
    await answering(
      (path) => (path.includes('beforeOrderId') ? none : some),
      async ({ client }) => {
        expect(await client.orders(7)).toMatchObject({ rows: [], raws: [] });
        expect((await client.orders()).rows).toHaveLength(1);
      },
    );
    await answering(
      () => none,
      async ({ client }) => {
        expect(isNotFound(await rejection(client.orders(7)))).toBe(true);
        expect(isNotFound(await rejection(client.orders()))).toBe(true);
      },
    );
  });
});

describe('the answer to a write', () => {
  it.each<[string, Given]>([
    ['of the contract', { status: 201, body: envelope(201, { orderId: 9 }) }],
    ['with text for numbers', { body: { status: '200', message: 'OK', data: { orderId: '9' } } }],
    ['without an envelope', { status: 201, body: { orderId: 9, orderStatus: 'pending' } }],
    ['with the order alone', { body: envelope(200, { ...ORDER, orderId: 9 }) }],
    ['with its data beside the status', { body: { status: 200, message: 'OK', orderId: 9 } }],
    ['with odd members', { body: envelope(200, { orderId: 9, orderStatus: 4, salesOrder: [] }) }],
  ])('that is clear is believed: a new order %s', async (_name, given) => {
    await answering(
      () => given,
      async ({ client }) => {
        const { value } = await client.createOrder({ reference: 'R' });
        expect(value).toMatchObject({ orderId: 9, deliveries: [] });
      },
    );
  });

  it.each<[string, Given, string]>([
    ['204', { status: 204, body: '' }, 'accepted'],
    ['a success and nothing else', { body: { status: '200', message: 'OK' } }, 'accepted'],
    ['a success with an empty list', { body: envelope(200, []) }, 'accepted'],
    ['the status alone', { body: { status: 'accepted' } }, 'accepted'],
    ['another status', { body: envelope(200, { status: 'rejected' }) }, 'rejected'],
    [
      'rows that are odd',
      { body: envelope(200, { orderDeliveryId: 'x', status: 'accepted' }) },
      'accepted',
    ],
  ])('that is clear is believed: a status, after %s', async (_name, given, status) => {
    await answering(
      () => given,
      async ({ client }) => {
        const delivery = await client.setDeliveryStatus(7, 8, 'accepted');
        expect(delivery.value).toEqual({ status });
        expect((await client.setRefundStatus(7, 8, 'accepted')).value).toEqual({ status });
      },
    );
  });

  const shown = { orderDeliveryId: 8, orderId: 7, status: 'accepted', fulfilledLineItems: [] };
  it.each<[string, object | undefined, unknown]>([
    ['the delivery in the status that was set', shown, shown],
    ['another delivery', undefined, { ...shown, orderDeliveryId: 9 }],
    ['a delivery of another order', undefined, { ...shown, orderId: 6 }],
    ['another status', undefined, { ...shown, status: 'pending' }],
    ['no lines', undefined, { ...shown, fulfilledLineItems: undefined }],
    ['nothing', undefined, null],
  ])('of a status shows %s', async (_name, delivery, data) => {
    await answering(
      () => ({ body: envelope(200, data) }),
      async ({ client }) => {
        const { value } = await client.setDeliveryStatus(7, 8, 'accepted');
        if (delivery) expect(value.delivery).toMatchObject(delivery);
        else expect(value.delivery).toBeUndefined();
      },
    );
  });

  it.each<[string, Given]>([
    ['nothing', { body: '' }],
    ['a page', { body: '<html>maintenance</html>' }],
    ['JSON of somebody else', { body: { ok: true } }],
    ['an empty object', { body: {} }],
    ['a failure', { body: { success: false } }],
  ])('that is not clear leaves the outcome unknown: %s', async (_name, given) => {
    await answering(
      () => given,
      async ({ client, seen }) => {
        const inDoubt = { name: 'InDoubtError' };
        expect(await rejection(client.createOrder({}))).toMatchObject(inDoubt);
        expect(await rejection(client.createPendingRefund(7, {}))).toMatchObject(inDoubt);
        expect(await rejection(client.setDeliveryStatus(7, 8, 'accepted'))).toMatchObject(inDoubt);
        expect(seen).toHaveLength(3);
      },
    );
  });

  it('knows a pending refund by its number alone', async () => {
    const body = { status: 200, message: 'OK', data: { pendingRefundId: '31', status: null } };
    await answering(
      () => ({ body }),
      async ({ client }) => {
        const { value } = await client.createPendingRefund(7, {});
        expect(value.pendingRefundId).toBe(31);
      },
    );
  });
});

describe('a refusal', () => {
  const SAID = 'brandName: is required';
  it.each<[string, unknown]>([
    ['in the form of the contract', { status: 422, message: 'invalid', invalid_data: [SAID] }],
    [
      'by member',
      { status: '422', message: 'invalid', invalid_data: { brandName: ['is required'] } },
    ],
    ['as Laravel has it', { message: 'invalid', errors: { brandName: ['is required'] } }],
    ['as a list', { errors: [{ detail: 'is required', source: { parameter: 'brandName' } }] }],
    ['in a message', { message: SAID }],
    ['in an error', { error: SAID }],
    ['in an error with a message', { error: { code: 7, message: SAID } }],
    ['in plain words', `${SAID}\n`],
    ['in a text of JSON', JSON.stringify(SAID)],
  ])('says why, in what it throws: %s', async (_name, body) => {
    await answering(
      () => ({ status: 422, body }),
      async ({ client, seen }) => {
        const refused = {
          ...{ name: 'RefusedError', code: 'service.invalid' },
          message: expect.stringContaining(SAID),
        };
        expect(await rejection(client.shortList('brands'))).toMatchObject(refused);
        expect(await rejection(client.createOrder({ reference: 'R' }))).toMatchObject(refused);
        expect(seen).toHaveLength(2);
      },
    );
  });

  it.each<[number, unknown, string]>([
    [400, 'no such season', 'RefusedError'],
    [400, '<html>Bad Request</html>', 'InDoubtError'],
    [401, { message: 'Unauthenticated.' }, 'LoginAgainError'],
    [401, '<html>Authorization Required</html>', 'InDoubtError'],
    [403, { message: 'Forbidden' }, 'RefusedError'],
    [404, { message: 'no Route matched' }, 'InDoubtError'],
    [409, { message: 'Conflict' }, 'InDoubtError'],
    [422, '<html>Unprocessable</html>', 'InDoubtError'],
    [422, '', 'InDoubtError'],
    [429, '<html>slow down</html>', 'RetryLaterError'],
    [503, '<html>Backend fetch failed</html>', 'InDoubtError'],
  ])('of a write with %i and %j counts for what it proves', async (status, body, name) => {
    await answering(
      () => ({ status, body }),
      async ({ client }) => {
        expect(await rejection(client.createOrder({ reference: 'R' }))).toMatchObject({ name });
      },
    );
  });
});

describe.each(['stream', 'pages'] as const)('the list of variants, read as %s', (mode) => {
  const options = { mode, pageRows: 2, batchRows: 4, chunkRows: 2 };
  const pageOf = (path: string): readonly (typeof VARIANTS)[number][] => {
    const { searchParams } = new URL(path.slice(4), 'http://x');
    const [page, limit] = ['page', 'limit'].map((name) => Number(searchParams.get(name)));
    return limit ? VARIANTS.slice(((page ?? 1) - 1) * limit, (page ?? 1) * limit) : VARIANTS;
  };
  const count = VARIANTS.length;

  it.each<[string, (rows: readonly object[]) => unknown, readonly string[]]>([
    ['without an envelope', (variants) => ({ count, variants }), ['envelope=none']],
    [
      'with text for a status',
      (variants) => ({ status: '200', data: { count, variants } }),
      ['envelope.status=text'],
    ],
    [
      'beside its status',
      (variants) => ({ status: 200, message: '', count, variants }),
      ['envelope.data=none'],
    ],
    ['by number', (rows) => envelope(200, { count, variants: { ...rows } }), ['variants={"0": …}']],
    [
      'by number, and counted as text',
      (rows) => ({ variants: { ...rows }, count: '5' }),
      ['envelope=none', 'variants={"0": …}'],
    ],
  ])('is read %s', async (_name, bodyOf, noted) => {
    await answering(
      (path) => ({ body: bodyOf(pageOf(path)) }),
      async ({ client, dialects }) => {
        const pull = await readAll(client.stock({}));
        expect(pull.variants).toEqual(VARIANTS);
        expect(pull.end).toMatchObject({ status: 200, rows: 5, count: 5, shortPages: 0 });
        expect(dialects()).toEqual(noted);
      },
      options,
    );
  });

  it.each<[string, (rows: readonly object[]) => unknown]>([
    ['in the place of the data', (rows) => envelope(200, rows)],
    ['alone', (rows) => rows],
    ['by number in the place of the data', (rows) => envelope(200, { ...rows })],
    ['by number alone', (rows) => ({ ...rows })],
  ])('is read %s, without a count', async (_name, bodyOf) => {
    await answering(
      (path) => ({ body: bodyOf(pageOf(path)) }),
      async ({ client }) => {
        const pull = await readAll(client.stock({}));
        expect(pull.variants).toEqual(VARIANTS);
        expect(pull.end).toMatchObject({ status: 200, rows: 5, count: undefined });
      },
      options,
    );
  });

  it.each<[string, Given]>([
    ['{}', { body: envelope(200, { count: 0, variants: {} }) }],
    ['null', { body: envelope(200, { variants: null }) }],
    ['null for the data', { body: envelope(200, null) }],
    ['[] for the data', { body: envelope(200, []) }],
    ['absent, and counted as none', { body: envelope(200, { count: 0 }) }],
    ['204', { status: 204, body: '' }],
  ])('has no rows after %s', async (_name, given) => {
    await answering(
      () => given,
      async ({ client }) => {
        const pull = await readAll(client.stock({}));
        expect(pull).toMatchObject({ variants: [], end: { rows: 0 } });
      },
      options,
    );
  });

  it.each<[string, unknown]>([
    ['a body that never came', ''],
    ['an object that says nothing', envelope(200, {})],
    ['null that is counted', envelope(200, { count: 7, variants: null })],
    ['a failure without a status', { success: false, data: { variants: [] } }],
    ['a failure in a word', { status: 'error', variants: { 0: VARIANTS[0] } }],
    ['a page', '<html>maintenance</html>'],
  ])('is broken after %s', async (_name, body) => {
    await answering(
      () => ({ body }),
      async ({ client }) => {
        const error = await rejection(readAll(client.stock({})));
        expect(error).toMatchObject({ name: 'RetryLaterError' });
      },
      options,
    );
  });
});
