/** Re-evaluation: what is held is decided otherwise once anything that it rests on has changed. */
import { sql } from 'kysely';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { DeciderDeps } from '../../src/decisions/decider.ts';
import { ACCEPTED_MAX, createReevaluation } from '../../src/decisions/due.ts';
import { SEASON } from '../../src/mirror/catalog/names.ts';
import { PDM } from '../../src/mirror/catalog/pdm.ts';
import { seasonVariants } from '../../src/mirror/catalog/variant.ts';
import { upsertRows } from '../../src/mirror/entity.ts';
import { type ListEntity, markDeleted } from '../../src/mirror/list.ts';
import { DELIVERY } from '../../src/mirror/sales-order.ts';
import { openIncident } from '../../src/store/incidents.ts';
import type { Store } from '../../src/store/store.ts';
import { createShortListStream } from '../../src/sync/streams/short-list.ts';
import { notePlans } from '../support/plans.ts';
import { DELETION_GUARD, runsOn } from '../sync/pull.ts';
import { runnerOf } from '../sync/support.ts';
import {
  ACCEPT_COVERED,
  createDeciderFixture,
  type DeciderFixture,
  loadedRules,
} from './support.ts';

const RULES = loadedRules(ACCEPT_COVERED);

/** Entries of the feed for stock that no delivery has, as a pull leaves them. */
async function pullStock({ store, clock }: DeciderFixture, rows: number): Promise<void> {
  await sql`with recursive n(i) as (select 1 union all select i + 1 from n where i < ${rows})
    insert into change (at, entity, key, op, diff, cause)
    select ${clock.now()}, 'stock_variant', 'x' || i, 'update', '{}', 'run:9' from n`.execute(
    store.db,
  );
}

/** Deliveries that wait, each for stock of its own. */
async function waiting(count: number): Promise<DeciderFixture> {
  const fixture = await createDeciderFixture();
  const ids = Array.from({ length: count }, (_, index) => index + 1);
  await fixture.stock(Object.fromEntries(ids.map((id) => [`sku-${id}`, 0])));
  for (const id of ids) await fixture.delivery({ id, order: id, lines: [[`sku-${id}`, 2]] });
  expect(await fixture.decide({ rules: () => RULES })).toHaveLength(count);
  return fixture;
}

/** A decider that goes on; what it does is noted in order. */
function running(fixture: DeciderFixture, parts: Partial<DeciderDeps> = {}) {
  const { store } = fixture;
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
  const decider = fixture.decider({
    store: counted,
    rules: () => RULES,
    onDecided: ({ orderDeliveryId, outcome }) => noted.push(`${orderDeliveryId} ${outcome.kind}`),
    ...parts,
  });
  const stop = new AbortController();
  const done = decider.run(stop.signal);
  const end = async (): Promise<void> => {
    stop.abort();
    await done;
  };
  onTestFinished(end);
  return {
    decider,
    noted,
    stop: end,
    /** Returns what it does within this time. */
    async after(ms: number): Promise<readonly string[]> {
      noted.length = 0;
      // No time goes by in the middle of a pass: its pause would be long.
      for (const step of [0, ms / 4, ms / 4, ms / 4, ms / 4]) {
        await fixture.clock.advance(step);
        for (let turn = 0; turn < 5; turn += 1) await fixture.clock.advance(0);
      }
      return noted;
    },
  };
}

