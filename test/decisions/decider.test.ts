import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { dueDeliveries } from '../../src/decisions/due.ts';
import { rulesOf } from '../rules/support.ts';
import { turnsDuring } from '../support/turns.ts';
import {
  ACCEPT_COVERED,
  ACCEPT_SMALL,
  createHouse,
  type House,
  journal,
  loadedRules,
  sendInVain,
} from './support.ts';

const MINUTE = 60_000;

/** Delivery 1 cannot be decided, the others can. */
async function breakDecisionsOn1({ store }: House): Promise<void> {
  await sql`create trigger broken before insert on decision when new.order_delivery_id = 1
    and new.actor = 'daemon' begin
    select raise(abort, 'it is broken'); end`.execute(store.db);
}

async function mendDecisions({ store }: House): Promise<void> {
  await sql`drop trigger broken`.execute(store.db);
}

describe('a pending delivery', () => {
  it('is decided once on the same facts, however often it is looked at', async () => {
    const house = await createHouse();
    await house.delivery({ id: 1, lines: [['a', 30]] });
    expect(await house.decide()).toEqual(['1 hold']);
    expect(await house.decide()).toEqual([]);
    await house.clock.advance(20 * MINUTE);
    expect(await house.decide()).toEqual([]);
    await house.delivery({ id: 1, lines: [['a', 30]] });
    expect(await house.decide()).toEqual([]);
    expect(await house.decisions()).toEqual([{ id: 1, outcome: 'hold', trigger: 'new' }]);
  });

  it('is decided once although the reason tells how old it is', async () => {
    const house = await createHouse();
    const text = ACCEPT_SMALL.replaceAll('20', '1').replace('pieces', 'for {{delivery.age}}');
    const rules = loadedRules(text.replace('quantity > 1', 'age < days(9)'));
    await house.delivery({ id: 1 });
    expect(await house.decide({ rules: () => rules })).toEqual(['1 hold']);
    await house.clock.advance(20 * MINUTE);
    expect(await house.decide({ rules: () => rules })).toEqual([]);
  });

  it('is held by its exact worth, not by that of rounded prices', async () => {
    const house = await createHouse();
    const within = ACCEPT_SMALL.replaceAll('delivery.quantity', 'delivery.amount').replaceAll(
      '20',
      'tables.limits[order.currency]',
    );
    const rules = loadedRules(within, 'version: 1\ntables: { limits: { DKK: 2000 } }\n');
    const packed = async (id: number, quantity: number, price: number) => {
      const line = { barcode: 'a', fulfilledQuantity: quantity, price };
      await house.delivery({ id, more: { fulfilledLineItems: [line] } });
    };
    // 2001.408 and 1999.83, where prices of two decimals would make 2000 and 2001.
    await packed(1, 320, 6.2544);
    await packed(2, 300, 6.6661);
    await packed(3, 300, 6.66501);
    await packed(4, 500, 4);
    expect(await house.decide({ rules: () => rules })).toEqual([
      ...['1 hold', '2 accept', '3 hold', '4 accept'],
    ]);
    const said = await house.store.db.selectFrom('decision').select('reason').execute();
    expect(said[0]?.reason).toContain('2001.408');
  });

  it('is decided again when no rule does it and the reason is another', async () => {
    const house = await createHouse();
    await house.delivery({ id: 1, lines: [] });
    expect(await house.decide()).toEqual(['1 hold']);
    const gone = { deleted_at: house.clock.now() };
    await house.store.db.updateTable('sales_order').set(gone).execute();
    expect(await house.decide()).toEqual(['1 hold']);
  });

  it('is journaled again when what its hold rests on has changed, and else not', async () => {
    const house = await createHouse();
    await house.delivery({ id: 1, lines: [['a', 30]] });
    await house.decide();
    await house.delivery({ id: 1, lines: [['a', 40]] });
    expect(await house.decide()).toEqual(['1 hold']);
    await house.order(1, { comment: 'please hurry' });
    expect(await house.decide()).toEqual([]);
    const stricter = loadedRules(ACCEPT_SMALL.replaceAll('20', '10'));
    expect(await house.decide({ rules: () => stricter })).toEqual([]);
    const laxer = loadedRules(ACCEPT_SMALL.replaceAll('20', '50'));
    expect(await house.decide({ rules: () => laxer })).toEqual(['1 accept']);
    const triggers = (await house.decisions()).map(({ trigger }) => trigger);
    expect(triggers).toEqual(['new', 'changed', 'facts']);
  });

  it('is decided again at once when a fact outside of it, that a rule reads, changed', async () => {
    const house = await createHouse();
    const rules = loadedRules(ACCEPT_COVERED);
    await house.stock({ a: 1 });
    await house.delivery({ id: 1, lines: [['a', 2]] });
    expect(await house.decide({ rules: () => rules })).toEqual(['1 hold']);
    await house.stock({ b: 2 });
    expect(await house.decide({ rules: () => rules })).toEqual([]);
    await house.stock({ a: 2 });
    expect(await house.decide({ rules: () => rules })).toEqual(['1 accept']);
    expect((await house.decisions()).at(-1)).toMatchObject({ trigger: 'facts' });
  });

  it('is decided once although it changed while the clock was ahead', async () => {
    const house = await createHouse();
    const rules = loadedRules(ACCEPT_COVERED);
    const HOUR = 3_600_000;
    const clock = { ...house.clock, now: () => house.clock.now() - HOUR };
    const parts = { clock, rules: () => rules, settleMs: 10_000 };
    await house.delivery({ id: 1, lines: [['a', 2]] });
    expect(await house.decide(parts)).toEqual(['1 hold']);
    const due = { now: clock.now(), settleMs: 10_000 };
    const found = await dueDeliveries(house.store.db, due, new Set(), 9);
    expect(found).toMatchObject({ first: [], later: [] });
    await house.delivery({ id: 1, lines: [['a', 3]] });
    await house.stock({ a: 3 });
    expect(await house.decide(parts)).toEqual(['1 accept']);
  });

  it('is looked at again at once when a clock that was ahead has been set back', async () => {
    const house = await createHouse();
    const fresh = loadedRules(
      'rules: [{ id: fresh, title: Fresh, action: accept, mode: live, when: ' +
        `['order.age < duration("12h")'] }]`,
    );
    const rules = () => fresh;
    await house.delivery({ id: 1 });
    house.clock.step(24 * 60 * MINUTE);
    expect(await house.decide({ rules })).toEqual(['1 no_rule']);
    house.clock.step(-24 * 60 * MINUTE);
    expect(await house.decide({ rules })).toEqual(['1 accept']);
  });

  it('is left alone while it may still be growing', async () => {
    const house = await createHouse();
    await house.delivery({ id: 1 });
    await house.clock.advance(9_000);
    expect(await house.decide({ settleMs: 10_000 })).toEqual([]);
    await house.delivery({ id: 1, lines: [['a', 3]] });
    await house.clock.advance(9_000);
    expect(await house.decide({ settleMs: 10_000 })).toEqual([]);
    await house.clock.advance(1_000);
    expect(await house.decide({ settleMs: 10_000 })).toEqual(['1 accept']);
  });

  it('is left alone while a push of it is on its way', async () => {
    const house = await createHouse();
    await house.delivery({ id: 1 });
    expect(await house.decide()).toEqual(['1 accept']);
    await house.delivery({ id: 1, lines: [['a', 30]] });
    expect(await house.decide()).toEqual([]);
    const now = house.clock.now();
    const ended = { state: 'canceled', ended_at: now } as const;
    await house.store.db.updateTable('outbox').set(ended).execute();
    expect(await house.decide()).toEqual(['1 hold']);
  });

  it('without lines is held, whatever the rules say', async () => {
    const house = await createHouse();
    await house.delivery({ id: 1, lines: [] });
    expect(await house.decide()).toEqual(['1 hold']);
    expect(await house.pushes()).toEqual([]);
  });

  it('of an order that the service no longer has is held until the order is back', async () => {
    const house = await createHouse();
    const gone = async (deletedAt: number | null) => {
      const tombstone = { deleted_at: deletedAt };
      await house.store.db.updateTable('sales_order').set(tombstone).execute();
    };
    await house.delivery({ id: 1, lines: [['a', 30]] });
    expect(await house.decide()).toEqual(['1 hold']);
    await gone(house.clock.now());
    expect(await house.decide()).toEqual(['1 hold']);
    await house.delivery({ id: 1, lines: [['a', 3]] });
    expect(await house.decide()).toEqual(['1 hold']);
    expect(await house.decide()).toEqual([]);
    const last = house.store.db.selectFrom('decision').select(['reason', 'rules']);
    expect(await last.orderBy('decision_id', 'desc').executeTakeFirst()).toEqual({
      reason: 'safeguard order: the service no longer has order 1',
      rules: '[]',
    });
    expect(await house.pushes()).toEqual([]);
    const rules = rulesOf(ACCEPT_SMALL);
    const [tried] = await house.tried({ rules });
    expect(tried).toMatchObject({
      after: 'hold',
      reason: 'safeguard order: the service no longer has order 1',
    });
    await gone(null);
    expect(await house.decide()).toEqual(['1 accept']);
  });

  it('tells of a field of the ERP that is of another kind, until it is not', async () => {
    const house = await createHouse();
    const settings = 'version: 1\ncustomer_fields: { group: text }\n';
    const rules = loadedRules(ACCEPT_COVERED, settings);
    await house.order(1, { shippingAddress: { accountNo: 'C-1' } });
    await house.delivery({ id: 1 });
    const open = async (group: string | number) => {
      await house.customer({ extra: { group } });
      await house.order(1, { comment: String(group), shippingAddress: { accountNo: 'C-1' } });
      await house.decide({ rules: () => rules });
      const incidents = house.store.db.selectFrom('incident').where('resolved_at', 'is', null);
      return incidents.select(['kind', 'key']).execute();
    };
    expect(await open(7)).toEqual([{ kind: 'invalid_customer_data', key: 'C-1' }]);
    expect(await open('B')).toEqual([]);
  });

  it('that no rule is about is journaled and left pending', async () => {
    const house = await createHouse();
    const rules = loadedRules(ACCEPT_SMALL.replaceAll('20', '-1').replaceAll('> -1', '< -1'));
    await house.delivery({ id: 1 });
    expect(await house.decide({ rules: () => rules })).toEqual(['1 no_rule']);
    expect(await house.pushes()).toEqual([]);
  });
});

