import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readRuleFiles } from '../../src/decisions/rule-files.ts';
import { evaluate } from '../../src/rules/evaluate.ts';
import { factsOfTest } from '../../src/rules/facts/typical.ts';
import { loadRules } from '../../src/rules/load.ts';
import { temporaryFolder } from '../support/store.ts';

const SETTINGS = `
version: 1
defaults: { mode: live }
timezone: Europe/Copenhagen
customer_fields: { group: text }
tables:
  limits:
    { file: limits.csv, keys: [country, group], value: limit, from: first day, until: last day }
`;

const RULES = `
rules:
  - id: accept-within
    title: Within its limit
    action: accept
    when:
      - 'order.currency == "DKK"'
      - 'delivery.amount <= tables.limits[order.country][customer.extra.group]'
`;

const HEADER = 'country;group;limit;first day;last day\n';

function load(csv: string, settings = SETTINGS) {
  return loadRules([
    { path: 'settings.yaml', text: settings },
    { path: 'limits.csv', text: csv },
    { path: 'rules.yaml', text: RULES },
  ]);
}

function problems(csv: string, settings = SETTINGS): readonly string[] {
  const loaded = load(csv, settings);
  const all = 'ruleSet' in loaded ? loaded.ruleSet.warnings : loaded.problems;
  return all.map(
    ({ file, line, message, hint }) => `${file}:${line} ${message}${hint ? ` - ${hint}` : ''}`,
  );
}

interface Asked {
  readonly country: string;
  readonly group?: string;
  readonly amount: number;
  readonly now?: string;
}

/** Returns the rule's word on a delivery; `unknown` where the table has no row for it. */
function outcome(
  csv: string,
  { country, group = 'A', amount, now = '2026-06-01T10:00:00Z' }: Asked,
) {
  const loaded = load(csv);
  if (!('ruleSet' in loaded)) throw new Error(JSON.stringify(loaded.problems));
  const facts = factsOfTest({
    order: { country, currency: 'DKK' },
    delivery: { amount },
    customer: { extra: { group } },
    clock: { now },
  });
  const [rule] = evaluate(loaded.ruleSet, facts).rules;
  return rule?.value;
}

