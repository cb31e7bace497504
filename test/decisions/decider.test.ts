import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { dueDeliveries } from '../../src/decisions/due.ts';
import { rulesOf } from '../rules/support.ts';
import { turnsDuring } from '../support/turns.ts';
import {
  ACCEPT_COVERED,
  ACCEPT_SMALL,
  createDeciderFixture,
  type DeciderFixture,
  journal,
  loadedRules,
  sendInVain,
} from './support.ts';

const MINUTE = 60_000;

/** Delivery 1 cannot be decided, the others can. */
async function breakDecisionsOn1({ store }: DeciderFixture): Promise<void> {
  await sql`create trigger broken before insert on decision when new.order_delivery_id = 1
    and new.actor = 'daemon' begin
    select raise(abort, 'it is broken'); end`.execute(store.db);
}

async function mendDecisions({ store }: DeciderFixture): Promise<void> {
  await sql`drop trigger broken`.execute(store.db);
}

describe('a pending delivery', () => {
  it('is decided once on the same facts, however often it is looked at', async () => {
    const fixture = await createDeciderFixture();
    await fixture.delivery({ id: 1, lines: [['a', 30]] });
    expect(await fixture.decide()).toEqual(['1 hold']);
    expect(await fixture.decide()).toEqual([]);
    await fixture.clock.advance(20 * MINUTE);
    expect(await fixture.decide()).toEqual([]);
    await fixture.delivery({ id: 1, lines: [['a', 30]] });
    expect(await fixture.decide()).toEqual([]);
    expect(await fixture.decisions()).toEqual([{ id: 1, outcome: 'hold', trigger: 'new' }]);
  });

  it('is decided once although the reason tells how old it is', async () => {
    const fixture = await createDeciderFixture();
    const text = ACCEPT_SMALL.replaceAll('20', '1').replace('pieces', 'for {{delivery.age}}');
    const rules = loadedRules(text.replace('quantity > 1', 'age < days(9)'));
    await fixture.delivery({ id: 1 });
    expect(await fixture.decide({ rules: () => rules })).toEqual(['1 hold']);
    await fixture.clock.advance(20 * MINUTE);
    expect(await fixture.decide({ rules: () => rules })).toEqual([]);
  });

  it('is held by its exact worth, not by that of rounded prices', async () => {
    const fixture = await createDeciderFixture();
    const within = ACCEPT_SMALL.replaceAll('delivery.quantity', 'delivery.amount').replaceAll(
      '20',
      'tables.limits[order.currency]',
    );
    const rules = loadedRules(within, 'version: 1\ntables: { limits: { DKK: 2000 } }\n');
    const packed = async (id: number, quantity: number, price: number) => {
      const line = { barcode: 'a', fulfilledQuantity: quantity, price };
      await fixture.delivery({ id, more: { fulfilledLineItems: [line] } });
    };
    // 2001.408 and 1999.83, where prices of two decimals would make 2000 and 2001.
    await packed(1, 320, 6.2544);
    await packed(2, 300, 6.6661);
    await packed(3, 300, 6.66501);
    await packed(4, 500, 4);
    expect(await fixture.decide({ rules: () => rules })).toEqual([
      ...['1 hold', '2 accept', '3 hold', '4 accept'],
    ]);
    const said = await fixture.store.db.selectFrom('decision').select('reason').execute();
    expect(said[0]?.reason).toContain('2001.408');
  });

  it('is decided again when no rule does it and the reason is another', async () => {
    const fixture = await createDeciderFixture();
    await fixture.delivery({ id: 1, lines: [] });
    expect(await fixture.decide()).toEqual(['1 hold']);
    const gone = { deleted_at: fixture.clock.now() };
    await fixture.store.db.updateTable('sales_order').set(gone).execute();
    expect(await fixture.decide()).toEqual(['1 hold']);
  });

  it('is journaled again when what its hold rests on has changed, and else not', async () => {
    const fixture = await createDeciderFixture();
    await fixture.delivery({ id: 1, lines: [['a', 30]] });
    await fixture.decide();
    await fixture.delivery({ id: 1, lines: [['a', 40]] });
    expect(await fixture.decide()).toEqual(['1 hold']);
    await fixture.order(1, { comment: 'please hurry' });
    expect(await fixture.decide()).toEqual([]);
    const stricter = loadedRules(ACCEPT_SMALL.replaceAll('20', '10'));
    expect(await fixture.decide({ rules: () => stricter })).toEqual([]);
    const laxer = loadedRules(ACCEPT_SMALL.replaceAll('20', '50'));
    expect(await fixture.decide({ rules: () => laxer })).toEqual(['1 accept']);
    const triggers = (await fixture.decisions()).map(({ trigger }) => trigger);
    expect(triggers).toEqual(['new', 'changed', 'facts']);
  });

  it('is decided again at once when a fact outside of it, that a rule reads, changed', async () => {
    const fixture = await createDeciderFixture();
    const rules = loadedRules(ACCEPT_COVERED);
    await fixture.stock({ a: 1 });
    await fixture.delivery({ id: 1, lines: [['a', 2]] });
    expect(await fixture.decide({ rules: () => rules })).toEqual(['1 hold']);
    await fixture.stock({ b: 2 });
    expect(await fixture.decide({ rules: () => rules })).toEqual([]);
    await fixture.stock({ a: 2 });
    expect(await fixture.decide({ rules: () => rules })).toEqual(['1 accept']);
    expect((await fixture.decisions()).at(-1)).toMatchObject({ trigger: 'facts' });
  });

  it('is decided once although it changed while the clock was ahead', async () => {
    const fixture = await createDeciderFixture();
    const rules = loadedRules(ACCEPT_COVERED);
    const HOUR = 3_600_000;
    const clock = { ...fixture.clock, now: () => fixture.clock.now() - HOUR };
    const parts = { clock, rules: () => rules, settleMs: 10_000 };
    await fixture.delivery({ id: 1, lines: [['a', 2]] });
    expect(await fixture.decide(parts)).toEqual(['1 hold']);
    const due = { now: clock.now(), settleMs: 10_000 };
    const found = await dueDeliveries(fixture.store.db, due, new Set(), 9);
    expect(found).toMatchObject({ first: [], later: [] });
    await fixture.delivery({ id: 1, lines: [['a', 3]] });
    await fixture.stock({ a: 3 });
    await fixture.store.db.updateTable('stream_state').set({ complete_at: clock.now() }).execute();
    expect(await fixture.decide(parts)).toEqual(['1 accept']);
  });

  it('is looked at again at once when a clock that was ahead has been set back', async () => {
    const fixture = await createDeciderFixture();
    const fresh = loadedRules(
      'rules: [{ id: fresh, title: Fresh, action: accept, mode: live, when: ' +
        `['order.age < duration("12h")'] }]`,
    );
    const rules = () => fresh;
    await fixture.delivery({ id: 1 });
    fixture.clock.step(24 * 60 * MINUTE);
    expect(await fixture.decide({ rules })).toEqual(['1 no_rule']);
    fixture.clock.step(-24 * 60 * MINUTE);
    expect(await fixture.decide({ rules })).toEqual(['1 accept']);
  });

  it('is left alone while it may still be growing', async () => {
    const fixture = await createDeciderFixture();
    await fixture.delivery({ id: 1 });
    await fixture.clock.advance(9_000);
    expect(await fixture.decide({ settleMs: 10_000 })).toEqual([]);
    await fixture.delivery({ id: 1, lines: [['a', 3]] });
    await fixture.clock.advance(9_000);
    expect(await fixture.decide({ settleMs: 10_000 })).toEqual([]);
    await fixture.clock.advance(1_000);
    expect(await fixture.decide({ settleMs: 10_000 })).toEqual(['1 accept']);
  });

  it('is left alone while a push of it is on its way', async () => {
    const fixture = await createDeciderFixture();
    await fixture.delivery({ id: 1 });
    expect(await fixture.decide()).toEqual(['1 accept']);
    await fixture.delivery({ id: 1, lines: [['a', 30]] });
    expect(await fixture.decide()).toEqual([]);
    const now = fixture.clock.now();
    const ended = { state: 'canceled', ended_at: now } as const;
    await fixture.store.db.updateTable('outbox').set(ended).execute();
    expect(await fixture.decide()).toEqual(['1 hold']);
  });

  it('without lines is held, whatever the rules say', async () => {
    const fixture = await createDeciderFixture();
    await fixture.delivery({ id: 1, lines: [] });
    expect(await fixture.decide()).toEqual(['1 hold']);
    expect(await fixture.pushes()).toEqual([]);
  });

  it('of an order that the service no longer has is held until the order is back', async () => {
    const fixture = await createDeciderFixture();
    const gone = async (deletedAt: number | null) => {
      const tombstone = { deleted_at: deletedAt };
      await fixture.store.db.updateTable('sales_order').set(tombstone).execute();
    };
    await fixture.delivery({ id: 1, lines: [['a', 30]] });
    expect(await fixture.decide()).toEqual(['1 hold']);
    await gone(fixture.clock.now());
    expect(await fixture.decide()).toEqual(['1 hold']);
    await fixture.delivery({ id: 1, lines: [['a', 3]] });
    expect(await fixture.decide()).toEqual(['1 hold']);
    expect(await fixture.decide()).toEqual([]);
    const last = fixture.store.db.selectFrom('decision').select(['reason', 'rules']);
    expect(await last.orderBy('decision_id', 'desc').executeTakeFirst()).toEqual({
      reason: 'safeguard order: the service no longer has order 1',
      rules: '[]',
    });
    expect(await fixture.pushes()).toEqual([]);
    const rules = rulesOf(ACCEPT_SMALL);
    const [tried] = await fixture.tried({ rules });
    expect(tried).toMatchObject({
      after: 'hold',
      reason: 'safeguard order: the service no longer has order 1',
    });
    await gone(null);
    expect(await fixture.decide()).toEqual(['1 accept']);
  });

  it('tells of a field of the ERP that is of another kind, until it is not', async () => {
    const fixture = await createDeciderFixture();
    const settings = 'version: 1\ncustomer_fields: { group: text }\n';
    const rules = loadedRules(ACCEPT_COVERED, settings);
    await fixture.order(1, { shippingAddress: { accountNo: 'C-1' } });
    await fixture.delivery({ id: 1 });
    const open = async (group: string | number) => {
      await fixture.customer({ extra: { group } });
      await fixture.order(1, { comment: String(group), shippingAddress: { accountNo: 'C-1' } });
      await fixture.decide({ rules: () => rules });
      const incidents = fixture.store.db.selectFrom('incident').where('resolved_at', 'is', null);
      return incidents.select(['kind', 'key']).execute();
    };
    expect(await open(7)).toEqual([
      { kind: 'invalid_customer_data', key: 'group should be a text' },
    ]);
    expect(await open('B')).toEqual([]);
    // Once all of the customer's deliveries are decided, no evaluation would end it.
    expect(await open(8)).toHaveLength(1);
    await fixture.delivery({ id: 1, status: 'accepted' });
    expect(await open(8)).toEqual([]);
  });

  it('is looked at after a day at most, whatever it waits for', async () => {
    const fixture = await createDeciderFixture();
    await fixture.delivery({ id: 1, lines: [['a', 30]] });
    await fixture.delivery({ id: 2, lines: [] });
    expect(await fixture.decide()).toEqual(['1 hold', '2 hold']);
    const none = loadedRules('rules: []');
    await fixture.delivery({ id: 3 });
    await fixture.decide({ rules: () => none });
    const rows = await fixture.store.db.selectFrom('evaluation').select('due_at').execute();
    const tomorrow = fixture.clock.now() + 24 * 60 * MINUTE;
    expect(rows.map(({ due_at }) => (due_at ?? Infinity) <= tomorrow)).toEqual([true, true, true]);
  });

  it('that no rule is about is journaled and left pending', async () => {
    const fixture = await createDeciderFixture();
    const rules = loadedRules(ACCEPT_SMALL.replaceAll('20', '-1').replaceAll('> -1', '< -1'));
    await fixture.delivery({ id: 1 });
    expect(await fixture.decide({ rules: () => rules })).toEqual(['1 no_rule']);
    expect(await fixture.pushes()).toEqual([]);
  });
});