describe('what a person did in the service', () => {
  it('is left alone until its lines change: a delivery that was put back', async () => {
    const house = await createHouse();
    await house.delivery({ id: 1 });
    expect(await house.decide()).toEqual(['1 accept']);
    await house.endPush('confirmed', { answered: true });
    await house.clock.advance(1_000);
    await house.delivery({ id: 1, status: 'accepted' });
    await house.delivery({ id: 1, status: 'pending' });
    expect(await house.decide()).toEqual([]);
    expect(await journal(house)).toEqual(['daemon accept', 'external hold']);
    await house.order(1, { comment: 'please hurry' });
    expect(await house.decide()).toEqual([]);
    await house.delivery({ id: 1, lines: [['a', 3]] });
    expect(await house.decide()).toEqual(['1 accept']);
    expect(await house.pushes()).toHaveLength(2);
  });

  it('counts as well when it came before the accept was read back', async () => {
    const house = await createHouse();
    await house.delivery({ id: 1 });
    await house.decide();
    await house.clock.advance(1_000);
    await house.endPush('refused', { answered: true });
    expect(await house.decide()).toEqual([]);
    expect(await journal(house)).toEqual(['daemon accept', 'external hold']);
    expect(await house.decide()).toEqual([]);
    await house.delivery({ id: 1, lines: [['a', 3]] });
    expect(await house.decide()).toEqual(['1 accept']);
    expect(await journal(house)).toHaveLength(3);
    await house.clock.advance(1_000);
    await house.endPush('refused', { answered: true });
    await house.decide();
    expect((await journal(house)).at(-1)).toBe('external hold');
  });

  it('is journaled although the daemon was about to do the same', async () => {
    const house = await createHouse();
    await house.delivery({ id: 1 });
    await house.decide();
    await house.clock.advance(1_000);
    await house.delivery({ id: 1, status: 'accepted' });
    await house.endPush('confirmed', { answered: false });
    await house.decide();
    expect(await journal(house)).toEqual(['daemon accept', 'external accept']);
    await house.decide();
    expect(await journal(house)).toHaveLength(2);
  });

  it('is journaled although the daemon had tried, where the service had not taken it', async () => {
    const house = await createHouse();
    await house.delivery({ id: 1 });
    await house.decide();
    const comeBack = await sendInVain(house);
    await comeBack();
    await house.clock.advance(1_000);
    await house.delivery({ id: 1, status: 'accepted' });
    await house.endPush('confirmed', { answered: false });
    await house.decide();
    expect(await journal(house)).toEqual(['daemon accept', 'external accept']);
  });

  it('is not what the daemon itself did, however late the mirror shows it', async () => {
    const house = await createHouse();
    await house.delivery({ id: 1 });
    await house.decide();
    await house.store.db.updateTable('outbox').set({ attempts: 1 }).execute();
    await house.clock.advance(1_000);
    await house.delivery({ id: 1, status: 'accepted' });
    await house.endPush('confirmed', { answered: true });
    await house.decide();
    expect(await journal(house)).toEqual(['daemon accept']);
    await house.clock.advance(1_000);
    await house.delivery({ id: 1, status: 'rejected' });
    await house.decide();
    expect(await journal(house)).toEqual(['daemon accept', 'external reject']);
  });

  it('ends the claim of the rules on it while it is being decided', async () => {
    const house = await createHouse();
    await house.delivery({ id: 1, lines: [['a', 30]] });
    expect(await house.decide()).toEqual(['1 hold']);
    await house.delivery({ id: 1, lines: [['a', 30]], status: 'accepted' });
    await house.delivery({ id: 1, lines: [['a', 30]], status: 'pending' });
    const laxer = loadedRules(ACCEPT_SMALL.replaceAll('20', '50'));
    expect(await house.decide({ rules: () => laxer })).toEqual([]);
    expect(await journal(house)).toEqual(['daemon hold', 'external hold']);
    expect(await house.store.db.selectFrom('hold').selectAll().execute()).toEqual([]);
  });
});

