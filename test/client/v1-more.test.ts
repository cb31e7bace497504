import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createSession } from '../../src/client/session.ts';
import type { Transport } from '../../src/client/transport.ts';
import { createV1Client, type V1Client } from '../../src/client/v1/client.ts';
import { orderBody } from '../../src/client/v1/order-body.ts';
import { pendingRefundBody } from '../../src/client/v1/refunds.ts';
import { VARIANT_LIST_DEFAULTS } from '../../src/client/v1/variants.ts';
import { missingAtLevel } from '../../src/config/level.ts';
import { manualClock, systemClock } from '../../src/lib/clock.ts';
import { createScrubber, Secret } from '../../src/lib/secret.ts';
import { type Rig, startRig } from '../reference/support.ts';
import { answerJson, envelope, impatient, rejection, startFaulty } from './support.ts';
import { readAll, v1Client } from './v1-support.ts';

describe('V1, seasons and refunds', () => {
  let rig: Rig;
  let transport: Transport;
  let client: V1Client;

  beforeEach(async () => {
    rig = await startRig({ auth: { loginSpacing: '0s' }, strict: true });
    transport = impatient();
    client = v1Client(rig, transport, { mode: 'stream' });
  });
  afterEach(async () => {
    await transport[Symbol.asyncDispose]();
    await rig.reference.close();
  });

  /** An order of one line, packed, accepted and shipped. */
  const shipped = async (reference: string): Promise<{ orderId: number; barcode: string }> => {
    const { variants } = await readAll(client.stock({}));
    const barcode = variants.find(({ quantity }) => (quantity ?? 0) > 1)?.barcode ?? '';
    const lines = [{ barcode, quantity: 1, priceUnits: 10_0000 }];
    const body = orderBody({ reference, lines }, 'freight');
    const { orderId } = (await client.createOrder(body)).value;
    await rig.clock.advance(60_000);
    for (const { orderDeliveryId } of (await client.deliveries(orderId)).rows) {
      await client.setDeliveryStatus(orderId, orderDeliveryId, 'accepted');
    }
    await rig.clock.advance(60_000);
    return { orderId, barcode };
  };

  it('lists freight and seasons with their deliveries', async () => {
    const freight = await client.shortList('freight');
    expect(freight.rows.length).toBeGreaterThan(0);
    const seasons = await client.shortList('seasons');
    expect(seasons.rows[0]?.deliveryNames?.length).toBeGreaterThan(0);
    expect(seasons.rejects).toEqual([]);
  });

  it('reads the variants of a season', async () => {
    const { rows } = await client.shortList('seasons');
    const season = rows.at(-1)?.seasonName ?? '';
    for (const mode of ['stream', 'pages'] as const) {
      const own = v1Client(rig, transport, { mode, pageRows: 50 });
      const { variants, end } = await readAll(own.seasonVariants(season, { detailed: true }));
      expect(variants.length).toBe(end.count);
      expect(variants[0]?.seasonName).toBe(season);
    }
    const error = await rejection(readAll(client.seasonVariants('no such season', {})));
    expect(error).toMatchObject({ name: 'RefusedError', code: 'service.not_found' });
  });

  it('orders for a season: freight in the spelling that is set', async () => {
    const { rows } = await client.shortList('seasons');
    const season = rows.at(-1);
    const { variants } = await readAll(client.seasonVariants(season?.seasonName ?? '', {}));
    const line = { barcode: variants[0]?.barcode ?? '', quantity: 2, priceUnits: 50_0000 };
    const order = {
      reference: 'PRE-1',
      seasonName: season?.seasonName,
      lines: [{ ...line, deliveryName: season?.deliveryNames?.[0] }],
      freight: { freightAmountUnits: 4_9500 },
    };
    const body = orderBody(order, 'freight');
    expect(body).toMatchObject({
      SeasonName: season?.seasonName,
      orderLineItems: [{ DeliveryName: season?.deliveryNames?.[0] }],
      freight: { freightAmount: 4.95 },
    });
    const { orderId } = (await client.createOrder(body)).value;
    expect((await client.order(orderId)).value.orderLineItems?.[0]).toMatchObject({ price: 50 });
    const other = orderBody(order, 'Freight');
    expect(other).toMatchObject({ Freight: { freightAmount: 4.95 } });
  });

  it('asks for a refund and follows it until it is one', async () => {
    const { orderId, barcode } = await shipped('ERP-9');
    const body = pendingRefundBody({
      reference: 'REF-1',
      lines: [{ barcode, quantity: 1, priceUnits: 10_0000, refundType: 'claim/credit' }],
    });
    const { value: pending } = await client.createPendingRefund(orderId, body);
    expect(pending).toMatchObject({ reference: 'REF-1', status: 'pending' });
    expect((await client.pendingRefunds(orderId)).rows).toEqual([pending]);
    const { pendingRefundId } = pending;
    expect((await client.pendingRefund(orderId, pendingRefundId)).value).toEqual(pending);
    await rig.clock.advance(60_000);
    const [refund] = (await client.refunds(orderId)).rows;
    expect(refund).toMatchObject({ pendingRefundId, status: 'pending' });
    const id = refund?.orderRefundId ?? 0;
    expect((await client.refund(orderId, id)).value).toEqual(refund);
    const accepted = await client.setRefundStatus(orderId, id, 'accepted');
    expect(accepted.value.status).toBe('accepted');
  });

  it('reads the catalog with a read-only key where there is one', async () => {
    const readToken = rig.reference.credentials.readOnly?.readToken ?? '';
    const credential = {
      kind: 'key',
      header: 'X-Service-ReadToken',
      key: new Secret('read token', readToken),
    } as const;
    const gate = { pass: async () => undefined, hold: () => undefined };
    const deps = { transport, clock: systemClock(), scrubber: createScrubber(), gate };
    const catalogSender = createSession(credential, deps);
    const options = {
      baseUrl: rig.reference.v1Url,
      variants: VARIANT_LIST_DEFAULTS,
      seasonParameter: 'seasonName',
      idempotencyHeader: undefined,
    };
    // The other side of the client has no credential at all.
    const reader = createV1Client(options, { sender: transport, catalogSender });
    expect((await reader.shortList('brands')).rows.length).toBe(3);
    expect((await readAll(reader.stock({}))).end.rows).toBeGreaterThan(0);
    expect(await rejection(reader.orders())).toMatchObject({ code: 'service.unauthorized' });
  });

  it('knows what an older level of the service does not have', () => {
    expect(missingAtLevel('1.4.14')).toEqual([]);
    const since = (level: string) => missingAtLevel(level).map((feature) => feature.since);
    expect(since('1.4.4')).toEqual(['1.4.9', '1.4.11', '1.4.12', '1.4.14']);
    expect(since('1.2.6')).toHaveLength(16);
    expect(missingAtLevel('2.0.0')).toEqual([]);
  });
});

