import { describe, expect, it } from 'vitest';
import { evaluate } from '../../src/rules/evaluate.ts';
import { factsOfTest } from '../../src/rules/facts/typical.ts';
import { factPaths, parseSpan, parseUntil } from '../../src/rules/text/timing.ts';
import { problemsOf, rulesOf, ruleText } from './support.ts';

const HOUR_MS = 3_600_000;

function holdOf(hold: string) {
  return rulesOf(ruleText(['order.preorder'], `    hold: ${hold}\n`, 'hold')).rules[0]?.hold;
}

describe('the timing of a hold', () => {
  it('has an end, also when nobody wrote one', () => {
    const days = { kind: 'business-days', days: 3 };
    const plain = rulesOf(ruleText(['order.preorder'], '', 'hold')).rules[0]?.hold;
    expect(plain).toEqual({ until: undefined, atMost: days, afterwards: 'escalate' });
    expect(holdOf('{ then: accept }')).toEqual({
      until: undefined,
      atMost: days,
      afterwards: 'accept',
    });
  });

  it('reads durations, business time, the next opening and a change of a fact', () => {
    expect(holdOf('{ until: next business open, at_most: 48h, then: re-evaluate }')).toEqual({
      until: { kind: 'business-open' },
      atMost: { kind: 'duration', ms: 48 * HOUR_MS },
      afterwards: 're-evaluate',
    });
    expect(parseUntil('customer.credit changes')).toEqual({
      kind: 'changes',
      path: 'customer.credit',
    });
    expect(parseUntil('90m')).toEqual({ kind: 'duration', ms: 1.5 * HOUR_MS });
    expect(parseSpan('1 business day')).toEqual({ kind: 'business-days', days: 1 });
    expect(parseSpan('4 business hours')).toEqual({ kind: 'business-hours', hours: 4 });
  });

  it('refuses what it does not understand, and a reject after a hold', () => {
    for (const text of ['3', 'tomorrow', '0 business days', '0h', '']) {
      expect(parseSpan(text)).toBeUndefined();
    }
    expect(parseUntil('customer.credti changes')).toBeUndefined();
    expect(factPaths()).toContain('delivery.lines.missing');
    const problem = (hold: string): string =>
      problemsOf(ruleText(['order.preorder'], `    hold: ${hold}\n`, 'hold')).join();
    expect(problem('{ until: customer.credti changes }')).toContain('customer.credit changes');
    expect(problem('{ at_most: soon }')).toContain('write 48h or "2 business days"');
    expect(problem('{ then: reject }')).toContain('possible: escalate, re-evaluate, accept');
  });
});

describe('the safeguards of a reject', () => {
  const rest = (reject: string): string => `    reject: ${reject}\n`;

  it('wait a day unless something else is written', () => {
    const rule = rulesOf(ruleText(['order.preorder'], '', 'reject')).rules[0];
    expect(rule?.reject?.graceMs).toBe(24 * HOUR_MS);
    const text = ruleText(['order.preorder'], rest('{ grace: 2h, max_per_day: 3 }'), 'reject');
    expect(rulesOf(text).rules[0]?.reject).toMatchObject({ graceMs: 2 * HOUR_MS, maxPerDay: 3 });
    const all =
      'max_per_hour: 1, max_per_day: 2, max_per_customer_per_day: 3, max_amount_per_day: 4.5';
    const limited = ruleText(['order.preorder'], rest(`{ grace: 1h, ${all} }`), 'reject');
    expect(rulesOf(limited).rules[0]?.reject).toEqual({
      graceMs: HOUR_MS,
      maxPerHour: 1,
      maxPerDay: 2,
      maxPerCustomerPerDay: 3,
      maxAmountPerDay: 4.5,
    });
  });

  it('never wait less than an hour', () => {
    const text = ruleText(['order.preorder'], rest('{ grace: 59m }'), 'reject');
    expect(problemsOf(text)[0]).toContain('the grace is at least 1h');
  });

  it('are part of the hash: a shorter grace disarms', () => {
    const hash = (grace: string): string | undefined =>
      rulesOf(ruleText(['order.preorder'], rest(`{ grace: ${grace} }`), 'reject')).rules[0]?.hash;
    expect(hash('2h')).not.toBe(hash('3h'));
  });
});

