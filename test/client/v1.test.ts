import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Transport } from '../../src/client/transport.ts';
import type { V1Client } from '../../src/client/v1/client.ts';
import { orderBody } from '../../src/client/v1/order-body.ts';
import { variantsOf } from '../../src/client/v1/variant-rows.ts';
import type { VariantListOptions } from '../../src/client/v1/variants.ts';
import { asItCame } from '../../src/lib/reading/as-it-came.ts';
import { type Rig, startRig } from '../reference/support.ts';
import { impatient, rejection } from './support.ts';
import { readAll, v1Client } from './v1-support.ts';

describe('V1 against the reference service', () => {
  let rig: Rig;
  let transport: Transport;

  const clientWith = (variants?: Partial<VariantListOptions>, keyName?: string): V1Client =>
    v1Client(rig, transport, variants, keyName);
  const withFault = (fault: Record<string, unknown>): void => {
    rig.reference.knobs.patch({ faults: [fault] });
  };

  beforeEach(async () => {
    rig = await startRig({ auth: { loginSpacing: '0s' }, world: { orders: 3 } });
    transport = impatient({ retryWaitsMs: [1, 1, 1] });
  });
  afterEach(async () => {
    await transport[Symbol.asyncDispose]();
    await rig.reference.close();
  });

  it('lists the brands', async () => {
    const brands = await clientWith().shortList('brands');
    expect(brands.rows.length).toBe(3);
    expect(brands).toMatchObject({ count: 3, rejects: [] });
  });

  it.each([
    ['stream', { mode: 'stream', batchRows: 64 }],
    ['pages', { mode: 'pages', pageRows: 50, batchRows: 100 }],
  ] as const)('reads the whole stock as %s, and proves with the count', async (_name, options) => {
    const client = clientWith(options);
    const { batches, variants, end } = await readAll(client.stock({ detailed: true }));
    const bodyOf = await rig.call('GET', '/variants/stock?detailed=true');
    expect(variants).toEqual(bodyOf.body.data.variants);
    const count = bodyOf.body.data.count;
    expect(end).toEqual({
      status: 200,
      countFirst: count,
      count,
      rows: count,
      shortPages: 0,
      doubts: [],
    });
    expect(variants.length).toBe(count);
    expect(batches.length).toBeGreaterThan(2);
    for (const { chunks, firstRow, bytes } of batches) {
      expect(chunks[0]?.firstRow).toBe(firstRow);
      // A chunk contains no bytes from around the rows.
      expect(String.fromCharCode(bytes[(chunks.at(-1)?.end ?? 0) - 1] ?? 0)).toBe('}');
      expect(chunks.every(({ rowCount }) => rowCount <= 16)).toBe(true);
    }
  });

  it.each([
    ['stream', { mode: 'stream', batchRows: 32 }],
    ['pages', { mode: 'pages', pageRows: 40, batchRows: 80 }],
    ['pages with a short last one', { mode: 'pages', pageRows: 43, batchRows: 90 }],
  ] as const)('goes on behind any kept batch of a %s pull, same chunks', async (_name, options) => {
    const client = clientWith(options);
    const whole = await readAll(client.stock({ detailed: true }));
    for (const [index, batch] of whole.batches.entries()) {
      const rest = await readAll(client.stock({ detailed: true }, { from: batch.next }));
      const expected = whole.batches.slice(index + 1);
      expect(rest.batches.map(({ chunks }) => chunks)).toEqual(
        expected.map(({ chunks }) => chunks),
      );
      expect(rest.batches.map(({ bytes }) => Buffer.from(bytes).toString())).toEqual(
        expected.map(({ bytes }) => Buffer.from(bytes).toString()),
      );
      expect(rest.end).toEqual(whole.end);
    }
  });

  it('leaves prices that are not there absent', async () => {
    const client = clientWith({ mode: 'stream' });
    const [plain] = (await readAll(client.stock({}))).variants;
    expect(plain?.wspPrice).toBeUndefined();
    expect(plain?.pricing).toBeUndefined();
    const detailed = clientWith({}, 'b2bDetailed');
    const { variants } = await readAll(detailed.stock({ detailedPricing: true }));
    expect(variants[0]?.pricing?.wspPriceOriginal).toBeGreaterThan(0);
  });

  it('reads a row in which one member cannot be read, and goes on', async () => {
    withFault({ kind: 'wrongTypes', path: '*/variants/stock*', probability: 1 });
    const client = clientWith({ mode: 'stream' });
    const rows: object[] = [];
    const pull = client.stock({ detailed: true });
    for await (const batch of pull.batches) {
      for (const { start, end } of batch.chunks) {
        const checked = variantsOf(batch.bytes.subarray(start, end));
        expect(checked.rejects).toEqual([]);
        rows.push(...checked.rows);
      }
    }
    expect(rows).toHaveLength(pull.end().rows);
    const parts = rows.flatMap((row) => [row, 'details' in row ? Object(row.details) : {}]);
    const raws = parts.flatMap((part) => Object.values(asItCame(part) ?? {}));
    expect(raws).toContainEqual({ wrong: 'type' });
  });

  it.each(['truncated', 'malformed', 'reset', 'emptyList', 'nullList'])(
    'never takes a list for whole after the fault %s in stream mode',
    async (kind) => {
      withFault({ kind, path: '*/variants/stock*', moment: kind === 'reset' ? 'after' : 'before' });
      const pull = clientWith({ mode: 'stream' }).stock({ detailed: true });
      const outcome = await readAll(pull).then(
        ({ end }) => end,
        (error: unknown) => error,
      );
      if (kind === 'emptyList') expect(outcome).toMatchObject({ rows: 0 });
      else expect(outcome).toMatchObject({ name: 'RetryLaterError' });
    },
  );

  it('asks for a page again when it was cut off or garbled', async () => {
    rig.reference.knobs.patch({
      faults: [
        { kind: 'truncated', path: '*/variants/stock*', count: 1 },
        { kind: 'malformed', path: '*/variants/stock*', count: 1, seed: 2 },
        { kind: 'serverError', path: '*/variants/stock*', count: 1, seed: 3 },
      ],
    });
    const client = clientWith({ mode: 'pages', pageRows: 50 });
    const { end } = await readAll(client.stock({ detailed: true }));
    expect(end.rows).toBe(end.count);
    expect(transport.stats().retries).toBeGreaterThanOrEqual(2);
  });

  it('stops asking for pages when the consumer leaves', async () => {
    const client = clientWith({ mode: 'pages', pageRows: 10, pagesAheadMax: 4 });
    const pull = client.stock({});
    let batches = 0;
    for await (const _ of pull.batches) {
      batches += 1;
      if (batches === 2) break;
    }
    expect(() => pull.end()).toThrow('before it was reached');
    await expect.poll(() => transport.limiter.active()).toBe(0);
  });

  it('reads one variant, and says when there is none', async () => {
    const client = clientWith();
    const [first] = (await readAll(client.stock({ detailed: true }))).variants;
    const barcode = first?.barcode ?? '';
    const { value } = await client.stockVariant(barcode, { detailed: true });
    expect(value).toEqual(first);
    const error = await rejection(client.stockVariant('no/such', {}));
    expect(error).toMatchObject({ name: 'RefusedError', code: 'service.not_found' });
  });

  it('creates an order, finds it again and sees it packed', async () => {
    const client = clientWith();
    const [variant] = (await readAll(client.stock({}))).variants.filter(
      (row) => (row.quantity ?? 0) > 1,
    );
    const body = orderBody(
      {
        reference: 'ERP-1',
        lines: [{ barcode: variant?.barcode ?? '', quantity: 1, priceUnits: 120_5000 }],
        comment: 'hello',
      },
      'freight',
    );
    const { value: created } = await client.createOrder(body);
    const { value: order } = await client.order(created.orderId);
    expect(order).toMatchObject({ reference: 'ERP-1', status: 'pending' });
    expect(order.orderLineItems).toMatchObject([{ quantity: 1, price: 120.5 }]);
    const listed = await client.orders();
    expect(listed.rows[0]?.orderId).toBe(created.orderId);
    const older = await client.orders(created.orderId);
    expect(older.rows.every(({ orderId }) => orderId < created.orderId)).toBe(true);
    expect((await client.deliveries(created.orderId)).rows).toEqual([]);
  });

  it('gives the lines of an order that was refused', async () => {
    const error = await rejection(clientWith().createOrder({ orderLineItems: [] }));
    expect(error).toMatchObject({ name: 'RefusedError', code: 'service.invalid' });
    expect(error).toMatchObject({ lines: expect.arrayContaining([expect.any(String)]) });
  });

  it.each([
    ['a reset after the effect', { kind: 'reset', moment: 'after' }],
    ['a 201 that is cut off', { kind: 'truncated' }],
    ['a 201 that is no JSON', { kind: 'malformed' }],
    ['an HTML 5xx after the effect', { kind: 'serverError', moment: 'after' }],
  ])('is in doubt about an order after %s', async (_name, fault) => {
    withFault({ ...fault, path: '*/orders', method: 'POST' });
    const client = clientWith();
    const [variant] = (await readAll(client.stock({}))).variants.filter(
      (row) => (row.quantity ?? 0) > 1,
    );
    const line = { barcode: variant?.barcode ?? '', quantity: 1, price: 1 };
    const body = { reference: 'ERP-2', orderLineItems: [line] };
    const error = await rejection(client.createOrder(body));
    expect(error).toMatchObject({ name: 'InDoubtError' });
    const { rows } = await client.orders();
    expect(rows.filter(({ reference }) => reference === 'ERP-2')).toHaveLength(1);
  });

  it('moves a delivery, and is told when the state forbids it', async () => {
    const client = clientWith();
    const [variant] = (await readAll(client.stock({}))).variants.filter(
      (row) => (row.quantity ?? 0) > 1,
    );
    const line = { barcode: variant?.barcode ?? '', quantity: 1, price: 1 };
    const created = await client.createOrder({ reference: 'ERP-3', orderLineItems: [line] });
    const { orderId } = created.value;
    await rig.clock.advance(60_000);
    const [delivery] = (await client.deliveries(orderId)).rows;
    expect(delivery).toMatchObject({ status: 'pending', fulfilledLineItems: [{ price: 1 }] });
    const { orderDeliveryId = 0 } = delivery ?? {};
    const accepted = await client.setDeliveryStatus(orderId, orderDeliveryId, 'accepted');
    expect(accepted.value.status).toBe('accepted');
    const shown = await client.delivery(orderId, orderDeliveryId);
    expect(shown.value.status).toBe('accepted');
    await client.setDeliveryStatus(orderId, orderDeliveryId, 'pending');
    await client.setDeliveryStatus(orderId, orderDeliveryId, 'rejected');
    const error = await rejection(client.setDeliveryStatus(orderId, orderDeliveryId, 'accepted'));
    expect(error).toMatchObject({ name: 'ConflictError', code: 'service.conflict' });
  });

  it('goes on after a token was revoked in the middle of a pull', async () => {
    const client = clientWith({ mode: 'pages', pageRows: 20, pagesAheadMax: 2 });
    const pull = client.stock({});
    let [rows, batches] = [0, 0];
    for await (const batch of pull.batches) {
      rows += batch.rowCount;
      batches += 1;
      if (batches === 2) rig.reference.keys.revokeAll();
    }
    expect(rows).toBe(pull.end().count);
  });
});
