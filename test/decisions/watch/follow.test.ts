import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { escalate } from '../../../src/decisions/holds/escalation.ts';
import { createFollower } from '../../../src/decisions/watch/follow.ts';
import { hasConcerned, markConcerned } from '../../../src/decisions/watch/mark.ts';
import { readsOf } from '../../../src/decisions/watch/reads.ts';
import { SEASON } from '../../../src/mirror/catalog/names.ts';
import { PDM } from '../../../src/mirror/catalog/pdm.ts';
import { seasonVariants } from '../../../src/mirror/catalog/variant.ts';
import { DELIVERY } from '../../../src/mirror/delivery.ts';
import { writeRows } from '../../../src/mirror/entity.ts';
import { type ListEntity, markDeleted } from '../../../src/mirror/list.ts';
import type { Store } from '../../../src/store/store.ts';
import { createShortListStream } from '../../../src/sync/streams/short-list.ts';
import { FUSE, runsOn } from '../../sync/pull.ts';
import { runnerOf } from '../../sync/support.ts';
import { ACCEPT_COVERED, createHouse, type House, loadedRules } from '../support.ts';

const RULES = loadedRules(ACCEPT_COVERED);

/** Entries of the feed for stock that no delivery has, as a first pull leaves them. */
async function pullStock({ store, clock }: House, rows: number): Promise<void> {
  await sql`with recursive n(i) as (select 1 union all select i + 1 from n where i < ${rows})
    insert into change (at, entity, key, op, diff, cause)
    select ${clock.now()}, 'stock_variant', 'x' || i, 'insert', '{}', 'run:9' from n`.execute(
    store.db,
  );
}

async function pullOne({ store, clock }: House, entity: string, key: string): Promise<number> {
  const { seq } = await store.db
    .insertInto('change')
    .values({ at: clock.now(), entity, key, op: 'update', diff: '{}', cause: 'run:9' })
    .returning('seq')
    .executeTakeFirstOrThrow();
  return seq;
}

async function due({ store }: House): Promise<readonly number[]> {
  const rows = await store.db
    .selectFrom('evaluation')
    .select('order_delivery_id as id')
    .where('due_why', '=', 'facts')
    .orderBy('id')
    .execute();
  return rows.map(({ id }) => id);
}

/** Three deliveries that wait, each for stock of its own. */
async function waiting(): Promise<House> {
  const house = await createHouse();
  await house.stock({ a: 0, b: 0, c: 0 });
  for (const [at, barcode] of ['a', 'b', 'c'].entries()) {
    await house.delivery({ id: at + 1, lines: [[barcode, 2]] });
  }
  await house.decide({ rules: () => RULES });
  expect(await due(house)).toEqual([]);
  return house;
}

function followerOf({ store, clock }: House) {
  const count = { transactions: 0 };
  const counted: Store = {
    db: store.db,
    path: store.path,
    snapshot: (read) => store.snapshot(read),
    close: () => store.close(),
    transaction(work) {
      count.transactions += 1;
      return store.transaction(work);
    },
  };
  const follower = createFollower(counted, () => {
    return { rules: RULES, mode: 'live', now: clock.now() };
  });
  return {
    count,
    follow: () => follower.follow(),
    async toTheEnd(): Promise<void> {
      while (!(await follower.follow()));
    },
  };
}

it('marks whom a change deep in the feed concerns, and nobody else', async () => {
  const house = await waiting();
  await pullStock(house, 3_000);
  await pullOne(house, 'stock_variant', 'b');
  await pullStock(house, 5_000);
  await followerOf(house).toTheEnd();
  expect(await due(house)).toEqual([2]);
});

it('writes nothing for changes that concern nobody, but now and then how far it is', async () => {
  const house = await waiting();
  const { count, toTheEnd } = followerOf(house);
  await toTheEnd();
  count.transactions = 0;
  await pullStock(house, 30_000);
  await toTheEnd();
  expect(count.transactions).toBe(0);
  await pullStock(house, 30_000);
  await toTheEnd();
  expect(count.transactions).toBe(1);
});

it('writes nothing for an order that is understood again where nobody did anything', async () => {
  const house = await waiting();
  const { count, toTheEnd } = followerOf(house);
  await house.order(1, { status: 'mislaid' });
  await house.order(1);
  await toTheEnd();
  count.transactions = 0;
  await house.order(1, { status: 'mislaid' });
  await house.order(1);
  await toTheEnd();
  expect(count.transactions).toBe(0);
});

it('is at the end of a feed at once while there are no deliveries, and heeds a first', async () => {
  const house = await createHouse();
  await pullStock(house, 30_000);
  const { follow, toTheEnd, count } = followerOf(house);
  expect(await follow()).toBe(true);
  expect(count.transactions).toBe(0);
  await house.stock({ a: 0 });
  await house.delivery({ id: 1, lines: [['a', 2]] });
  await house.decide({ rules: () => RULES });
  await pullStock(house, 100);
  await pullOne(house, 'stock_variant', 'a');
  await toTheEnd();
  expect(await due(house)).toEqual([1]);
});

