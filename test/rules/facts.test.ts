import { describe, expect, expectTypeOf, it } from 'vitest';
import { evaluate } from '../../src/rules/evaluate.ts';
import type { Facts } from '../../src/rules/facts/plain.ts';
import { factRows } from '../../src/rules/facts/show.ts';
import { fieldsOf, ROOT_NAMES } from '../../src/rules/facts/table.ts';
import { factsOfTest, typicalFacts } from '../../src/rules/facts/typical.ts';
import { factPaths } from '../../src/rules/text/timing.ts';
import { complaints, rulesOf, ruleText } from './support.ts';

describe('the fact table', () => {
  it('gives the plain facts their type', () => {
    expectTypeOf<Facts['order']['preorder']>().toEqualTypeOf<boolean | null | undefined>();
    expectTypeOf<Facts['order']['rejected_before']>().toEqualTypeOf<number>();
    expectTypeOf<Facts['order']['season']>().toEqualTypeOf<string | null | undefined>();
    expectTypeOf<Facts['delivery']['status']>().toEqualTypeOf<
      'pending' | 'accepted' | 'rejected' | 'canceled'
    >();
    expectTypeOf<Facts['delivery']['amount']>().toEqualTypeOf<number | null | undefined>();
  });

  it('describes each fact in one sentence, with its source', () => {
    for (const root of ROOT_NAMES) {
      for (const field of Object.values(fieldsOf(root))) {
        expect(field.about).toMatch(/^\P{Ll}.*\.$/u);
        expect(field.source).not.toBe('');
      }
    }
  });

  it('has no fact that a condition cannot name', () => {
    const paths = factPaths().filter((path) => /^(?!delivery\.lines\.).*\..*/.test(path));
    for (const path of paths.filter((one) => one !== 'customer.extra')) {
      expect(complaints([`has(${path})`]), path).toEqual([]);
    }
  });
});

describe('the facts of one delivery', () => {
  const value = (facts: Facts, path: string): unknown =>
    factRows(facts).find((row) => row.path === path)?.value;

  it('are shown with their values as people write them', () => {
    const facts = typicalFacts();
    expect(value(facts, 'delivery.amount')).toBe('2000.00');
    expect(value(facts, 'delivery.age')).toBe('1h');
    expect(value(facts, 'clock.now')).toBe('2026-03-03T10:00:00.000Z');
    expect(value(facts, 'delivery.lines.size()')).toBe('2');
    expect(value(facts, 'delivery.lines[1].missing')).toBe('0');
    expect(value(facts, 'customer.credit.headroom')).toBe('80000.00');
  });

  it('of a test count single pieces as the pieces that it names, or as it says', () => {
    const pieces = (given: object): unknown[] => {
      const facts = factsOfTest({ ...given });
      return ['delivery', 'order'].map((root) => value(facts, `${root}.size_quantity`));
    };
    expect(pieces({})).toEqual(['10', '10']);
    expect(pieces({ delivery: { quantity: 20 }, order: { quantity: 21 } })).toEqual(['20', '21']);
    const lines = [{ quantity: 2 }, { quantity: 2, size_quantity: 24 }];
    expect(pieces({ delivery: { lines } })[0]).toBe('26');
    expect(pieces({ delivery: { lines: [{}, { size_quantity: null }] } })[0]).toBeUndefined();
  });

  it('say what is not known', () => {
    const facts = factsOfTest({ customer: null });
    expect(value(facts, 'customer.credit.headroom')).toBeUndefined();
    expect(factRows(facts).map(({ path }) => path)).toContain('customer.credit.headroom');
    expect(value(facts, 'order.season')).toBeUndefined();
  });
});

describe('fields that the ERP adds', () => {
  const settings =
    'version: 1\ncustomer_fields: ' +
    '{ group: text, level: whole number, share: decimal, vip: true/false }\n';
  const value = (condition: string, extra: unknown): unknown => {
    const set = rulesOf(ruleText([condition]), settings);
    return evaluate(set, factsOfTest({ customer: { extra } })).rules[0]?.value;
  };

  it('have the types that the settings declare', () => {
    const extra = { group: 'A', level: 3, share: '0.1', vip: true, constructor: 1 };
    expect(value('\'customer.extra.group == "A"\'', extra)).toBe(true);
    expect(value('customer.extra.level > 2', extra)).toBe(true);
    expect(value('customer.extra.share == 0.1', extra)).toBe(true);
    expect(value('customer.extra.vip', extra)).toBe(true);
  });

  it('are unknown when they are missing or of another type', () => {
    expect(value('customer.extra.level > 2', {})).toBe('unknown');
    expect(value('customer.extra.level > 2', null)).toBe('unknown');
    expect(value('customer.extra.level > 2', { level: 'three' })).toBe('unknown');
    expect(value('customer.extra.vip', { vip: 1 })).toBe('unknown');
  });

  it('are not absent when they are of another type', () => {
    const guarded = (name: string, limit: string, given: unknown) =>
      value(`has(customer.extra.${name}) && customer.extra.${name} ${limit}`, { [name]: given });
    for (const share of ['0,8', '', true]) {
      expect(guarded('share', '> 0.5', share)).toBe('unknown');
    }
    expect(guarded('level', '> 2', '3')).toBe('unknown');
    expect(guarded('level', '> 2', 3.5)).toBe('unknown');
    expect(guarded('share', '> 0.5', null)).toBe(false);
    expect(guarded('level', '> 2', null)).toBe(false);
  });

  it('must be declared', () => {
    expect(complaints(['customer.extra.grup == "A"'], settings)).toEqual([
      'r.yaml:7:24 a: customer.extra has no field "grup" - did you mean: group?',
    ]);
    expect(complaints(['customer.extra.group == "A"'])[0]).toContain('declare it under');
    expect(complaints(['has(customer.extra.grup)'], settings)).toHaveLength(1);
  });
});
