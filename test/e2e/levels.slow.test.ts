/**
 * Accounts of five levels of the interface, each of which refuses what it does not know: what works
 * there, and what is said of the rest. The table is that of docs/wire.md, "Levels".
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { z } from 'zod';
import { until } from '../support/house.ts';
import { type DoorHouse, openDoors } from './doors/house.ts';
import { placeOrders } from './support.ts';

/** A stream, or what becomes of a document; `no`: it is not at this level. */
const WORKS: Readonly<Record<string, readonly string[]>> = {
  level: ['1.4.14', '1.4.11', '1.4.0', '1.3.0', '1.2.6'],
  brands: ['yes', 'yes', 'yes', 'yes', 'no'],
  freight: ['yes', 'yes', 'yes', 'yes', 'no'],
  // Below 1.4.0 from /variants, brand by brand; there is no list of brands at 1.2.6.
  stock: ['yes', 'yes', 'yes', 'yes', 'refused'],
  season: ['yes', 'yes', 'yes', 'no', 'no'],
  seasons: ['yes', 'yes', 'yes', 'no', 'no'],
  orders: ['yes', 'yes', 'yes', 'yes', 'yes'],
  ordersFull: ['yes', 'yes', 'yes', 'yes', 'yes'],
  decided: ['yes', 'yes', 'yes', 'yes', 'no'],
  'order with freight and address': ['yes', 'yes', 'yes', 'yes', 'yes'],
  'order without freight': ['yes', 'yes', 'yes', 'no', 'no'],
  'order without address': ['yes', 'yes', 'yes', 'yes', 'no'],
  'pre-order': ['yes', 'yes', 'yes', 'door', 'door'],
  'pending refund': ['yes', 'yes', 'door', 'door', 'door'],
  'refund status': ['taken', 'taken', 'taken', 'taken', 'door'],
};
const LEVELS = WORKS.level ?? [];

const ADDRESS = {
  ...{ firstName: 'Ann', lastName: 'Shop', address: 'Road 1', city: 'Town', zip: '8000' },
  ...{ countryCode: 'DK', phone: '1', email: 'a@example.com' },
};

const statusSchema = z.object({
  level: z.string(),
  lacks: z.array(z.string()),
  deliveries: z.record(z.string(), z.number()),
  streams: z.array(
    z.looseObject({
      stream: z.string(),
      ageMs: z.number().nullable(),
      notAtLevel: z.string().nullable(),
      lastError: z.string().nullable(),
      stale: z.boolean(),
    }),
  ),
});

async function statusOf(house: DoorHouse) {
  const { stdout } = await house.call('status', '--json');
  return statusSchema.parse(JSON.parse(stdout));
}

async function openAt(level: string, knobs: Record<string, unknown> = {}): Promise<DoorHouse> {
  const life = { packAfter: '0s', cancelShare: 0, splitShare: 0 };
  const house = await openDoors(
    { 'service.dialect.v1.level': level, 'streams.off': [] },
    { v1: { level }, dialect: { unknownParameters: 'refuse' }, life, ...knobs },
  );
  // The same for commands that read beside the daemon.
  const written = parse(readFileSync(house.file, 'utf8'));
  written.service.dialect = { v1: { level } };
  writeFileSync(house.file, stringify(written));
  return house;
}

/** Returns the document's end; `door`: it was not taken. */
async function endOf(house: DoorHouse, kind: string, payload: object): Promise<string> {
  const { status, body } = await house.post('/api/documents', { kind, payload });
  if (status !== 202) {
    expect([status, JSON.stringify(body)]).toEqual([
      422,
      expect.stringContaining('raise service.dialect.v1.level'),
    ]);
    return 'door';
  }
  const { state, problems } = await house.httpEnd(Number(body.documentId));
  if (kind === 'refund_status') return 'taken';
  if (state === 'confirmed') return 'yes';
  expect(problems.map(({ message }) => message).join()).toMatch(/requires/);
  return 'no';
}