describe('a pass', () => {
  it('writes nothing for deliveries whose decision would be the same', async () => {
    const fixture = await waiting(30);
    const worker = running(fixture);
    await worker.after(0);
    await pullStock(fixture, 10);
    worker.decider.wake();
    const noted = await worker.after(10_000);
    expect(new Set(noted)).toEqual(new Set(['evaluated']));
    expect(await fixture.decisions()).toHaveLength(30);
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
    const fixture = await createDeciderFixture();
    for (const [index, countryCode] of ['SE', 'DE', 'FR', 'DE'].entries()) {
      await fixture.order(index + 1, { shippingAddress: { countryCode } });
      await fixture.delivery({ id: index + 1, order: index + 1 });
    }
    const held = ['1 hold', '2 hold', '3 hold', '4 hold'];
    expect(await fixture.decide({ rules: () => near('DK', 'GB') })).toEqual(held);
    let rules = near('DK', 'GB');
    const worker = running(fixture, { rules: () => rules });
    expect(await worker.after(0)).not.toContain('written');
    rules = near('DK', 'DE');
    worker.decider.wake();
    const noted = await worker.after(0);
    expect(noted.filter((text) => /\d/.test(text))).toEqual(['2 accept', '4 accept']);
    const journal = (await fixture.decisions()).slice(4);
    expect(journal.map(({ id, trigger }) => `${id} ${trigger}`)).toEqual(['2 rules', '4 rules']);
  });

  it('keeps no new delivery waiting, though a stock run changed 100,000 rows', async () => {
    const fixture = await waiting(50);
    const worker = running(fixture);
    await worker.after(10_000);
    await pullStock(fixture, 100_000);
    await fixture.stock({ 'sku-50': 2, new: 2 });
    await fixture.delivery({ id: 51, order: 51, lines: [['new', 2]] });
    worker.decider.wake();
    const noted = await worker.after(10_000);
    expect(noted.slice(0, noted.indexOf('51 accept'))).not.toContain('evaluated');
    expect(noted).toContain('50 accept');
  });

  it('stops for a delivery that comes while it is under way', async () => {
    const fixture = await waiting(50);
    const worker = running(fixture);
    for (let turn = 0; worker.noted.length < 1 && turn < 1_000; turn += 1) {
      await new Promise(setImmediate);
    }
    await fixture.stock({ new: 2 });
    await fixture.delivery({ id: 51, order: 51, lines: [['new', 2]] });
    worker.noted.length = 0;
    worker.decider.wake();
    await fixture.clock.advance(0);
    await fixture.clock.advance(0);
    expect(worker.noted).toContain('51 accept');
    expect(worker.noted.slice(0, worker.noted.indexOf('51 accept'))).not.toContain('evaluated');
    expect(worker.noted.lastIndexOf('evaluated')).toBeGreaterThan(0);
  });

  it('comes after a pause, and not at all where nothing has moved', async () => {
    const fixture = await waiting(10);
    const worker = running(fixture);
    await worker.after(0);
    const looks = (noted: readonly string[]) => noted.filter((what) => what === 'evaluated').length;
    expect(looks(await worker.after(60_000))).toBe(0);
    await pullStock(fixture, 1);
    worker.decider.wake();
    expect(looks(await worker.after(0))).toBe(1);
    await pullStock(fixture, 1);
    worker.decider.wake();
    expect(looks(await worker.after(1_500))).toBe(0);
    expect(looks(await worker.after(1_000))).toBe(1);
  });

  it('comes at its time where nothing has moved, and when the clock was set back', async () => {
    const fixture = await waiting(10);
    const worker = running(fixture, { reconsiderMs: 600_000 });
    await worker.after(0);
    const looks = (noted: readonly string[]) => noted.filter((what) => what === 'evaluated').length;
    expect(looks(await worker.after(599_000))).toBe(0);
    expect(looks(await worker.after(1_000))).toBe(1);
    await worker.after(10_000);
    fixture.clock.step(-3_600_000);
    expect(looks(await worker.after(30_000))).toBe(1);
  });
});