describe('a list of variants', () => {
  const optionsOf = (baseUrl: string, mode: 'stream' | 'pages') => ({
    ...{ baseUrl, seasonParameter: 'seasonName', idempotencyHeader: undefined },
    variants: { ...VARIANT_LIST_DEFAULTS, mode, pageRows: 1, batchRows: 1, streamMsMax: 90_000 },
  });

  it('may take longer as a stream than any other answer', async () => {
    await using server = await startFaulty((_request, response) => {
      response.writeHead(200).write('{"status":200,"data":{"variants":[');
    });
    const clock = manualClock();
    const ms = 3_600_000;
    const deadlines = { connectMs: ms, firstByteMs: ms, idleMs: ms, totalMs: 60_000 };
    await using transport = impatient({ deadlines, retryWaitsMs: [] }, clock);
    const client = createV1Client(optionsOf(server.url, 'stream'), { sender: transport });
    const pull = rejection(readAll(client.stock({})));
    await expect.poll(() => transport.stats().bytesReceived).toBeGreaterThan(0);
    await clock.advance(60_000);
    expect(transport.limiter.active()).toBe(1);
    await clock.advance(30_000);
    expect(await pull).toMatchObject({ code: 'transport.total_timeout' });
  });

  it('is asked for no further when it is called off, or nobody reads on', async () => {
    const variants = [{ barcode: 'A', quantity: 1 }];
    await using server = await startFaulty((request, response) => {
      // Only two pages come.
      if (!/page=[12]&/.test(request.url ?? '')) return;
      answerJson(response, 200, envelope(200, { count: 9, variants }));
    });
    await using transport = impatient({ retryWaitsMs: [] });
    const client = createV1Client(optionsOf(server.url, 'pages'), { sender: transport });
    const outer = new AbortController();
    const calledOff = rejection(readAll(client.stock({}, { signal: outer.signal })));
    await expect.poll(() => server.seen.length).toBe(2 + VARIANT_LIST_DEFAULTS.pagesAheadMax);
    outer.abort(new Error('stopped'));
    expect(await calledOff).toMatchObject({ message: 'stopped' });
    for await (const { firstRow } of client.stock({}).batches) if (firstRow > 0) break;
    await expect.poll(() => transport.limiter.active()).toBe(0);
  });
});