describe('a push that came to nothing', () => {
  it('is not repeated by a decision on the same facts', async () => {
    const house = await createHouse();
    await house.delivery({ id: 1 });
    await house.decide();
    await house.clock.advance(1_000);
    await house.endPush('refused', { answered: false });
    expect(await house.decide()).toEqual([]);
    expect(await house.pushes()).toHaveLength(1);
    await house.delivery({ id: 1, lines: [['a', 3]] });
    expect(await house.decide()).toEqual(['1 accept']);
    expect(await house.pushes()).toHaveLength(2);
  });

  it('is heard of once although the clock was set back since', async () => {
    const house = await createHouse();
    house.clock.step(60 * MINUTE);
    await house.delivery({ id: 1 });
    await house.decide();
    await house.clock.advance(1_000);
    await house.endPush('refused', { answered: false });
    await house.clock.advance(1_000);
    expect(await house.decide()).toEqual([]);
    house.clock.step(-60 * MINUTE);
    expect(await house.decide()).toEqual([]);
    const due = { now: house.clock.now(), settleMs: 0 };
    const found = await dueDeliveries(house.store.db, due, new Set(), 9);
    expect(found).toMatchObject({ first: [], later: [] });
  });

  it('is repeated where it met other lines, and these are gone again', async () => {
    const house = await createHouse();
    await house.delivery({ id: 1 });
    await house.decide();
    await house.clock.advance(1_000);
    await house.delivery({ id: 1, lines: [['a', 3]] });
    await house.endPush('refused', { answered: false });
    // Before anybody has decided on the other ones.
    await house.delivery({ id: 1 });
    expect(await house.decide()).toEqual(['1 accept']);
    expect(await house.pushes()).toHaveLength(2);
    await house.clock.advance(1_000);
    await house.endPush('refused', { answered: false });
    expect(await house.decide()).toEqual([]);
  });
});