describe('a decision table', () => {
  const csv = `${HEADER}DK;A;25000,50;;\nDK;*;15000;;\nSE;B;9000;;\n*;*;1000;;\n`;

  it.each<[string, Asked, unknown]>([
    ['gives the row of both keys', { country: 'DK', amount: 25_000.5 }, true],
    ['gives nothing above it', { country: 'DK', amount: 25_000.51 }, false],
    [
      'falls back to the default of its first key',
      { country: 'DK', group: 'C', amount: 15_000 },
      true,
    ],
    ['falls back to the default of all', { country: 'FR', amount: 1000.01 }, false],
    [
      'falls back beside rows of the same first key',
      { country: 'SE', group: 'A', amount: 1000 },
      true,
    ],
  ])('%s', (_, asked, expected) => {
    expect(outcome(csv, asked)).toBe(expected);
  });

  it('falls back past a row of its first two keys that its third one does not fit', () => {
    const settings = SETTINGS.replace('[country, group]', '[country, group, city]');
    const rules = RULES.replace('.group]', '.group][order.city]');
    const loaded = loadRules([
      { path: 'settings.yaml', text: settings },
      { path: 'rules.yaml', text: rules },
      {
        path: 'limits.csv',
        text: 'country,group,city,limit,first day,last day\nDK,A,Aarhus,1,,\n*,*,Oslo,9,,\n',
      },
    ]);
    if (!('ruleSet' in loaded)) throw new Error(JSON.stringify(loaded.problems));
    const of = (city: string) => ({
      order: { country: 'DK', currency: 'DKK', city },
      delivery: { amount: 5 },
      customer: { extra: { group: 'A' } },
    });
    const value = (city: string) =>
      evaluate(loaded.ruleSet, factsOfTest(of(city))).rules.map((rule) => rule.value);
    expect(value('Oslo')).toEqual([true]);
    expect(value('Aarhus')).toEqual([false]);
    expect(value('Bergen')).toEqual(['unknown']);
  });

  it('leaves a rule unknown where it has neither a row nor a default', () => {
    expect(outcome(`${HEADER}DK;A;100;;\n`, { country: 'FR', amount: 1 })).toBe('unknown');
  });

  it('changes from one day to the next in the zone of the settings', () => {
    const dated = `${HEADER}DK;A;100;;31.05.2026\nDK;A;200;2026-06-01;\n`;
    const at = (now: string) => outcome(dated, { country: 'DK', amount: 150, now });
    expect(at('2026-05-31T21:59:00Z')).toBe(false);
    expect(at('2026-05-31T22:01:00Z')).toBe(true);
    expect(problems(dated)).toEqual([]);
  });

  it.each<[string, string, RegExp]>([
    [
      'two rows of one day',
      `${HEADER}DK;A;1;;\nDK;A;2;2026-01-01;\n`,
      /csv:3 DK, A: this row and the one in line 2 hold at the same time/,
    ],
    [
      'days without a row',
      `${HEADER}DK;A;1;;2026-01-10\nDK;A;2;2026-02-01;\n`,
      /no row holds between 2026-01-10 and 2026-02-01/,
    ],
    [
      'combinations without a row',
      `${HEADER}DK;A;1;;\nSE;B;2;;\n`,
      /no row for DK and B; SE and A/,
    ],
    [
      'combinations beside defaults of another key',
      `${HEADER}DK;*;1;;\nSE;A;2;;\nNO;B;3;;\n*;C;4;;\nDE;D;5;;\n`,
      /no row for SE and B; SE and D; NO and A; NO and D; DE and A and 1 more/,
    ],
    [
      'a number that may be a thousand',
      `${HEADER}DK;A;15.000;;\n`,
      /15\.000 may be a thousand or a fraction/,
    ],
    [
      'a number with more digits than can be told apart',
      `${HEADER}DK;A;12345678901234567,5;;\n`,
      /csv:2 12345678901234567,5 has more than 15 digits/,
    ],
    ['a value that is missing', `${HEADER}DK;A;;;\n`, /csv:2 the row has no value/],
    ['a day that is none', `${HEADER}DK;A;1;2026-02-30;\n`, /2026-02-30 is no day/],
    [
      'a country that is none',
      `${HEADER}UK;A;1;;\n*;*;1;;\n`,
      /csv:2 "UK" is no country of order\.country - did you mean: GB/,
    ],
    ['texts among numbers', `${HEADER}DK;A;1;;\nDK;B;many;;\n`, /mixes texts, numbers/],
    [
      'a column by another name',
      HEADER.replace('limit;', 'limt;'),
      /no column "limit" - did you mean: limt\?/,
    ],
  ])('is told of %s', (_, text, expected) => {
    expect(problems(text)).toContainEqual(expect.stringMatching(expected));
  });

  it('is told of a file that is not there', () => {
    const settings = SETTINGS.replace('file: limits.csv', 'file: limit.csv');
    expect(problems(`${HEADER}*;*;1;;\n`, settings)).toContainEqual(
      expect.stringMatching(
        /settings\.yaml:8 there is no file limit\.csv .* there is: limits\.csv/,
      ),
    );
  });

  it.each<[string, Buffer]>([
    [
      'UTF-8 with a mark at its beginning',
      Buffer.from(
        '\uFEFFcountry,group,limit,first day,last day\r\nDK,Müller,"12,5",,\r\n*,*,1,,\r\n',
      ),
    ],
    [
      'windows-1252 with semicolons',
      Buffer.from(
        'country;group;limit;first day;last day\r\nDK;Müller;12,5;;\r\n*;*;1;;\r\n',
        'latin1',
      ),
    ],
  ])('is read as a spreadsheet writes it: %s', (_, bytes) => {
    const folder = temporaryFolder();
    writeFileSync(join(folder, 'limits.csv'), bytes);
    const [file] = readRuleFiles(folder);
    expect(outcome(file?.text ?? '', { country: 'DK', group: 'Müller', amount: 12.5 })).toBe(true);
    expect(outcome(file?.text ?? '', { country: 'DK', group: 'Müller', amount: 12.51 })).toBe(
      false,
    );
  });

  it('of two keys is loaded where no two of its thousands of rows share a key', () => {
    const rows = Array.from({ length: 5_000 }, (_, at) => `A${at};G${at};${at};;\n`);
    expect(problems(`${HEADER}${rows.join('')}`)[0]).toBe(
      'limits.csv:1 no row for A0 and G1; A0 and G2; A0 and G3; A0 and G4; A0 and G5' +
        ' and 24994995 more - add these rows, or a row with *',
    );
  });

  it('of two keys is loaded where each of thousands of rows has a default', () => {
    const rows = Array.from({ length: 2_500 }, (_, at) => `A${at};*;${at};;\n*;G${at};7;;\n`);
    const table = `${HEADER}${rows.join('')}`;
    expect(problems(table).filter((text) => text.includes('no row'))).toEqual([]);
    expect(outcome(table, { country: 'A9', group: 'G8', amount: 9 })).toBe(true);
    expect(outcome(table, { country: 'B9', group: 'G8', amount: 7.01 })).toBe(false);
    expect(outcome(table, { country: 'B9', group: 'X', amount: 1 })).toBe('unknown');
  });

  it('names a mistake that all of its rows make a hundred times, and counts the others', () => {
    const rows = Array.from({ length: 1_000 }, (_, at) => `X${at};A;1;;\n`);
    const found = problems(`${HEADER}${rows.join('')}`);
    expect(found).toHaveLength(101);
    expect(found.at(-1)).toContain('and 900 more in this file');
  });

  it('can be gone through by a condition, whatever its keys are', () => {
    const asked = (condition: string) => {
      const loaded = loadRules([
        { path: 'settings.yaml', text: SETTINGS },
        { path: 'limits.csv', text: `${HEADER}DK;A;5;;\nSE;B;9;;2026-05-31\n*;A;1;;\n` },
        {
          path: 'rules.yaml',
          text: `rules: [{ id: a, title: A, action: hold, when: ['${condition}'] }]`,
        },
      ]);
      if (!('ruleSet' in loaded)) throw new Error(JSON.stringify(loaded.problems));
      const facts = factsOfTest({ clock: { now: '2026-06-01T10:00:00Z' } });
      return evaluate(loaded.ruleSet, facts).rules[0]?.value;
    };
    expect(asked('size(tables.limits) == 2')).toBe(true);
    expect(asked('tables.limits.exists(key, key == "DK")')).toBe(true);
    expect(asked('tables.limits.exists(key, key == "SE")')).toBe(false);
    expect(asked('tables.limits["DK"] == tables.limits["DK"]')).toBe(true);
    expect(asked('tables.limits["DK"] == tables.limits["SE"]')).toBe(false);
    expect(asked('"NO" in tables.limits')).toBe(true);
    expect(asked('"B" in tables.limits["DK"]')).toBe(false);
  });

  it('changes the hash of the rules that read it', () => {
    const hash = (limit: number) => {
      const loaded = load(`${HEADER}*;*;${limit};;\n`);
      return 'ruleSet' in loaded ? loaded.ruleSet.rules[0]?.hash : undefined;
    };
    expect(hash(1)).not.toBe(hash(2));
  });
});

it('of a file with a broken line, only that line is complained of', () => {
  for (const broken of ['NO;"a;1;;', 'NO;a "b;1;;', 'NO;"a"b;1;;']) {
    const csv = `${HEADER}DK;*;10;;\n${broken}\nSE;*;20;;\n`;
    expect(problems(csv), broken).toEqual([
      expect.stringMatching(/^limits\.csv:3 this is no row of a CSV file - put a cell with/),
    ]);
  }
  // Nor is any rule judged where the columns are not those of the settings, or there are none.
  const lacking = expect.stringMatching(/^limits\.csv:1 the table has no column/);
  for (const csv of ['', 'land;group;limit;first day;last day\nDK;*;10;;\n']) {
    expect(new Set(problems(csv))).toEqual(new Set([lacking]));
  }
});
