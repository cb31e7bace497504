import { describe, expect, it } from 'vitest';
import { decisionsOf } from '../../../src/decisions/review/deliveries.ts';
import { listForReview } from '../../../src/decisions/review/listing.ts';
import { readStatus } from '../../../src/ops/status.ts';
import { followClock } from '../../support/clock-guard.ts';
import {
  acceptByHand,
  createDeciderFixture,
  type DeciderFixture,
  loadedRules,
} from '../support.ts';

const HOUR = 3_600_000;

const SETTINGS = `version: 1
timezone: Europe/Copenhagen
calendar: { from: "08:00", to: "16:00" }
`;

/** Holds large deliveries as `hold` says; accepts the small ones, and what the owner asks for. */
function rules(hold: string, when = 'delivery.quantity > 20') {
  const text = `
rules:
  - id: hold-large
    title: Large
    action: hold
    mode: live
    when: [ '${when}' ]
    hold: ${hold}
  - id: accept-known
    title: Known
    action: accept
    mode: live
    when: [ 'order.country == "DK"' ]
`;
  const loaded = loadedRules(text, SETTINGS);
  return { rules: () => loaded };
}

/**
 * A fixture in which it is Friday 2026-11-20, 15:00 in Copenhagen, with a delivery that is held.
 */
async function houseWithHold(hold: string, when?: string) {
  const fixture = await createDeciderFixture();
  await fixture.clock.advance(Date.parse('2026-11-20T14:00:00Z') - fixture.clock.now());
  await fixture.order(1, { shippingAddress: { countryCode: 'DK', accountNo: 'C-1' } });
  await fixture.delivery({ id: 1, lines: [['a', 30]] });
  const set = rules(hold, when);
  expect(await fixture.decide(set)).toEqual(['1 hold']);
  return { fixture, set };
}

function holdsOf(fixture: DeciderFixture) {
  return fixture.store.db.selectFrom('hold').selectAll().execute();
}

async function openIncidents(fixture: DeciderFixture): Promise<string[]> {
  const rows = await fixture.store.db
    .selectFrom('incident')
    .select(['kind', 'key'])
    .where('resolved_at', 'is', null)
    .execute();
  return rows.map(({ kind, key }) => `${kind} ${key}`);
}

async function untilLocal(fixture: DeciderFixture, time: string): Promise<void> {
  await fixture.clock.advance(Date.parse(time) - fixture.clock.now());
}