describe('what a person did in the service', () => {
  it('is left alone until its lines change: a delivery that was put back', async () => {
    const fixture = await createDeciderFixture();
    await fixture.delivery({ id: 1 });
    expect(await fixture.decide()).toEqual(['1 accept']);
    await fixture.endPush('confirmed', { answered: true });
    await fixture.clock.advance(1_000);
    await fixture.delivery({ id: 1, status: 'accepted' });
    await fixture.delivery({ id: 1, status: 'pending' });
    expect(await fixture.decide()).toEqual([]);
    expect(await journal(fixture)).toEqual(['daemon accept', 'external hold']);
    await fixture.order(1, { comment: 'please hurry' });
    expect(await fixture.decide()).toEqual([]);
    await fixture.delivery({ id: 1, lines: [['a', 3]] });
    expect(await fixture.decide()).toEqual(['1 accept']);
    expect(await fixture.pushes()).toHaveLength(2);
  });

  it('counts as well when it came before the accept was read back', async () => {
    const fixture = await createDeciderFixture();
    await fixture.delivery({ id: 1 });
    await fixture.decide();
    await fixture.clock.advance(1_000);
    await fixture.endPush('refused', { answered: true });
    expect(await fixture.decide()).toEqual([]);
    expect(await journal(fixture)).toEqual(['daemon accept', 'external hold']);
    expect(await fixture.decide()).toEqual([]);
    await fixture.delivery({ id: 1, lines: [['a', 3]] });
    expect(await fixture.decide()).toEqual(['1 accept']);
    expect(await journal(fixture)).toHaveLength(3);
    await fixture.clock.advance(1_000);
    await fixture.endPush('refused', { answered: true });
    await fixture.decide();
    expect((await journal(fixture)).at(-1)).toBe('external hold');
  });

  it('is journaled although the daemon was about to do the same', async () => {
    const fixture = await createDeciderFixture();
    await fixture.delivery({ id: 1 });
    await fixture.decide();
    await fixture.clock.advance(1_000);
    await fixture.delivery({ id: 1, status: 'accepted' });
    await fixture.endPush('confirmed', { answered: false });
    await fixture.decide();
    expect(await journal(fixture)).toEqual(['daemon accept', 'external accept']);
    await fixture.decide();
    expect(await journal(fixture)).toHaveLength(2);
  });

  it('is journaled although the daemon had tried, where the service had not taken it', async () => {
    const fixture = await createDeciderFixture();
    await fixture.delivery({ id: 1 });
    await fixture.decide();
    const comeBack = await sendInVain(fixture);
    await comeBack();
    await fixture.clock.advance(1_000);
    await fixture.delivery({ id: 1, status: 'accepted' });
    await fixture.endPush('confirmed', { answered: false });
    await fixture.decide();
    expect(await journal(fixture)).toEqual(['daemon accept', 'external accept']);
  });

  it('is not what the daemon itself did, however late the mirror shows it', async () => {
    const fixture = await createDeciderFixture();
    await fixture.delivery({ id: 1 });
    await fixture.decide();
    await fixture.store.db.updateTable('outbox').set({ attempts: 1 }).execute();
    await fixture.clock.advance(1_000);
    await fixture.delivery({ id: 1, status: 'accepted' });
    await fixture.endPush('confirmed', { answered: true });
    await fixture.decide();
    expect(await journal(fixture)).toEqual(['daemon accept']);
    await fixture.clock.advance(1_000);
    await fixture.delivery({ id: 1, status: 'rejected' });
    await fixture.decide();
    expect(await journal(fixture)).toEqual(['daemon accept', 'external reject']);
  });

  it('ends the claim of the rules on it while it is being decided', async () => {
    const fixture = await createDeciderFixture();
    await fixture.delivery({ id: 1, lines: [['a', 30]] });
    expect(await fixture.decide()).toEqual(['1 hold']);
    await fixture.delivery({ id: 1, lines: [['a', 30]], status: 'accepted' });
    await fixture.delivery({ id: 1, lines: [['a', 30]], status: 'pending' });
    const laxer = loadedRules(ACCEPT_SMALL.replaceAll('20', '50'));
    expect(await fixture.decide({ rules: () => laxer })).toEqual([]);
    expect(await journal(fixture)).toEqual(['daemon hold', 'external hold']);
    expect(await fixture.store.db.selectFrom('hold').selectAll().execute()).toEqual([]);
  });
});

