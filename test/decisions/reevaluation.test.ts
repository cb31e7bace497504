/** Re-evaluation: what is held is decided otherwise once anything that it rests on has changed. */
import { sql } from 'kysely';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { DeciderDeps } from '../../src/decisions/decider.ts';
import { SEASON } from '../../src/mirror/catalog/names.ts';
import { PDM } from '../../src/mirror/catalog/pdm.ts';
import { seasonVariants } from '../../src/mirror/catalog/variant.ts';
import { DELIVERY } from '../../src/mirror/delivery.ts';
import { upsertRows } from '../../src/mirror/entity.ts';
import { type ListEntity, markDeleted } from '../../src/mirror/list.ts';
import { openIncident } from '../../src/store/incidents.ts';
import type { Store } from '../../src/store/store.ts';
import { createShortListStream } from '../../src/sync/streams/short-list.ts';
import { notePlans } from '../support/plans.ts';
import { DELETION_GUARD, runsOn } from '../sync/pull.ts';
import { runnerOf } from '../sync/support.ts';
import { ACCEPT_COVERED, createHouse, type House, loadedRules } from './support.ts';

const RULES = loadedRules(ACCEPT_COVERED);

/** Entries of the feed for stock that no delivery has, as a pull leaves them. */
async function pullStock({ store, clock }: House, rows: number): Promise<void> {
  await sql`with recursive n(i) as (select 1 union all select i + 1 from n where i < ${rows})
    insert into change (at, entity, key, op, diff, cause)
    select ${clock.now()}, 'stock_variant', 'x' || i, 'update', '{}', 'run:9' from n`.execute(
    store.db,
  );
}

/** Deliveries that wait, each for stock of its own. */
async function waiting(count: number): Promise<House> {
  const house = await createHouse();
  const ids = Array.from({ length: count }, (_, index) => index + 1);
  await house.stock(Object.fromEntries(ids.map((id) => [`sku-${id}`, 0])));
  for (const id of ids) await house.delivery({ id, order: id, lines: [[`sku-${id}`, 2]] });
  expect(await house.decide({ rules: () => RULES })).toHaveLength(count);
  return house;
}

/** A decider that goes on; what it does is noted in order. */
function running(house: House, parts: Partial<DeciderDeps> = {}) {
  const { store } = house;
  const noted: string[] = [];
  const counted: Store = {
    db: store.db,
    path: store.path,
    close: () => store.close(),
    snapshot(read) {
      noted.push('evaluated');
      return store.snapshot(read);
    },
    transaction(work) {
      noted.push('written');
      return store.transaction(work);
    },
  };
  const decider = house.decider({
    store: counted,
    rules: () => RULES,
    onDecided: ({ orderDeliveryId, outcome }) => noted.push(`${orderDeliveryId} ${outcome.kind}`),
    ...parts,
  });
  const stop = new AbortController();
  const done = decider.run(stop.signal);
  onTestFinished(async () => {
    stop.abort();
    await done;
  });
  return {
    decider,
    noted,
    /** What it does within this time; a snapshot that asks for armings counts as one more. */
    async after(ms: number): Promise<readonly string[]> {
      noted.length = 0;
      // No time goes by in the middle of a pass: its pause would be long.
      for (const step of [0, ms / 4, ms / 4, ms / 4, ms / 4]) {
        await house.clock.advance(step);
        for (let turn = 0; turn < 5; turn += 1) await house.clock.advance(0);
      }
      return noted;
    },
  };
}

