/** Facts that proposals ask: none comes true by waiting, and none tells of a person. */
import { describe, expect, it } from 'vitest';
import { completeFacts } from '../../src/rules/facts/build.ts';
import type { Facts } from '../../src/rules/facts/plain.ts';
import { typicalFacts } from '../../src/rules/facts/typical.ts';
import { loadRules } from '../../src/rules/load.ts';
import type { Field } from '../../src/suggest/facts/field.ts';
import { fieldsFor } from '../../src/suggest/facts/fields.ts';
import { givenAt } from '../../src/suggest/facts/given.ts';
import { testLines } from '../../src/suggest/text/tests.ts';
import { HOUSE_FILES } from './clerk.ts';

const DAY_MS = 86_400_000;
const WEEKDAYS = ['tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday'] as const;

/**
 * An open delivery that waited for some days: its windows begin and end, its invoices grow older,
 * and a refund is older than what counts.
 */
function waited(days: number): Facts {
  const facts = typicalFacts();
  const { clock, delivery, order, customer } = facts;
  const credit = { ...customer?.credit, overdue_days: days };
  const [from, to] = [clock.now + 2 * DAY_MS, clock.now + 4 * DAY_MS];
  const lines = delivery.lines.map((line) => ({ ...line, window_from: from, window_to: to }));
  const now = clock.now + days * DAY_MS;
  const weekday = WEEKDAYS[days] ?? 'monday';
  return completeFacts({
    ...facts,
    delivery: { ...delivery, lines },
    order: { ...order, age: now - (order.created_at ?? now) },
    customer: { ...customer, refunds_90d: 5 - days, credit },
    clock: { now, weekday, business_hours: days % 2 === 0 },
  });
}

/** Conditions of a field that are false first and true later. */
function trueByWaiting(field: Field, first: Facts, later: Facts): readonly string[] {
  if (field.kind === 'number') {
    const [before = Number.NaN, after = Number.NaN] = [field.read(first) ?? 0, field.read(later)];
    if (after === null || after === before) return [];
    return field.sides.includes(after > before ? '>' : '<=') ? [field.name] : [];
  }
  const [before, after] = [field.read(first), field.read(later)];
  const isSame = JSON.stringify(before) === JSON.stringify(after);
  return isSame || after === null ? [] : [field.name];
}

describe('a fact that proposals ask', () => {
  it('does not come true by waiting', () => {
    const loaded = loadRules(HOUSE_FILES);
    if ('problems' in loaded) return expect.fail('the rules of the house are loaded');
    const { settings } = loaded.ruleSet;
    const days = [0, 1, 2, 3, 4, 5];
    const late = fieldsFor({ settings, currencies: ['DKK', 'EUR'] }).flatMap((field) =>
      days.slice(1).flatMap((day) => trueByWaiting(field, waited(day - 1), waited(day))),
    );
    expect(late).toEqual([]);
  });

  it('is masked in tests where it is a text of the ERP that no condition names', () => {
    const facts = typicalFacts();
    const extra = { tier: 'gold', note: 'call Anna at 12 34 56' };
    const own = completeFacts({ ...facts, customer: { ...facts.customer, extra } });
    const paths = ['customer.extra.tier', 'customer.extra.note'];
    expect(givenAt(own, paths, ['customer.extra.tier == "gold"'])).toEqual({
      customer: { extra: { tier: 'gold', note: 'masked' } },
    });
  });
});

describe('the name of a test', () => {
  it('is a text of one line, whatever the number of the delivery is', () => {
    const lines = testLines([{ name: "as D'1\n---\n- id: x", given: {}, expect: 'hold' }]);
    expect(lines[1]).toBe('      - name: "as D\'1\\n---\\n- id: x"');
  });
});