describe('a push that came to nothing', () => {
  it('is not repeated by a decision on the same facts', async () => {
    const fixture = await createDeciderFixture();
    await fixture.delivery({ id: 1 });
    await fixture.decide();
    await fixture.clock.advance(1_000);
    await fixture.endPush('refused', { answered: false });
    expect(await fixture.decide()).toEqual([]);
    expect(await fixture.pushes()).toHaveLength(1);
    await fixture.delivery({ id: 1, lines: [['a', 3]] });
    expect(await fixture.decide()).toEqual(['1 accept']);
    expect(await fixture.pushes()).toHaveLength(2);
  });

  it('is heard of once although the clock was set back since', async () => {
    const fixture = await createDeciderFixture();
    fixture.clock.step(60 * MINUTE);
    await fixture.delivery({ id: 1 });
    await fixture.decide();
    await fixture.clock.advance(1_000);
    await fixture.endPush('refused', { answered: false });
    await fixture.clock.advance(1_000);
    expect(await fixture.decide()).toEqual([]);
    fixture.clock.step(-60 * MINUTE);
    expect(await fixture.decide()).toEqual([]);
    const due = { now: fixture.clock.now(), settleMs: 0 };
    const found = await dueDeliveries(fixture.store.db, due, new Set(), 9);
    expect(found).toMatchObject({ first: [], later: [] });
  });

  it('is repeated where it met other lines, and these are gone again', async () => {
    const fixture = await createDeciderFixture();
    await fixture.delivery({ id: 1 });
    await fixture.decide();
    await fixture.clock.advance(1_000);
    await fixture.delivery({ id: 1, lines: [['a', 3]] });
    await fixture.endPush('refused', { answered: false });
    // Before anybody has decided on the other ones.
    await fixture.delivery({ id: 1 });
    expect(await fixture.decide()).toEqual(['1 accept']);
    expect(await fixture.pushes()).toHaveLength(2);
    await fixture.clock.advance(1_000);
    await fixture.endPush('refused', { answered: false });
    expect(await fixture.decide()).toEqual([]);
  });
});