async function preOrder(house: DoorHouse, reference: string) {
  const { seasons } = house.reference.world.catalog;
  const ahead = await house.daemon.store.db
    .selectFrom('season_variant')
    .select(['barcode', 'season_name'])
    .executeTakeFirst();
  const season = seasons.find(({ name }) => name === ahead?.season_name) ?? seasons[0];
  const deliveryName = season?.deliveries[0]?.name;
  const line = { barcode: ahead?.barcode ?? '1', quantity: 1, price: '12.50', deliveryName };
  const sent = { freight: { amount: '5.00' }, shippingAddress: ADDRESS };
  return { reference, seasonName: season?.name, lines: [line], ...sent };
}

/** An order of each kind, a refund of the first, and the status of a refund that is not there. */
async function documentsOf(house: DoorHouse): Promise<Record<string, string>> {
  const order = (reference: string, more: object) =>
    endOf(house, 'order', { reference, ...house.order(), ...more });
  const freight = { amount: '5.00' };
  const whole = await order('whole', { freight, shippingAddress: ADDRESS });
  const refund = { reference: 'back', orderReference: 'whole', ...house.order() };
  const refundStatus = { orderId: 1, orderRefundId: 1, status: 'accepted' };
  return {
    'order with freight and address': whole,
    'order without freight': await order('no freight', { shippingAddress: ADDRESS }),
    'order without address': await order('no address', { freight }),
    'pre-order': await endOf(house, 'order', await preOrder(house, 'ahead')),
    'pending refund': await endOf(house, 'pending_refund', refund),
    'refund status': await endOf(house, 'refund_status', {
      ...{ reference: 'r', expectedStatus: 'pending', ...refundStatus },
    }),
  };
}

/** Returns the outcome of each stream. */
async function streamsOf(house: DoorHouse) {
  const found = await until('all streams to have ended a run', async () => {
    const now = await statusOf(house);
    const left = now.streams.filter(
      ({ ageMs, notAtLevel, lastError }) =>
        ageMs === null && notAtLevel === null && lastError === null,
    );
    return now.streams.length >= 7 && left.length === 0 ? now : undefined;
  });
  const works = found.streams.map(({ stream, notAtLevel, ageMs, stale }) => {
    if (notAtLevel === null) return [stream, ageMs === null ? 'refused' : 'yes'];
    expect([notAtLevel, stale]).toEqual([found.level, false]);
    return [stream, 'no'];
  });
  return { found, works: Object.fromEntries(works) };
}

function openIncidents(house: DoorHouse) {
  return house.daemon.store.db
    .selectFrom('incident')
    .select(['kind', 'key', 'detail'])
    .where('resolved_at', 'is', null)
    .execute();
}

it.each(LEVELS.map((level, at) => [level, at] as const))(
  'an account of level %s has what its level has, and no alarm is raised for the rest',
  async (level, at) => {
    const house = await openAt(level);
    placeOrders(house.reference, 2);
    const { found, works } = await streamsOf(house);
    if (WORKS.decided?.[at] === 'yes') {
      await until('a delivery to be accepted', async () => {
        const { deliveries } = await statusOf(house);
        return (deliveries.accepted ?? 0) > 0 ? true : undefined;
      });
    } else {
      expect((await statusOf(house)).deliveries).toEqual({});
    }
    const decided = WORKS.decided?.[at];
    const all = { level: found.level, ...works, decided, ...(await documentsOf(house)) };
    const expected = Object.entries(WORKS).map(([name, values]) => [name, values[at]]);
    expect(all).toEqual(Object.fromEntries(expected));
    const status = await house.call('status');
    const list = await house.call('sync', 'list');
    for (const [name, is] of Object.entries(works)) {
      const line = new RegExp(`^${name} .*not at level ${level}`, 'm');
      for (const { stdout } of [status, list]) expect(line.test(stdout)).toBe(is === 'no');
    }
    expect(status.stdout.includes('is without: ')).toBe(level !== '1.4.14');
    if (works.season === 'no') {
      const { stderr } = await house.call('sync', 'run', 'season');
      expect(stderr).toContain(`season does not exist at level ${level}`);
    }
    const incidents = (await openIncidents(house)).map(({ kind }) => kind);
    // Nobody can say then under which brand the stock is to be asked for.
    expect(incidents).toEqual(works.stock === 'refused' ? ['brands_refused'] : []);
  },
);