describe('the settings', () => {
  const rule = ruleText(['order.preorder']);
  const problem = (settings: string): string => problemsOf(rule, settings).join();

  it('are checked with nearest names and places', () => {
    expect(problem('version: 1\ntimezon: UTC\n')).toContain(
      'settings.yaml:2:1 there is no key "timezon" - did you mean: timezone?',
    );
    expect(problem('version: 1\ntimezone: Europe/Copenhagn\n')).toContain('write an IANA zone');
    expect(problem('version: 2\n')).toContain('settings.yaml:1:10');
    expect(problem('version: 1\ncalendar: { from: 8 }\n')).toContain('from');
    expect(problem('version: 1\ncalendar: { holidays: [24.12.2026] }\n')).toContain(
      'settings.yaml:2:24 write a date such as 2026-12-24',
    );
    for (const hours of ['from: "16:30", to: "08:00"', 'from: "08:00", to: "08:00"']) {
      expect(problem(`version: 1\ncalendar: { ${hours} }\n`)).toMatch(
        /settings\.yaml:2:\d+ to: work must begin before it ends/,
      );
    }
    expect(problem('version: 1\nsafeguards: { freshness: { stock: 60 } }\n')).toContain('stock');
  });

  it('make no rule wrong by a mistake of their own', () => {
    const rules = ruleText(['order.country in lists.near', 'order.currency in tables.limit']);
    const lists = 'lists: { near: [DK] }';
    const tables = 'tables: { limit: { DKK: 5 } }';
    expect(problemsOf(rules, `version: 1\n${lists}\n${tables}\n`)).toEqual([]);
    for (const settings of [
      [lists, tables, 'rails: { accept: {} }'],
      [lists, tables, 'calendar: { from: 8 }'],
      [lists, tables, '\tmode: live'],
      ['lists: { near: 3 }', tables],
      [lists, 'tables: { limit: { file: limit.csv, keys: [a], value: b } }'],
    ]) {
      const found = problemsOf(rules, `version: 1\n${settings.join('\n')}\n`);
      expect(found.map((one) => one.split(':')[0])).toEqual(['settings.yaml']);
    }
    const both = problemsOf(ruleText(['order.contry == "DK"']), 'version: 1\nrails: {}\n');
    expect(both.map((one) => one.split(':')[0])).toEqual(['r.yaml', 'settings.yaml']);
  });

  it('say of an old key what it is called now', () => {
    expect(problem('version: 1\nrails: { accept: {}, returns: {} }\n')).toContain(
      'there is no key "rails" - "rails.accept" is now "safeguards.accept"; ' +
        '"rails.returns" is now "safeguards.revocation"',
    );
  });

  it('have safeguards and a calendar also where nobody wrote any', () => {
    const { mode, defaults, timezone, calendar, safeguards } = rulesOf(rule).settings;
    expect({ mode, defaults, timezone, calendar }).toEqual({
      mode: 'live',
      defaults: { mode: 'shadow' },
      timezone: 'UTC',
      calendar: {
        days: ['monday', 'tuesday', 'wednesday', 'thursday', 'friday'],
        from: '08:00',
        to: '16:30',
        holidays: [],
        breaks: [],
        half_days: {},
      },
    });
    expect(safeguards).toEqual({
      reject: {
        ...{ max_per_hour: 5, max_per_day: 20, max_per_customer_per_day: 2 },
        ...{ max_share_of_day: 3, share_floor: 3, times_median: 5, median_floor: 3 },
        ...{ write_failures: 3, business_hours_only: true, matches_seen: 5 },
      },
      accept: {
        freshness: { credit: '26h', customers: '7d' },
        max_per_hour: 5000,
        share_floor: 20,
        refused_in_a_row: 20,
        pause: '1h',
      },
      revocation: { max_per_day: 2, cooldown: '1h' },
      freshness: { mirror: '15m', credit: '26h', stock: '60m' },
    });
  });

  it('say in which mode a rule is that says none', () => {
    const silent = rule.replace('    mode: live\n', '');
    const set = rulesOf(silent, 'version: 1\ndefaults: { mode: live }\n');
    expect(set.rules[0]?.mode).toBe('live');
  });

  it('keep decimals of tables exact', () => {
    const settings = 'version: 1\ntables: { limits: { DKK: 0.1, EUR: 30000.01 } }\n';
    const text = ruleText(['delivery.amount <= tables.limits[order.currency]']);
    const set = rulesOf(text, settings);
    expect(set.rules[0]?.reads).toContain('tables.limits');
    const value = (amount: number): unknown =>
      evaluate(set, factsOfTest({ delivery: { amount }, order: { currency: 'EUR' } })).rules[0]
        ?.value;
    expect([value(30_000.01), value(30_000.02)]).toEqual([true, false]);
    expect(problem('version: 1\ntables: { t: { DKK: 0.10000000000000000001 } }\n')).toContain(
      'a number of at most 15 digits',
    );
  });
});