describe('a wake-up', () => {
  const HALF_A_MINUTE = 30_000;

  it('with ids decides these at once, and all others by the search that follows', async () => {
    const fixture = await waiting(3);
    const worker = running(fixture);
    await worker.after(HALF_A_MINUTE);
    await fixture.stock({ new: 9 });
    for (const id of [11, 12]) await fixture.delivery({ id, order: id, lines: [['new', 2]] });
    worker.decider.decideNow([12]);
    expect(await worker.after(0)).toEqual(['written', '12 accept']);
    expect(await worker.after(2_000)).toContain('11 accept');
  });

  it('that is lost costs half a minute, and nothing at a start', async () => {
    const fixture = await waiting(1);
    const worker = running(fixture);
    await worker.after(HALF_A_MINUTE);
    await fixture.stock({ new: 9 });
    await fixture.delivery({ id: 11, order: 11, lines: [['new', 2]] });
    expect(await worker.after(HALF_A_MINUTE)).toContain('11 accept');
    await worker.stop();
    await fixture.delivery({ id: 12, order: 12, lines: [['new', 2]] });
    worker.decider.decideNow([12]);
    expect(await running(fixture).after(0)).toContain('12 accept');
  });

  it('waits for a delivery that may still grow', async () => {
    const fixture = await waiting(1);
    const worker = running(fixture, { settleMs: 5_000 });
    await worker.after(HALF_A_MINUTE);
    await fixture.stock({ new: 9 });
    await fixture.delivery({ id: 11, order: 11, lines: [['new', 2]] });
    worker.decider.decideNow([11]);
    expect(await worker.after(0)).toEqual([]);
    expect(await worker.after(5_000)).toContain('11 accept');
  });

  it('by an unchanged pull evaluates what waits for this stream, and nobody else', async () => {
    const fixture = await waiting(2);
    const parts = { rules: () => RULES, freshness: { stock: 60_000 } };
    await fixture.stock({ new: 9 });
    await fixture.clock.advance(120_000);
    await fixture.delivery({ id: 11, order: 11, lines: [['new', 2]] });
    const worker = running(fixture, parts);
    expect(await worker.after(HALF_A_MINUTE)).toContain('11 hold');
    await fixture.complete('stock');
    const run = { outcome: 'complete', changed: 0 };
    for (const stream of ['brands', 'seasons']) {
      worker.decider.runEnded({ ...run, stream });
      expect(await worker.after(0)).not.toContain('evaluated');
    }
    worker.decider.runEnded({ ...run, stream: 'stock' });
    expect((await worker.after(0)).slice(0, 3)).toEqual(['evaluated', 'written', '11 accept']);
    await fixture.complete('stock');
    worker.decider.runEnded({ ...run, stream: 'stock' });
    expect(await worker.after(0)).toEqual([]);
  });

  it('by a pull evaluates all where a live rule reads how old the stock is', async () => {
    const fixture = await createDeciderFixture();
    const rules = loadedRules(
      ACCEPT_COVERED.replace('line.stock_free >= line.quantity', 'line.stock_age < duration("1m")'),
    );
    await fixture.stock({ a: 1 });
    await fixture.clock.advance(120_000);
    await fixture.delivery({ id: 1, lines: [['a', 1]] });
    const worker = running(fixture, { rules: () => rules });
    expect(await worker.after(HALF_A_MINUTE)).toContain('1 no_rule');
    await fixture.complete('stock');
    expect(await worker.after(HALF_A_MINUTE)).toContain('1 accept');
  });
});

it('finds status changes by an index of their own, however long the feed is', async () => {
  const fixture = await waiting(1);
  const planned = notePlans(fixture.store);
  await fixture.delivery({ id: 1, order: 1, status: 'rejected', lines: [['sku-1', 2]] });
  await fixture.decide({ store: planned.store, rules: () => RULES });
  const [entry] = await fixture.store.db
    .selectFrom('decision')
    .select('actor')
    .orderBy('decision_id', 'desc')
    .execute();
  expect(entry).toEqual({ actor: 'external' });
  const steps = await planned.steps(/op <> 'insert'/);
  expect(steps).toEqual([
    'SCALAR SUBQUERY 1',
    'SEARCH change USING INDEX change_delivery_status (seq>?)',
    'SEARCH daemon_state USING PRIMARY KEY (key=?)',
  ]);
});

it('asks whose change of a status it was by the pushes of that delivery', async () => {
  const fixture = await createDeciderFixture();
  await fixture.stock({ a: 5 });
  await fixture.delivery({ id: 1, lines: [['a', 2]] });
  expect(await fixture.decide({ rules: () => RULES })).toEqual(['1 accept']);
  await fixture.store.db.updateTable('outbox').set({ attempts: 1 }).execute();
  await fixture.clock.advance(1_000);
  await fixture.delivery({ id: 1, lines: [['a', 2]], status: 'accepted' });
  await fixture.endPush('confirmed', { answered: true });
  const planned = notePlans(fixture.store);
  await fixture.decide({ store: planned.store, rules: () => RULES });
  const journal = fixture.store.db.selectFrom('decision').select('actor').execute();
  expect(await journal).toEqual([{ actor: 'daemon' }]);
  const steps = await planned.steps(/"created_at" <= /);
  expect(steps.filter((step) => / (n|outbox)\b/.test(step))).toEqual([
    'SEARCH outbox USING INDEX outbox_delivery (order_delivery_id=?)',
  ]);
});

const TAKEN = loadedRules(ACCEPT_COVERED);
const taken = { rules: () => TAKEN };

it('decides anew who wants pieces that another delivery no longer has in its lines', async () => {
  const fixture = await createDeciderFixture();
  await fixture.stock({ a: 10, b: 10 });
  await fixture.delivery({ id: 1, lines: [['a', 20]] });
  await fixture.delivery({ id: 2, lines: [['a', 5]] });
  expect(await fixture.decide(taken)).toEqual(['1 hold', '2 hold']);
  await fixture.clock.advance(1_000);
  await fixture.delivery({ id: 1, lines: [['b', 20]] });
  expect(await fixture.decide(taken)).toEqual(['1 hold', '2 accept']);
});