describe('modes', () => {
  it('send nothing in observe that was accepted before and still waits', async () => {
    const house = await createHouse();
    await house.delivery({ id: 1 });
    expect(await house.decide()).toEqual(['1 accept']);
    const states = async () => {
      const rows = await house.store.db.selectFrom('outbox').select('state').execute();
      return rows.map(({ state }) => state);
    };
    expect(await house.decide({ mode: 'observe' })).toEqual(['1 accept']);
    expect(await states()).toEqual(['canceled']);
    expect(await house.decide()).toEqual(['1 accept']);
    expect(await states()).toEqual(['canceled', 'queued']);
  });

  it('push nothing in observe and shadow, and decide again when they become live', async () => {
    const house = await createHouse();
    await house.delivery({ id: 1 });
    expect(await house.decide({ mode: 'shadow' })).toEqual(['1 no_rule']);
    expect(await house.decide({ mode: 'observe' })).toEqual(['1 accept']);
    expect(await house.pushes()).toEqual([]);
    expect(await house.decide({ mode: 'live' })).toEqual(['1 accept']);
    expect(await house.pushes()).toEqual(['delivery/1/decision/3']);
    const row = await house.store.db
      .selectFrom('decision')
      .select(['mode', 'shadow'])
      .where('mode', '=', 'shadow')
      .executeTakeFirstOrThrow();
    expect(row.shadow).toContain('accept-small');
  });
});