it('looks twice at what was not written down before a kill, and decides nothing anew', async () => {
  const house = await waiting();
  await pullStock(house, 100);
  await pullOne(house, 'stock_variant', 'a');
  await pullStock(house, 100);
  await followerOf(house).toTheEnd();
  expect(await due(house)).toEqual([1]);
  await house.decide({ rules: () => RULES });
  const decisions = await house.decisions();
  // As if nothing of what it did had been written down but the decision.
  await sql`update daemon_state set value = '0' where key = 'decisions_feed_seq'`.execute(
    house.store.db,
  );
  await followerOf(house).toTheEnd();
  expect(await house.decide({ rules: () => RULES })).toEqual([]);
  expect(await house.decisions()).toEqual(decisions);
});

it('misses nothing for a delivery that comes while it looks at a long feed', async () => {
  const house = await waiting();
  await pullStock(house, 12_000);
  const seq = await pullOne(house, 'stock_variant', 'd');
  const { follow, toTheEnd } = followerOf(house);
  // It has looked at some of it, and pauses.
  expect(await follow()).toBe(false);
  await house.delivery({ id: 4, lines: [['d', 2]] });
  await house.decide({ rules: () => RULES });
  const evaluation = await house.store.db
    .selectFrom('evaluation')
    .select('seen_seq')
    .where('order_delivery_id', '=', 4)
    .executeTakeFirstOrThrow();
  expect(evaluation.seen_seq).toBeGreaterThan(seq);
  await pullOne(house, 'stock_variant', 'd');
  await toTheEnd();
  expect(await due(house)).toEqual([4]);
});

it('finds the barcode of a season variant, whatever strokes are in it and its season', async () => {
  const house = await waiting();
  await house.delivery({ id: 4, lines: [['~/c/1', 2]] });
  await house.decide({ rules: () => RULES });
  const write = (season: string, barcode: string) => {
    const entity = seasonVariants(season);
    return house.store.transaction((tx) =>
      writeRows(tx, entity, [entity.toRow({ barcode, quantity: 1 })], {
        ...{ source: 'run:9', readSeq: 9, at: house.clock.now() },
      }),
    );
  };
  const lastChange = async () => {
    const newest = house.store.db.selectFrom('change').select('seq').orderBy('seq', 'desc');
    return (await newest.executeTakeFirstOrThrow()).seq;
  };
  await write('SS/26', 'b');
  const after = await lastChange();
  await write('SS/27 a', 'c');
  await write('SS/27', '~/c/1');
  const last = await lastChange();
  const [reads, stretch] = [readsOf(RULES.ruleSet), { after, last }];
  await house.store.transaction(async (tx) => {
    const before = { after: last, last: last + 1 };
    expect(await hasConcerned(tx, 'season_variant', before, reads, 5)).toBe(false);
    expect(await hasConcerned(tx, 'season_variant', stretch, reads, 5)).toBe(true);
    await markConcerned(tx, 'season_variant', stretch, reads, 5);
  });
  expect(await due(house)).toEqual([3, 4]);
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
  expect(await house.decide(taken)).toEqual(['1 hold']);
  await house.clock.advance(2_000);
  expect(await house.decide(taken)).toEqual(['2 accept']);
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
  expect(await house.decide(taken)).toEqual([]);
  await house.clock.advance(2_000);
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
  await pullOne(house, 'season', 'SS27');
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
  const stream = { name: 'seasons', entity: SEASON, fuse: FUSE, read };
  await runs.run(createShortListStream(stream));
  expect(await house.decide({ rules: () => rules })).toEqual(['1 accept']);
});

it('marks whose style changed although it is only ordered ahead, and not in stock', async () => {
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
      writeRows(tx, entity, [entity.toRow(structuredClone(record))], {
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
  const house = await waiting();
  const { store, clock } = house;
  const hold = { rule_id: 'r', since: 0, expires_at: 1 };
  await store.transaction(async (tx) => {
    const rest = { order_delivery_id: 1, rule_hash: 'x', afterwards: 'escalate' } as const;
    await tx
      .insertInto('hold')
      .values({ ...hold, ...rest, until_at: null })
      .execute();
    await escalate(tx, 1, [hold], 'too long', clock.now());
    const provenance = { source: 'run:9', readSeq: 1_000_000, at: clock.now() };
    expect(await markDeleted(tx, DELIVERY, [1], provenance)).toBe(1);
  });
  await followerOf(house).follow();
  const held = await store.db.selectFrom('hold').select('order_delivery_id as id').execute();
  expect(held).toEqual([{ id: 2 }, { id: 3 }]);
  const open = store.db.selectFrom('incident').select('kind').where('resolved_at', 'is', null);
  expect(await open.execute()).toEqual([]);
});