describe('modes', () => {
  it('send nothing in observe that was accepted before and still waits', async () => {
    const fixture = await createDeciderFixture();
    await fixture.delivery({ id: 1 });
    expect(await fixture.decide()).toEqual(['1 accept']);
    const states = async () => {
      const rows = await fixture.store.db.selectFrom('outbox').select('state').execute();
      return rows.map(({ state }) => state);
    };
    expect(await fixture.decide({ mode: 'observe' })).toEqual(['1 accept']);
    expect(await states()).toEqual(['canceled']);
    expect(await fixture.decide()).toEqual(['1 accept']);
    expect(await states()).toEqual(['canceled', 'queued']);
  });

  it('push nothing in observe and shadow, and decide again when they become live', async () => {
    const fixture = await createDeciderFixture();
    await fixture.delivery({ id: 1 });
    expect(await fixture.decide({ mode: 'shadow' })).toEqual(['1 no_rule']);
    expect(await fixture.decide({ mode: 'observe' })).toEqual(['1 accept']);
    expect(await fixture.pushes()).toEqual([]);
    expect(await fixture.decide({ mode: 'live' })).toEqual(['1 accept']);
    expect(await fixture.pushes()).toEqual(['delivery/1/decision/3']);
    const row = await fixture.store.db
      .selectFrom('decision')
      .select(['mode', 'shadow'])
      .where('mode', '=', 'shadow')
      .executeTakeFirstOrThrow();
    expect(row.shadow).toContain('accept-small');
  });
});