describe('a pass', () => {
  it('writes nothing for deliveries whose decision would be the same', async () => {
    const house = await waiting(30);
    const worker = running(house);
    await worker.after(0);
    await pullStock(house, 10);
    worker.decider.nudge();
    const noted = await worker.after(10_000);
    expect(noted.length).toBeGreaterThan(30);
    expect(new Set(noted)).toEqual(new Set(['evaluated']));
    expect(await house.decisions()).toHaveLength(30);
  });

  it('journals those alone whose outcome another value of a list changes', async () => {
    const text = `
rules:
  - id: hold-far
    title: Far away
    action: hold
    mode: live
    when: [ '!(order.country in lists.near)' ]
  - { id: accept-all, title: All, action: accept, mode: live, when: [ delivery.quantity > 0 ] }
`;
    const near = (...countries: string[]) =>
      loadedRules(text, `version: 1\nlists: { near: [${countries.join(', ')}] }\n`);
    const house = await createHouse();
    for (const [index, countryCode] of ['SE', 'DE', 'FR', 'DE'].entries()) {
      await house.order(index + 1, { shippingAddress: { countryCode } });
      await house.delivery({ id: index + 1, order: index + 1 });
    }
    const held = ['1 hold', '2 hold', '3 hold', '4 hold'];
    expect(await house.decide({ rules: () => near('DK', 'GB') })).toEqual(held);
    let rules = near('DK', 'GB');
    const worker = running(house, { rules: () => rules });
    expect(await worker.after(0)).not.toContain('written');
    rules = near('DK', 'DE');
    worker.decider.nudge();
    const noted = await worker.after(0);
    expect(noted.filter((text) => /\d/.test(text))).toEqual(['2 accept', '4 accept']);
    const journal = (await house.decisions()).slice(4);
    expect(journal.map(({ id, trigger }) => `${id} ${trigger}`)).toEqual(['2 rules', '4 rules']);
  });

  it('keeps no new delivery waiting, though a stock run changed 100,000 rows', async () => {
    const house = await waiting(50);
    const worker = running(house);
    await worker.after(10_000);
    await pullStock(house, 100_000);
    await house.stock({ 'sku-50': 2, new: 2 });
    await house.delivery({ id: 51, order: 51, lines: [['new', 2]] });
    worker.decider.nudge();
    const noted = await worker.after(10_000);
    // Before it, at most the armings were asked for.
    const before = noted.slice(0, noted.indexOf('51 accept'));
    expect(before.filter((what) => what === 'evaluated').length).toBeLessThanOrEqual(1);
    expect(noted).toContain('50 accept');
  });

  it('stops for a delivery that comes while it is under way', async () => {
    const house = await waiting(50);
    const worker = running(house);
    for (let turn = 0; worker.noted.length < 10 && turn < 1_000; turn += 1) {
      await new Promise(setImmediate);
    }
    expect(worker.noted.length).toBeLessThan(40);
    await house.stock({ new: 2 });
    await house.delivery({ id: 51, order: 51, lines: [['new', 2]] });
    worker.noted.length = 0;
    worker.decider.nudge();
    await house.clock.advance(0);
    await house.clock.advance(0);
    expect(worker.noted.indexOf('51 accept')).toBeLessThan(8);
    expect(worker.noted).toContain('51 accept');
  });

  it('comes after a pause, and not at all where nothing has moved', async () => {
    const house = await waiting(10);
    const worker = running(house);
    await worker.after(0);
    const looks = (noted: readonly string[]) => noted.filter((what) => what === 'evaluated').length;
    expect(looks(await worker.after(60_000))).toBeLessThan(10);
    await pullStock(house, 1);
    worker.decider.nudge();
    expect(looks(await worker.after(0))).toBeGreaterThanOrEqual(10);
    await pullStock(house, 1);
    worker.decider.nudge();
    expect(looks(await worker.after(1_500))).toBeLessThan(10);
    expect(looks(await worker.after(1_000))).toBeGreaterThanOrEqual(10);
  });

  it('comes at its time where nothing has moved, and when the clock was set back', async () => {
    const house = await waiting(10);
    const worker = running(house, { reconsiderMs: 600_000 });
    await worker.after(0);
    const looks = (noted: readonly string[]) => noted.filter((what) => what === 'evaluated').length;
    expect(looks(await worker.after(599_000))).toBeLessThan(40);
    expect(looks(await worker.after(1_000))).toBeGreaterThanOrEqual(10);
    await worker.after(10_000);
    house.clock.step(-3_600_000);
    expect(looks(await worker.after(30_000))).toBeGreaterThanOrEqual(10);
  });
});

