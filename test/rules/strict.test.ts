import { describe, expect, it } from 'vitest';
import { formatTestReport, runRuleTests } from '../../src/rules/testing.ts';
import { rulesOf, ruleText } from './support.ts';

const TABLES = 'version: 1\ntables: { limits: { DKK: 2000 } }\n';

function untested(when: readonly string[], given: readonly string[], settings?: string) {
  const tests = given.map(
    (one, index) => `      - { name: t${index}, given: ${one}, expect: none }\n`,
  );
  const rest = tests.length > 0 ? `    tests:\n${tests.join('')}` : '';
  const report = runRuleTests(rulesOf(ruleText(when, rest), settings), true);
  return report.untested?.map(({ line, message }) => `${line} ${message}`);
}

describe('a strict run of the tests', () => {
  it('wants tests of every live rule, and fails without', () => {
    expect(untested(['order.preorder'], [])).toEqual(['2 a live rule needs tests']);
    const report = runRuleTests(rulesOf(ruleText(['order.preorder'])), true);
    expect(report.ok).toBe(false);
    expect(formatTestReport(report)).toContain('FAIL r.yaml:2 a: a live rule needs tests');
    expect(runRuleTests(rulesOf(ruleText(['order.preorder']))).ok).toBe(true);
    const quiet = ruleText(['order.preorder']).replace('mode: live', 'mode: shadow');
    expect(runRuleTests(rulesOf(quiet), true).untested).toEqual([]);
  });

  it('wants each limit tried one step to both sides', () => {
    const pieces = (count: number) => `{ delivery: { quantity: ${count} } }`;
    const when = ['delivery.quantity <= 20'];
    expect(untested(when, [pieces(20)])).toEqual([
      '7 no test tries 21 at this limit: delivery.quantity <= 20',
    ]);
    expect(untested(when, [pieces(5), pieces(50)])).toEqual([
      '7 no test tries 20 or 21 at this limit: delivery.quantity <= 20',
    ]);
    expect(untested(when, [pieces(20), pieces(21)])).toEqual([]);
    expect(untested(['20 > delivery.quantity'], [pieces(20), pieces(21)])).toEqual([
      '7 no test tries 19 at this limit: 20 > delivery.quantity',
    ]);
  });

  it('steps by a hundredth of an amount and a minute of a time, in tables and loops too', () => {
    const amount = (value: number) => `{ delivery: { amount: ${value} } }`;
    const table = ['delivery.amount <= tables.limits[order.currency]'];
    expect(untested(table, [amount(2000), amount(2001)], TABLES)).toEqual([
      '7 no test tries 2000.01 at this limit: delivery.amount <= tables.limits[order.currency]',
    ]);
    expect(untested(table, [amount(2000), amount(2000.01)], TABLES)).toEqual([]);
    const age = (value: string) => `{ order: { age: ${value} } }`;
    expect(untested(['order.age > days(2)'], [age('2d'), age('3d')])).toEqual([
      '7 no test tries 2d 1m at this limit: order.age > days(2)',
    ]);
    const line = (percent: number) => `{ delivery: { lines: [{ price_diff_pct: ${percent} }] } }`;
    const loop = ['delivery.lines.exists(line, line.price_diff_pct >= 5)'];
    expect(untested(loop, [line(5), line(4.99)])).toEqual([]);
  });

  it('counts a test only where the other conditions hold', () => {
    const when = ['delivery.quantity <= 20', 'order.country == "DK"'];
    const given = (country: string, count: number) =>
      `{ order: { country: ${country} }, delivery: { quantity: ${count} } }`;
    expect(untested(when, [given('DK', 20), given('SE', 21)])).toHaveLength(1);
    expect(untested(when, [given('DK', 20), given('DK', 21)])).toEqual([]);
  });
});