describe('a hold', () => {
  it('lasts as long as its rule says, in business time, and then tells people once', async () => {
    const { fixture, set } = await houseWithHold('{ at_most: 2 business days, then: escalate }');
    const [hold] = await holdsOf(fixture);
    expect(hold?.expires_at).toBe(Date.parse('2026-11-24T14:00:00Z'));
    await untilLocal(fixture, '2026-11-24T13:59:00Z');
    await fixture.decide(set);
    expect(await openIncidents(fixture)).toEqual([]);
    await untilLocal(fixture, '2026-11-24T14:00:00Z');
    expect(await fixture.decide(set)).toEqual([]);
    expect(await openIncidents(fixture)).toEqual(['hold_expired hold-large']);
    await fixture.clock.advance(30 * HOUR);
    await fixture.decide(set);
    expect(await openIncidents(fixture)).toEqual(['hold_expired hold-large']);
    expect(await fixture.pushes()).toEqual([]);
    const page = { sort: 'number', descending: true, limit: 1 } as const;
    const { rows } = await listForReview(fixture.store.db, { shown: 'all' }, page);
    expect(rows).toMatchObject([{ overdue: true, deadline: null }]);
    const status = await readStatus(fixture.store.db, fixture.clock.now(), {});
    expect(status).toMatchObject({ holdsOverdue: 1, openIncidents: 1 });
  });

  it('is over with its incident when its rule matches no more', async () => {
    const { fixture, set } = await houseWithHold('{ at_most: 1h, then: escalate }');
    await fixture.clock.advance(HOUR);
    await fixture.decide(set);
    expect(await openIncidents(fixture)).toEqual(['hold_expired hold-large']);
    await fixture.delivery({ id: 1, lines: [['a', 3]] });
    expect(await fixture.decide(set)).toEqual(['1 accept']);
    expect(await openIncidents(fixture)).toEqual([]);
    expect(await holdsOf(fixture)).toEqual([]);
  });

  it('is over with its incident when a person has decided', async () => {
    const { fixture, set } = await houseWithHold('{ at_most: 1h, then: escalate }');
    await fixture.clock.advance(HOUR);
    await fixture.decide(set);
    expect(await openIncidents(fixture)).toEqual(['hold_expired hold-large']);
    await acceptByHand(fixture, 1);
    expect(await openIncidents(fixture)).toEqual([]);
    expect(await holdsOf(fixture)).toEqual([]);
  });

  it('is none of a rule that only watches', async () => {
    const fixture = await createDeciderFixture();
    const text = `
rules:
  - { id: hold-all, title: All, action: hold, mode: shadow, when: [delivery.quantity > 0] }
`;
    await fixture.delivery({ id: 1 });
    expect(await fixture.decide({ rules: () => loadedRules(text) })).toEqual(['1 no_rule']);
    expect((await holdsOf(fixture)).map(({ rule_id: rule }) => rule)).toEqual(['no_rule']);
  });

  it('goes on from where it began, whatever else makes the rules look again', async () => {
    const { fixture, set } = await houseWithHold('{ at_most: 24h }');
    await fixture.clock.advance(20 * HOUR);
    await fixture.order(1, { comment: 'please hurry', shippingAddress: { countryCode: 'DK' } });
    expect(await fixture.decide(set)).toEqual([]);
    const [hold] = await holdsOf(fixture);
    expect(hold?.since).toBe(Date.parse('2026-11-20T14:00:00Z'));
    await fixture.clock.advance(4 * HOUR);
    await fixture.decide(set);
    expect(await openIncidents(fixture)).toEqual(['hold_expired hold-large']);
  });

  it('that began while the clock was ahead begins when it has been set back', async () => {
    const { fixture, set } = await houseWithHold('{ at_most: 24h }');
    fixture.clock.step(30 * 24 * HOUR);
    await fixture.delivery({ id: 2, lines: [['a', 30]] });
    expect(await fixture.decide(set)).toContain('2 hold');
    await followClock(fixture);
    fixture.clock.step(-30 * 24 * HOUR);
    await followClock(fixture);
    await fixture.decide(set);
    await fixture.clock.advance(24 * HOUR);
    await fixture.decide(set);
    expect(await openIncidents(fixture)).toEqual(['hold_expired hold-large']);
  });

  it('whose time was up only while the clock was ahead ends at its own time', async () => {
    const { fixture, set } = await houseWithHold('{ at_most: 24h }');
    fixture.clock.step(30 * 24 * HOUR);
    await fixture.decide(set);
    expect(await openIncidents(fixture)).toEqual(['hold_expired hold-large']);
    await followClock(fixture);
    fixture.clock.step(-30 * 24 * HOUR);
    await followClock(fixture);
    await fixture.decide(set);
    expect(await openIncidents(fixture)).toEqual([]);
    await fixture.clock.advance(24 * HOUR);
    await fixture.decide(set);
    expect(await openIncidents(fixture)).toEqual(['hold_expired hold-large']);
  });

  it('is asked again at the next opening, not at one of while the clock was ahead', async () => {
    const { fixture, set } = await houseWithHold('{ until: next business open, at_most: 500h }');
    fixture.clock.step(10 * 24 * HOUR);
    await fixture.decide(set);
    fixture.clock.step(-10 * 24 * HOUR);
    await fixture.decide(set);
    const [hold] = await holdsOf(fixture);
    expect(hold?.until_at).toBe(Date.parse('2026-11-23T07:00:00Z'));
  });

  it('has the rules asked again before its time is up where it says so', async () => {
    const { fixture } = await houseWithHold('{ until: 2h, at_most: 9h }');
    const evaluations = fixture.store.db.selectFrom('evaluation').select('due_at');
    const dueAt = fixture.clock.now() + 2 * HOUR;
    expect(await evaluations.execute()).toEqual([{ due_at: dueAt }]);
  });

  it('begins anew with another text of its rule', async () => {
    const { fixture } = await houseWithHold('{ at_most: 24h }');
    await fixture.clock.advance(20 * HOUR);
    expect(await fixture.decide(rules('{ at_most: 25h }'))).toEqual([]);
    const [hold] = await holdsOf(fixture);
    expect(hold?.expires_at).toBe(fixture.clock.now() + 25 * HOUR);
  });

  it('that ends in "re-evaluate" holds anew while its rule matches, and tells nobody', async () => {
    const { fixture, set } = await houseWithHold('{ at_most: 2h, then: re-evaluate }');
    await fixture.clock.advance(2 * HOUR);
    expect(await fixture.decide(set)).toEqual([]);
    const [hold] = await holdsOf(fixture);
    expect(hold?.expires_at).toBe(fixture.clock.now() + 2 * HOUR);
    expect(await openIncidents(fixture)).toEqual([]);
  });

  it('wakes the rules at the next opening, also when the clocks change in between', async () => {
    const fixture = await createDeciderFixture();
    await untilLocal(fixture, '2026-10-23T18:00:00Z');
    await fixture.order(1, { shippingAddress: { countryCode: 'DK' } });
    await fixture.delivery({ id: 1, lines: [['a', 30]] });
    const hold = '{ until: next business open, at_most: 1 business day, then: re-evaluate }';
    const set = rules(hold, 'delivery.quantity > 20 && !clock.business_hours');
    expect(await fixture.decide(set)).toEqual(['1 hold']);
    await untilLocal(fixture, '2026-10-26T06:59:59Z');
    expect(await fixture.decide(set)).toEqual([]);
    await untilLocal(fixture, '2026-10-26T07:00:00Z');
    expect(await fixture.decide(set)).toEqual(['1 accept']);
  });

  it('wakes the rules when the fact it waits for changes', async () => {
    const hold = '{ until: customer.credit changes, at_most: 24h }';
    const when = 'delivery.quantity > 20 && !has(customer.credit.limit)';
    const { fixture, set } = await houseWithHold(hold, when);
    await fixture.clock.advance(HOUR);
    await fixture.customer();
    expect(await fixture.decide(set)).toEqual(['1 accept']);
    expect((await fixture.decisions()).at(-1)).toMatchObject({ trigger: 'facts' });
  });
});