describe('many deliveries', () => {
  it('use up the stock oldest first, whatever the order in which they became known', async () => {
    const fixture = await createDeciderFixture();
    const rules = loadedRules(ACCEPT_COVERED);
    await fixture.stock({ a: 5 });
    for (const id of [3, 1, 2]) await fixture.delivery({ id, order: id, lines: [['a', 2]] });
    const decided = await fixture.decide({ rules: () => rules });
    expect(decided).toEqual(['1 accept', '2 accept', '3 hold']);
  });

  it('are decided although one of them cannot be, which is told once', async () => {
    const fixture = await createDeciderFixture();
    await breakDecisionsOn1(fixture);
    for (const id of [1, 2, 3]) await fixture.delivery({ id, order: id });
    expect(await fixture.decide()).toEqual(['2 accept', '3 accept']);
    await fixture.clock.advance(2 * MINUTE);
    expect(await fixture.decide()).toEqual([]);
    const incidents = () =>
      fixture.store.db.selectFrom('incident').select(['key', 'detail', 'resolved_at']).execute();
    expect(await incidents()).toMatchObject([{ key: 'it is broken', resolved_at: null }]);
    await mendDecisions(fixture);
    await fixture.clock.advance(2 * MINUTE);
    expect(await fixture.decide()).toEqual(['1 accept']);
    expect((await incidents())[0]?.resolved_at).not.toBeNull();
  });

  it('that cannot be decided for one cause are one incident, which names them', async () => {
    const fixture = await createDeciderFixture();
    await sql`create trigger broken before insert on decision when new.actor = 'daemon' begin
      select raise(abort, 'it is broken'); end`.execute(fixture.store.db);
    for (const id of [1, 2, 3]) await fixture.delivery({ id, order: id });
    expect(await fixture.decide()).toEqual([]);
    const open = async () => {
      const query = fixture.store.db.selectFrom('incident').select('detail');
      const rows = await query.where('resolved_at', 'is', null).execute();
      return rows.map(({ detail }) => JSON.parse(detail));
    };
    const told = { message: 'it is broken', count: 3, example: '1', concerns: ['1', '2', '3'] };
    expect(await open()).toEqual([told]);
    await fixture.delivery({ id: 1, order: 1, status: 'rejected' });
    expect(await fixture.decide()).toEqual([]);
    expect(await open()).toMatchObject([{ count: 2, example: '2' }]);
  });

  it('are decided soon where they could not be before the clock was set back', async () => {
    const fixture = await createDeciderFixture();
    await breakDecisionsOn1(fixture);
    await fixture.delivery({ id: 1 });
    const decided: number[] = [];
    const decider = fixture.decider({ onDecided: (one) => decided.push(one.orderDeliveryId) });
    const stop = new AbortController();
    const done = decider.run(stop.signal);
    await fixture.clock.advance(1);
    fixture.clock.step(-24 * 60 * MINUTE);
    await mendDecisions(fixture);
    await fixture.clock.advance(2 * MINUTE);
    stop.abort();
    await done;
    expect(decided).toEqual([1]);
  });

  it('are told no more once somebody has decided what could not be', async () => {
    const fixture = await createDeciderFixture();
    await fixture.delivery({ id: 1 });
    await breakDecisionsOn1(fixture);
    expect(await fixture.decide()).toEqual([]);
    await fixture.delivery({ id: 1, status: 'rejected' });
    expect(await fixture.decide()).toEqual([]);
    const incidents = fixture.store.db.selectFrom('incident').select(['kind', 'resolved_at']);
    expect(await incidents.execute()).toEqual([
      { kind: 'evaluation_error', resolved_at: fixture.clock.now() },
    ]);
  });

  it('that are new are decided, though events come without a pause and others wait', async () => {
    const fixture = await createDeciderFixture();
    const rules = loadedRules(ACCEPT_COVERED);
    const set = { rules: () => rules };
    await fixture.stock({ a: 1 });
    for (let id = 1; id <= 30; id += 1)
      await fixture.delivery({ id, order: id, lines: [['a', 5]] });
    expect(await fixture.decide(set)).toHaveLength(30);
    await fixture.stock({ a: 2 });
    await fixture.delivery({ id: 31, order: 31, lines: [] });
    const order: number[] = [];
    const nudging = fixture.decider({
      ...set,
      onDecided: ({ orderDeliveryId }) => order.push(orderDeliveryId),
    });
    const stop = new AbortController();
    const done = nudging.run(stop.signal);
    for (let turn = 0; turn < 2_000 && order.length < 2; turn += 1) {
      nudging.wake();
      await new Promise(setImmediate);
    }
    stop.abort();
    await done;
    // The first of the waiting ones has two pieces in its facts now; the others still have none.
    expect(order.toSorted()).toEqual([1, 31]);
  });

  it('let others have their turn in between', async () => {
    const fixture = await createDeciderFixture();
    for (let id = 1; id <= 60; id += 1) await fixture.delivery({ id, order: id });
    expect(await turnsDuring(() => fixture.decide())).toBeGreaterThan(60);
  });
});

describe('a decision and its push', () => {
  it('are one transaction: neither is there without the other', async () => {
    const fixture = await createDeciderFixture();
    const { db } = fixture.store;
    await fixture.delivery({ id: 1 });
    await sql`create trigger broken before insert on outbox
      begin select raise(abort, 'the disk is full'); end`.execute(db);
    expect(await fixture.decide()).toEqual([]);
    for (const table of ['decision', 'evaluation', 'fact_snapshot', 'rule_set'] as const) {
      expect(await db.selectFrom(table).selectAll().execute()).toEqual([]);
    }
    await sql`drop trigger broken`.execute(db);
    expect(await fixture.decide()).toEqual(['1 accept']);
    expect(await fixture.pushes()).toHaveLength(1);
  });
});
