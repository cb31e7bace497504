/** Accounts that speak otherwise: what is read of them, and what is written to them. */
import { expect, onTestFinished } from 'vitest';
import { orderBody } from '../../src/client/v1/order-body.ts';
import { createV2Client } from '../../src/client/v2/client.ts';
import { startRig } from '../reference/support.ts';
import { impatient, rejection } from './support.ts';
import { loggedIn, readAll, v1Client } from './v1-support.ts';

export async function startDialect(dialect: Record<string, unknown>) {
  const rig = await startRig({ auth: { loginSpacing: '0s' }, world: { orders: 4 }, dialect });
  const transport = impatient({ retryWaitsMs: [1, 1] });
  onTestFinished(async () => {
    await transport[Symbol.asyncDispose]();
    await rig.reference.close();
  });
  return { rig, transport };
}

/** Everything that is read of the world, without what is other in each request. */
export async function worldOf(dialect: Record<string, unknown>) {
  const { rig, transport } = await startDialect(dialect);
  const stream = v1Client(rig, transport, { mode: 'stream', batchRows: 64 });
  const pages = v1Client(rig, transport, { mode: 'pages', pageRows: 50, batchRows: 100 });
  const rowsOf = async (
    list: Promise<{ rows: readonly unknown[]; rejects: readonly unknown[] }>,
  ) => {
    const { rows, rejects } = await list;
    expect(rejects).toEqual([]);
    return rows;
  };
  const orders = (await stream.orders()).rows;
  const below = orders.map(async ({ orderId }) => [
    (await stream.order(orderId)).value,
    await rowsOf(stream.deliveries(orderId)),
    await rowsOf(stream.refunds(orderId)),
    await rowsOf(stream.pendingRefunds(orderId)),
  ]);
  const lowest = Math.min(...orders.map(({ orderId }) => orderId));
  const paging = { pageRows: 100, follow: 'token' } as const;
  const v2 = createV2Client(
    { baseUrl: rig.reference.v2Url, paging },
    loggedIn(rig, transport, 'v2'),
  );
  const colors: unknown[] = [];
  for await (const page of v2.collection('color')) colors.push(...page.rows);
  const streamed = await readAll(stream.stock({ detailed: true }));
  const paged = await readAll(pages.stock({ detailed: true }));
  expect(paged.variants).toEqual(streamed.variants);
  return {
    brands: await rowsOf(stream.shortList('brands')),
    freight: await rowsOf(stream.shortList('freight')),
    seasons: await rowsOf(stream.shortList('seasons')),
    ...{ orders, below: await Promise.all(below), colors, stock: streamed.variants },
    behind: await rowsOf(stream.orders(lowest)),
    single: (await stream.stockVariant(streamed.variants[0]?.barcode ?? '', {})).value.barcode,
    stats: transport.stats(),
  };
}

/** Empty members of rows are told in other ways as well; how, is not asked here. */
function withoutEmpty(world: object): unknown {
  const isEmpty = (value: unknown) => value === null || (Array.isArray(value) && !value.length);
  const text = JSON.stringify(world, (_name, value) => (isEmpty(value) ? undefined : value));
  return JSON.parse(text);
}

/** Reads the same as of an account that speaks as the service does. */
export async function expectSameWorld(
  dialect: Record<string, unknown>,
  usual: Promise<Awaited<ReturnType<typeof worldOf>>>,
): Promise<void> {
  const { stats: _none, ...expected } = await usual;
  const { stats, ...seen } = await worldOf(dialect);
  expect(withoutEmpty(seen)).toEqual(withoutEmpty(expected));
  // Compression was asked for: it is no dialect.
  const isAskedFor = ['gzip', 'br'].includes(String(dialect.contentEncoding));
  const isCounted = Object.keys(stats.dialects).length > 0;
  expect(isCounted).toBe(!(isAskedFor && Object.keys(dialect).length === 1));
}

/** Writes an order and accepts its delivery; a refusal says what is wrong. */
export async function expectWritable(dialect: Record<string, unknown>): Promise<void> {
  const { rig, transport } = await startDialect(dialect);
  const client = v1Client(rig, transport);
  const [variant] = (await readAll(client.stock({}))).variants.filter(
    (row) => (row.quantity ?? 0) > 1,
  );
  const line = { barcode: variant?.barcode ?? '', quantity: 1, price: 1_0000 };
  const body = orderBody({ reference: 'ERP-9', lines: [], comment: 'Blåbær' }, 'freight');
  const lines = { orderLineItems: [{ ...line, price: 1 }] };
  const created = await client.createOrder({ ...body, ...lines });
  await rig.clock.advance(60_000);
  const { orderId } = created.value;
  const [delivery] = (await client.deliveries(orderId)).rows;
  const id = delivery?.orderDeliveryId ?? 0;
  const accepted = await client.setDeliveryStatus(orderId, id, 'accepted');
  expect(accepted.value.status).toBe('accepted');
  const again = { ...body, orderLineItems: [{ ...line, barcode: 'no such thing' }] };
  const error = await rejection(client.createOrder(again));
  expect(error).toMatchObject({ name: 'RefusedError', code: 'service.invalid' });
  expect(String(error)).toContain('no such thing');
}

/** A refusal because of too many requests is understood. */
export async function expectTooFast(dialect: Record<string, unknown>): Promise<void> {
  const { rig, transport } = await startDialect(dialect);
  const client = v1Client(rig, transport);
  await client.shortList('brands');
  const fault = { kind: 'tooMany', method: 'POST', path: '*/orders' };
  rig.reference.knobs.patch({ faults: [fault] });
  const error = await rejection(client.createOrder({ reference: 'ERP-1' }));
  expect(error).toMatchObject({ name: 'RetryLaterError', code: 'service.too_fast' });
}