describe('a hold that ends in "accept"', () => {
  it('accepts when its time is up, exactly then, also after a kill in between', async () => {
    const { fixture, set } = await houseWithHold('{ at_most: 3h, then: accept }');
    await fixture.clock.advance(3 * HOUR - 1);
    expect(await fixture.decide(set)).toEqual([]);
    // Each `decide` is a daemon of its own: nothing but the database knows of the hold.
    await fixture.clock.advance(1);
    expect(await fixture.decide(set)).toEqual(['1 accept']);
    expect(await fixture.pushes()).toHaveLength(1);
    const [latest] = await decisionsOf(fixture.store.db, 1);
    expect(latest).toMatchObject({ trigger: 'hold', reason: expect.stringContaining('held for') });
    expect(latest?.evaluation.rules.find(({ id }) => id === 'hold-large')?.lapsed).toBe('accept');
  });

  it('does not accept over another rule that holds', async () => {
    const { fixture } = await houseWithHold('{ at_most: 3h, then: accept }');
    const text = `
rules:
  - id: hold-large
    title: Large
    action: hold
    mode: live
    when: [ 'delivery.quantity > 20' ]
    hold: { at_most: 3h, then: accept }
  - id: hold-owes
    title: Owes
    action: hold
    mode: live
    when: [ 'customer.credit.overdue_days > 14' ]
`;
    const both = loadedRules(text, SETTINGS);
    await fixture.clock.advance(3 * HOUR);
    // Nothing is known of the customer: that other rule cannot be evaluated.
    expect(await fixture.decide({ rules: () => both })).toEqual(['1 hold']);
    await fixture.customer({ overdueDays: 20 });
    expect(await fixture.decide({ rules: () => both })).toEqual(['1 hold']);
    await fixture.customer({ overdueDays: 0 });
    expect(await fixture.decide({ rules: () => both })).toEqual(['1 accept']);
  });

  it('has its time from when it is known to match', async () => {
    const when = 'delivery.amount > 100 && order.currency == "DKK"';
    const { fixture } = await houseWithHold('{ at_most: 3h, then: escalate }', when);
    const set = rules('{ at_most: 3h, then: accept }', when);
    const line = { barcode: 'a', fulfilledQuantity: 30, price: null };
    await fixture.delivery({ id: 1, more: { fulfilledLineItems: [line] } });
    expect(await fixture.decide(set)).toEqual(['1 hold']);
    await fixture.clock.advance(2 * HOUR);
    await fixture.delivery({ id: 1, lines: [['a', 30]] });
    expect(await fixture.decide(set)).toEqual(['1 hold']);
    await fixture.clock.advance(2 * HOUR);
    expect(await fixture.decide(set)).toEqual([]);
    await fixture.clock.advance(HOUR);
    expect(await fixture.decide(set)).toEqual(['1 accept']);
  });

  it('goes on holding where its own condition can no longer be evaluated', async () => {
    const when = 'delivery.amount > 100 && order.currency == "DKK"';
    const { fixture, set } = await houseWithHold('{ at_most: 3h, then: accept }', when);
    const line = { barcode: 'a', fulfilledQuantity: 30, price: null };
    await fixture.delivery({ id: 1, more: { fulfilledLineItems: [line] } });
    await fixture.clock.advance(3 * HOUR);
    expect(await fixture.decide(set)).toEqual(['1 hold']);
    await fixture.clock.advance(3 * HOUR);
    await fixture.decide(set);
    expect(await fixture.pushes()).toEqual([]);
    // Nothing else would ever come of it.
    expect(await openIncidents(fixture)).toEqual(['hold_expired hold-large']);
  });
});