it('decides anew who wants pieces of an order that is completed without a parcel', async () => {
  const fixture = await createDeciderFixture();
  await fixture.stock({ a: 10 });
  await fixture.delivery({ id: 1, lines: [['a', 8]], status: 'accepted' });
  await fixture.clock.advance(1_000);
  await fixture.stock({ a: 10 });
  await fixture.delivery({ id: 2, order: 2, lines: [['a', 5]] });
  expect(await fixture.decide(taken)).toEqual(['2 hold']);
  await fixture.clock.advance(1_000);
  await fixture.order(1, { completed: true });
  await fixture.clock.advance(2_000);
  // Its pieces may have left with a parcel that was not read yet: the stock knows.
  expect(await fixture.decide(taken)).toEqual([]);
  await fixture.delivery({ id: 3, order: 3, lines: [['a', 1]] });
  expect(await fixture.decide(taken)).toEqual(['3 hold']);
  await fixture.clock.advance(1_000);
  await fixture.stock({ a: 10 });
  expect(await fixture.decide(taken)).toEqual(['2 accept', '3 accept']);
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
  const fixture = await createDeciderFixture();
  await fixture.complete('seasons');
  const line = { barcode: 'a', quantity: 10, price: 100, season: 'SS27', delivery: 'June' };
  for (const id of [1, 2]) {
    await fixture.order(id, { orderLineItems: [line] });
    await fixture.delivery({ id, order: id });
  }
  const observing = { rules: () => rules, mode: 'observe' } as const;
  expect(await fixture.decide(observing)).toEqual(['1 accept', '2 accept']);
  await fixture.clock.advance(1_000);
  const row = { season_name: 'SS27', extra: '{}', content_hash: 'x', source: 'run:9' };
  const at = { first_seen_at: 1, changed_at: 1, read_seq: 9 };
  await fixture.store.db
    .insertInto('season')
    .values({ ...row, ...at })
    .execute();
  expect(await fixture.decide(observing)).toEqual(['1 hold', '2 hold']);
});

it('decides anew whose season is not listed once the seasons were read', async () => {
  const rules = loadedRules(`
rules:
  - { id: over, title: Season is over, action: accept, mode: live, when: [ '!season.listed' ] }
`);
  const fixture = await createDeciderFixture();
  await fixture.order(1, { SeasonName: 'SS27' });
  await fixture.delivery({ id: 1, order: 1 });
  expect(await fixture.decide({ rules: () => rules })).toEqual(['1 hold']);
  const runs = runsOn(runnerOf(fixture.store));
  const read = async () => ({ rows: [], rejects: [], count: 0, startedAt: 0 });
  const stream = { name: 'seasons', entity: SEASON, deletionGuard: DELETION_GUARD, read };
  await runs.run(createShortListStream(stream));
  expect(await fixture.decide({ rules: () => rules })).toEqual(['1 accept']);
});

it('decides anew whose style changed although it is only ordered ahead', async () => {
  const fixture = await createDeciderFixture();
  await fixture.complete('styles');
  const rules = loadedRules(`
rules:
  - id: accept-sold
    title: Still sold
    action: accept
    mode: live
    when: [ 'delivery.lines.all(line, line.style_active)' ]
`);
  const write = (entity: ListEntity, record: object) =>
    fixture.store.transaction((tx) =>
      upsertRows(tx, entity, [entity.toRow(structuredClone(record))], {
        ...{ source: 'run:1', readSeq: 1, at: fixture.clock.now() },
      }),
    );
  const style = { id: '7', attributes: { styleNo: 'S-1', active: false } };
  await write(seasonVariants('AW26'), { barcode: 'z', quantity: 9, details: { styleNo: 'S-1' } });
  await write(PDM.styles, style);
  await fixture.order(1, { SeasonName: 'AW26' });
  await fixture.delivery({ id: 1, lines: [['z', 2]] });
  expect(await fixture.decide({ rules: () => rules })).toEqual(['1 no_rule']);
  await fixture.clock.advance(1_000);
  await write(PDM.styles, { ...style, attributes: { ...style.attributes, active: true } });
  expect(await fixture.decide({ rules: () => rules })).toEqual(['1 accept']);
});