it('finds status changes by an index of their own, however long the feed is', async () => {
  const house = await waiting(1);
  const planned = notePlans(house.store);
  await house.delivery({ id: 1, order: 1, status: 'rejected', lines: [['sku-1', 2]] });
  await house.decide({ store: planned.store, rules: () => RULES });
  const [entry] = await house.store.db
    .selectFrom('decision')
    .select('actor')
    .orderBy('decision_id', 'desc')
    .execute();
  expect(entry).toEqual({ actor: 'external' });
  const steps = await planned.steps(/op <> 'insert'/);
  expect(steps).toEqual(['SEARCH change USING INDEX change_delivery_status (seq>?)']);
});

it('asks whose change of a status it was by the pushes of that delivery', async () => {
  const house = await createHouse();
  await house.stock({ a: 5 });
  await house.delivery({ id: 1, lines: [['a', 2]] });
  expect(await house.decide({ rules: () => RULES })).toEqual(['1 accept']);
  await house.store.db.updateTable('outbox').set({ attempts: 1 }).execute();
  await house.clock.advance(1_000);
  await house.delivery({ id: 1, lines: [['a', 2]], status: 'accepted' });
  await house.endPush('confirmed', { answered: true });
  const planned = notePlans(house.store);
  await house.decide({ store: planned.store, rules: () => RULES });
  const journal = house.store.db.selectFrom('decision').select('actor').execute();
  expect(await journal).toEqual([{ actor: 'daemon' }]);
  const steps = await planned.steps(/"created_at" <= /);
  expect(steps.filter((step) => / (n|outbox)\b/.test(step))).toEqual([
    'SEARCH outbox USING INDEX outbox_delivery (order_delivery_id=?)',
  ]);
});

const TAKEN = loadedRules(ACCEPT_COVERED);
const taken = { rules: () => TAKEN };

it('decides anew who wants pieces that another delivery no longer has in its lines', async () => {
  const house = await createHouse();
  await house.stock({ a: 10, b: 10 });
  await house.delivery({ id: 1, lines: [['a', 20]] });
  await house.delivery({ id: 2, lines: [['a', 5]] });
  expect(await house.decide(taken)).toEqual(['1 hold', '2 hold']);
  await house.clock.advance(1_000);
  await house.delivery({ id: 1, lines: [['b', 20]] });
  expect(await house.decide(taken)).toEqual(['1 hold', '2 accept']);
});

it('decides anew who wants pieces of an order that is completed without a parcel', async () => {
  const house = await createHouse();
  await house.stock({ a: 10 });
  await house.delivery({ id: 1, lines: [['a', 8]], status: 'accepted' });
  await house.clock.advance(1_000);
  await house.stock({ a: 10 });
  await house.delivery({ id: 2, order: 2, lines: [['a', 5]] });
  expect(await house.decide(taken)).toEqual(['2 hold']);
  await house.clock.advance(1_000);
  await house.order(1, { completed: true });
  await house.clock.advance(2_000);
  // Its pieces may have left with a parcel that was not read yet: the stock knows.
  expect(await house.decide(taken)).toEqual([]);
  await house.delivery({ id: 3, order: 3, lines: [['a', 1]] });
  expect(await house.decide(taken)).toEqual(['3 hold']);
  await house.clock.advance(1_000);
  await house.stock({ a: 10 });
  expect(await house.decide(taken)).toEqual(['2 accept', '3 accept']);
});