describe('holds of one rule that have lasted their time', () => {
  it('are one incident with their number and an example, open until none is left', async () => {
    const { fixture, set } = await houseWithHold('{ at_most: 1h, then: escalate }');
    for (const id of [2, 3]) await fixture.delivery({ id, lines: [['a', 30]] });
    await fixture.decide(set);
    await fixture.clock.advance(HOUR);
    await fixture.decide(set);
    const details = async () => {
      const open = fixture.store.db.selectFrom('incident').select('detail');
      const rows = await open.where('resolved_at', 'is', null).execute();
      return rows.map(({ detail }) => JSON.parse(detail));
    };
    expect(await details()).toMatchObject([{ deliveries: 3, example: 1 }]);
    const status = await readStatus(fixture.store.db, fixture.clock.now(), {});
    expect(status).toMatchObject({ holdsOverdue: 3, openIncidents: 1 });
    await acceptByHand(fixture, 1);
    expect(await details()).toMatchObject([{ deliveries: 2, example: 2 }]);
    for (const id of [2, 3]) await fixture.delivery({ id, lines: [['a', 3]] });
    await fixture.decide(set);
    expect(await details()).toEqual([]);
  });
});

describe('a hold that is meant to last for ever', () => {
  it.each(['99999999d', '999999999999999d'])('lasts for a million days: %s', async (never) => {
    const { fixture } = await houseWithHold(`{ until: ${never}, at_most: ${never} }`);
    const [row] = await holdsOf(fixture);
    const end = (row?.since ?? 0) + 1_000_000 * 24 * HOUR;
    expect(row).toMatchObject({ until_at: end, expires_at: end });
    expect(new Date(end).getUTCFullYear()).toBe(4764);
  });
});

describe('a delivery that no rule of its own holds', () => {
  it('waits three business days for people, then they are told', async () => {
    const fixture = await createDeciderFixture();
    await fixture.clock.advance(Date.parse('2026-11-20T14:00:00Z') - fixture.clock.now());
    await fixture.delivery({ id: 1, lines: [] });
    const set = rules('{ at_most: 1h }');
    expect(await fixture.decide(set)).toEqual(['1 hold']);
    await untilLocal(fixture, '2026-11-25T14:00:00Z');
    await fixture.decide(set);
    expect(await openIncidents(fixture)).toEqual(['hold_expired empty_delivery']);
  });
});