it('holds no delivery that is gone, and tells of none', async () => {
  const fixture = await waiting(3);
  const { store, clock } = fixture;
  await store.transaction(async (tx) => {
    const hold = { afterwards: 'escalate', lapsed_at: clock.now() } as const;
    const [{ rule_id: key = '' } = {}] = await tx
      .updateTable('hold')
      .set(hold)
      .where('order_delivery_id', '=', 1)
      .returning('rule_id')
      .execute();
    const expired = { kind: 'hold_expired', entity: 'rule', key, detail: {} };
    await openIncident(tx, expired, clock.now());
    const provenance = { source: 'run:9', readSeq: 1_000_000, at: clock.now() };
    expect(await markDeleted(tx, DELIVERY, [1], provenance)).toBe(1);
  });
  await fixture.decide({ rules: () => RULES });
  const held = await store.db.selectFrom('hold').select('order_delivery_id as id').execute();
  expect(held).toEqual([{ id: 2 }, { id: 3 }]);
  const open = store.db.selectFrom('incident').select('kind').where('resolved_at', 'is', null);
  expect(await open.execute()).toEqual([]);
});

it('looks at fewer together where a look takes long, so that it keeps nobody waiting', async () => {
  const fixture = await waiting(40);
  const { clock } = fixture;
  let looksMs = 200;
  const store: Store = {
    db: fixture.store.db,
    path: fixture.store.path,
    close: () => fixture.store.close(),
    transaction: (work) => fixture.store.transaction(work),
    async snapshot(read) {
      await clock.advance(looksMs);
      return fixture.store.snapshot(read);
    },
  };
  const contextNow = () =>
    ({ rules: RULES, mode: 'live', freshness: {}, now: clock.now() }) as const;
  const passes = createReevaluation({ store, clock, contextNow, reconsiderMs: 3_600_000 });
  const look = async (): Promise<number> => {
    const ids = passes.next();
    await passes.evaluate(ids);
    return ids.length;
  };
  expect(await passes.prepare()).toBe(0);
  expect([await look(), await look()]).toEqual([20, 5]);
  looksMs = 1;
  expect([await look(), await look()]).toEqual([1, 14]);
});

it('looks at a slice of the accepted ones in each pass, and at all of them by and by', async () => {
  const fixture = await waiting(1);
  const { store, clock } = fixture;
  const accepted = ACCEPTED_MAX + 500;
  await sql`with recursive n(i) as (select 2 union all select i + 1 from n where i <= ${accepted})
    insert into delivery (order_delivery_id, order_id, status, tracking_numbers, tracking_links,
      extra, content_hash, first_seen_at, changed_at, read_seq, source)
    select i, 1, 'accepted', '[]', '[]', '{}', 'd', 1, 1, 1, '' from n`.execute(store.db);
  await sql`insert into evaluation (order_delivery_id, decision_id, delivery_hash, order_hash,
      rules_key, evaluated_at, due_at)
    select order_delivery_id, 1, 'd', 'o', 'r', 1, 1 from delivery
    where status = 'accepted'`.execute(store.db);
  const rules = loadedRules(
    'rules: [{ id: late, title: Late, action: hold, mode: live, applies_to: [pending, accepted], ' +
      `when: ['order.age > duration("12h")'] }]`,
  );
  const contextNow = () => ({ rules, mode: 'live', freshness: {}, now: clock.now() }) as const;
  const passes = createReevaluation({ store, clock, contextNow, reconsiderMs: 3_600_000 });
  const pass = async () => {
    expect(await passes.prepare()).toBe(0);
    const ids: number[] = [];
    for (let some = passes.next(); some.length > 0; some = passes.next()) ids.push(...some);
    await clock.advance(10_000);
    return { ids, first: ids[0], last: ids.at(-1), count: ids.length };
  };
  expect(await pass()).toMatchObject({ first: 1, last: 1_001, count: 1 + ACCEPTED_MAX });
  // The facts have changed: the one that is held comes first again, and the rotation goes on.
  await pullStock(fixture, 1);
  const second = await pass();
  expect(second).toMatchObject({ first: 1, last: 501, count: 1 + ACCEPTED_MAX });
  expect(second.ids[1]).toBe(1_002);
  // They have not: the others follow alone.
  expect(await pass()).toMatchObject({ first: 502, last: 1_001, count: 500 });
  expect(await passes.prepare()).toBeGreaterThan(60_000);
});