it.each(['1.4.0', '1.3.0', '1.2.56'])(
  'a level that is set too high for an account of %s is one incident, and what there is works',
  async (level) => {
    // Orders of the past, some of which have shipped: those must have deliveries.
    const world = { styles: 20, orders: 60 };
    const house = await openAt('1.4.14', { v1: { level }, world });
    placeOrders(house.reference, 4);
    const { works } = await streamsOf(house);
    const isOld = level !== '1.4.0';
    expect(works).toMatchObject({
      ...{ stock: 'yes', orders: 'yes', ordersFull: 'yes', brands: 'yes' },
      ...{ season: isOld ? 'refused' : 'yes', seasons: isOld ? 'refused' : 'yes' },
    });
    const incident = await until('the incident', async () => {
      const [first, ...others] = (await openIncidents(house)).filter(
        ({ kind }) => kind === 'level_too_high',
      );
      expect(others).toEqual([]);
      const { looksLike, setting } = JSON.parse(first?.detail ?? '{}');
      const since = { '1.4.0': '1.4.11', '1.3.0': '1.4.0', '1.2.56': '1.3.0' }[level];
      return looksLike === `below ${since}` ? { setting } : undefined;
    });
    expect(incident).toEqual({ setting: 'service.dialect.v1.level' });
    if (level === '1.2.56') return;
    await until('a delivery to be accepted', async () => {
      const { deliveries } = await statusOf(house);
      return (deliveries.accepted ?? 0) > 0 ? true : undefined;
    });
    expect((await openIncidents(house)).map(({ kind }) => kind)).toEqual(['level_too_high']);
    const { barcode, orderId } = await house.daemon.store.db
      .selectFrom('sales_order_line')
      .select(['barcode', 'order_id as orderId'])
      .executeTakeFirstOrThrow();
    const payload = { reference: 'back', orderId, lines: [{ barcode, quantity: 1 }] };
    const { status, body } = await house.post('/api/documents', {
      kind: 'pending_refund',
      payload,
    });
    expect([status, JSON.stringify(body)]).toEqual([
      422,
      expect.stringMatching(/set service\.dialect\.v1\.level to what it has \(below 1\.4\.11\)/),
    ]);
  },
);

it('an account that wants a brand with each list is mirrored and ordered from', async () => {
  const house = await openAt('1.4.14', { dialect: { brandRequired: true } });
  const { works } = await streamsOf(house);
  expect(new Set(Object.values(works))).toEqual(new Set(['yes']));
  const { world } = house.reference;
  const { db } = house.daemon.store;
  const count = async (table: 'stock_variant' | 'season') =>
    (await db.selectFrom(table).select('first_seen_at').where('deleted_at', 'is', null).execute())
      .length;
  expect(await count('season')).toBe(world.catalog.seasons.length);
  expect(await count('stock_variant')).toBeGreaterThan(100);
  const documents = await documentsOf(house);
  expect(documents).toMatchObject({ 'order without freight': 'yes', 'pre-order': 'yes' });
  expect(await openIncidents(house)).toEqual([]);
  // A season that is not in the mirror yet is asked for under the brands, too.
  await db.deleteFrom('season').execute();
  await db.deleteFrom('season_delivery').execute();
  expect(await endOf(house, 'order', await preOrder(house, 'ahead again'))).toBe('yes');
});