describe('many deliveries', () => {
  it('use up the stock oldest first, whatever the order in which they became known', async () => {
    const house = await createHouse();
    const rules = loadedRules(ACCEPT_COVERED);
    await house.stock({ a: 5 });
    for (const id of [3, 1, 2]) await house.delivery({ id, order: id, lines: [['a', 2]] });
    const decided = await house.decide({ rules: () => rules });
    expect(decided).toEqual(['1 accept', '2 accept', '3 hold']);
  });

  it('are decided although one of them cannot be, which is told once', async () => {
    const house = await createHouse();
    await breakDecisionsOn1(house);
    for (const id of [1, 2, 3]) await house.delivery({ id, order: id });
    expect(await house.decide()).toEqual(['2 accept', '3 accept']);
    await house.clock.advance(2 * MINUTE);
    expect(await house.decide()).toEqual([]);
    const incidents = () =>
      house.store.db.selectFrom('incident').select(['key', 'detail', 'resolved_at']).execute();
    expect(await incidents()).toMatchObject([{ key: '1', resolved_at: null }]);
    await mendDecisions(house);
    await house.clock.advance(2 * MINUTE);
    expect(await house.decide()).toEqual(['1 accept']);
    expect((await incidents())[0]?.resolved_at).not.toBeNull();
  });

  it('are decided soon where they could not be before the clock was set back', async () => {
    const house = await createHouse();
    await breakDecisionsOn1(house);
    await house.delivery({ id: 1 });
    const decided: number[] = [];
    const decider = house.decider({ onDecided: (one) => decided.push(one.orderDeliveryId) });
    const stop = new AbortController();
    const done = decider.run(stop.signal);
    await house.clock.advance(1);
    house.clock.step(-24 * 60 * MINUTE);
    await mendDecisions(house);
    await house.clock.advance(2 * MINUTE);
    stop.abort();
    await done;
    expect(decided).toEqual([1]);
  });

  it('are told no more once somebody has decided what could not be', async () => {
    const house = await createHouse();
    await house.delivery({ id: 1 });
    await breakDecisionsOn1(house);
    expect(await house.decide()).toEqual([]);
    await house.delivery({ id: 1, status: 'rejected' });
    expect(await house.decide()).toEqual([]);
    const incidents = house.store.db.selectFrom('incident').select(['kind', 'resolved_at']);
    expect(await incidents.execute()).toEqual([
      { kind: 'evaluation_error', resolved_at: house.clock.now() },
    ]);
  });

  it('that are new are decided, though events come without a pause and others wait', async () => {
    const house = await createHouse();
    const rules = loadedRules(ACCEPT_COVERED);
    const set = { rules: () => rules };
    await house.stock({ a: 1 });
    for (let id = 1; id <= 30; id += 1) await house.delivery({ id, order: id, lines: [['a', 5]] });
    expect(await house.decide(set)).toHaveLength(30);
    await house.stock({ a: 2 });
    await house.delivery({ id: 31, order: 31, lines: [] });
    const order: number[] = [];
    const nudging = house.decider({
      ...set,
      onDecided: ({ orderDeliveryId }) => order.push(orderDeliveryId),
    });
    const stop = new AbortController();
    const done = nudging.run(stop.signal);
    for (let turn = 0; turn < 2_000 && order.length < 2; turn += 1) {
      nudging.nudge();
      await new Promise(setImmediate);
    }
    stop.abort();
    await done;
    // The first of the waiting ones has two pieces in its facts now; the others still have none.
    expect(order.toSorted()).toEqual([1, 31]);
  });

  it('let others have their turn in between', async () => {
    const house = await createHouse();
    for (let id = 1; id <= 60; id += 1) await house.delivery({ id, order: id });
    expect(await turnsDuring(() => house.decide())).toBeGreaterThan(60);
  });
});

describe('a decision and its push', () => {
  it('are one transaction: neither is there without the other', async () => {
    const house = await createHouse();
    const { db } = house.store;
    await house.delivery({ id: 1 });
    await sql`create trigger broken before insert on outbox
      begin select raise(abort, 'the disk is full'); end`.execute(db);
    expect(await house.decide()).toEqual([]);
    for (const table of ['decision', 'evaluation', 'fact_snapshot', 'rule_set'] as const) {
      expect(await db.selectFrom(table).selectAll().execute()).toEqual([]);
    }
    await sql`drop trigger broken`.execute(db);
    expect(await house.decide()).toEqual(['1 accept']);
    expect(await house.pushes()).toHaveLength(1);
  });
});
