import { describe, expect, expectTypeOf, it } from 'vitest';
import type { Facts } from '../../src/rules/facts/plain.ts';
import { factRows } from '../../src/rules/facts/show.ts';
import { fieldsOf, ROOT_NAMES } from '../../src/rules/facts/table.ts';
import { factsOfTest, typicalFacts } from '../../src/rules/facts/typical.ts';
import { factPaths } from '../../src/rules/text/timing.ts';
import { complaints } from './support.ts';

describe('the fact table', () => {
  it('gives the plain facts their type', () => {
    expectTypeOf<Facts['order']['preorder']>().toEqualTypeOf<boolean>();
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

  it('say what is not known', () => {
    const facts = factsOfTest({ customer: null });
    expect(value(facts, 'customer.credit.headroom')).toBeUndefined();
    expect(factRows(facts).map(({ path }) => path)).toContain('customer.credit.headroom');
    expect(value(facts, 'order.season')).toBeUndefined();
  });
});