it('decides anew whose season only the lines of the order name', async () => {
  const rules = loadedRules(`
rules:
  - { id: all, title: All, action: accept, mode: live, when: [ delivery.quantity > 0 ] }
  - id: hold-listed
    title: Still listed
    action: hold
    mode: live
    applies_to: [pending, accepted]
    when: [ has(season.listed) && season.listed ]
`);
  const house = await createHouse();
  const line = { barcode: 'a', quantity: 10, price: 100, season: 'SS27', delivery: 'June' };
  for (const id of [1, 2]) {
    await house.order(id, { orderLineItems: [line] });
    await house.delivery({ id, order: id });
  }
  const observing = { rules: () => rules, mode: 'observe' } as const;
  expect(await house.decide(observing)).toEqual(['1 accept', '2 accept']);
  await house.clock.advance(1_000);
  const row = { season_name: 'SS27', extra: '{}', content_hash: 'x', source: 'run:9' };
  const at = { first_seen_at: 1, changed_at: 1, read_seq: 9 };
  await house.store.db
    .insertInto('season')
    .values({ ...row, ...at })
    .execute();
  expect(await house.decide(observing)).toEqual(['1 hold', '2 hold']);
});

it('decides anew whose season is not listed once the seasons were read', async () => {
  const rules = loadedRules(`
rules:
  - { id: over, title: Season is over, action: accept, mode: live, when: [ '!season.listed' ] }
`);
  const house = await createHouse();
  await house.order(1, { SeasonName: 'SS27' });
  await house.delivery({ id: 1, order: 1 });
  expect(await house.decide({ rules: () => rules })).toEqual(['1 nothing']);
  const runs = runsOn(runnerOf(house.store));
  const read = async () => ({ rows: [], rejects: [], count: 0, startedAt: 0 });
  const stream = { name: 'seasons', entity: SEASON, deletionGuard: DELETION_GUARD, read };
  await runs.run(createShortListStream(stream));
  expect(await house.decide({ rules: () => rules })).toEqual(['1 accept']);
});

it('decides anew whose style changed although it is only ordered ahead', async () => {
  const house = await createHouse();
  const rules = loadedRules(`
rules:
  - id: accept-sold
    title: Still sold
    action: accept
    mode: live
    when: [ 'delivery.lines.all(line, line.style_active)' ]
`);
  const write = (entity: ListEntity, record: object) =>
    house.store.transaction((tx) =>
      upsertRows(tx, entity, [entity.toRow(structuredClone(record))], {
        ...{ source: 'run:1', readSeq: 1, at: house.clock.now() },
      }),
    );
  const style = { id: '7', attributes: { styleNo: 'S-1', active: false } };
  await write(seasonVariants('AW26'), { barcode: 'z', quantity: 9, details: { styleNo: 'S-1' } });
  await write(PDM.styles, style);
  await house.order(1, { SeasonName: 'AW26' });
  await house.delivery({ id: 1, lines: [['z', 2]] });
  expect(await house.decide({ rules: () => rules })).toEqual(['1 nothing']);
  await house.clock.advance(1_000);
  await write(PDM.styles, { ...style, attributes: { ...style.attributes, active: true } });
  expect(await house.decide({ rules: () => rules })).toEqual(['1 accept']);
});

it('holds no delivery that is gone, and tells of none', async () => {
  const house = await waiting(3);
  const { store, clock } = house;
  await store.transaction(async (tx) => {
    const expired = { kind: 'hold_expired', entity: 'delivery', key: '1', detail: {} };
    await openIncident(tx, expired, clock.now());
    const provenance = { source: 'run:9', readSeq: 1_000_000, at: clock.now() };
    expect(await markDeleted(tx, DELIVERY, [1], provenance)).toBe(1);
  });
  await house.decide({ rules: () => RULES });
  const held = await store.db.selectFrom('hold').select('order_delivery_id as id').execute();
  expect(held).toEqual([{ id: 2 }, { id: 3 }]);
  const open = store.db.selectFrom('incident').select('kind').where('resolved_at', 'is', null);
  expect(await open.execute()).toEqual([]);
});
