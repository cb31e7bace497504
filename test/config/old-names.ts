/** Configurations of 0.1.0, and what they mean by the present names. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect } from 'vitest';
import { Document, Pair, Scalar, stringify, YAMLMap } from 'yaml';
import { changedSettings } from '../../src/config/changes.ts';
import { requireConfig } from '../../src/config/load.ts';
import { migrated } from '../../src/config/migrate.ts';
import { ENV, writeConfig } from './support.ts';

/** The default file of the release, with an account. */
export const RELEASED = readFileSync(join(import.meta.dirname, 'released-0.1.0.yaml'), 'utf8')
  .replace('baseUrl: null', 'baseUrl: https://key.example.com/api/v1')
  .replace('apiKey: null', 'apiKey: { env: API_KEY }');
/** Folders of the examples: each configuration lies in one of its own. */
const PLACES = 'dataDir: /d\nrules: { directory: /r }\nreports: { directory: /p }\n';

export const optionsOf = (text: string) => ({ file: writeConfig(text), env: ENV });
/** The order of the streams that are off means nothing. */
export function configOf(text: string) {
  const { config } = requireConfig(optionsOf(text));
  return { ...config, streams: { ...config.streams, off: config.streams.off.toSorted() } };
}
export const oldNamesIn = (text: string) =>
  requireConfig(optionsOf(text)).warnings.flatMap(({ path, message, at }) =>
    /^is (?:now|not used|no section)/.test(message) ? [`${at.line} ${path} ${message}`] : [],
  );
export const commentsIn = (text: string) =>
  [...text.matchAll(/(?<=^|\s)#[^\n]*/gm)].map(([one]) => one.replace(/#| /g, '')).sort();

/** Streams of 0.1.0 that had a jitter; those of V2 had none. */
const JITTERED = ['brands', 'freight', 'seasons', 'stock', 'season', 'orders', 'ordersFull'];
const STREAMS = [
  ...[...JITTERED, 'styles', 'styleColors', 'colors', 'pdmBrands', 'types', 'genders'],
  'countries',
];

/** Each setting of 0.1.0 that has another name now, with values and what they are now. */
export const OLD: readonly (readonly [old: string, values: readonly unknown[], now: string])[] = [
  ['service.v1.login.idMember', ['clientID', 'who'], 'service.dialect.v1.idMember'],
  ['service.v1.login.secretMember', ['key'], 'service.dialect.v1.secretMember'],
  ['service.v1.tokenHeader', ['X-A', 'Authorization'], 'service.dialect.v1.tokenHeader'],
  ['service.v1.tokenScheme', ['plain', 'bearer'], 'service.dialect.v1.tokenScheme'],
  ['service.v1.readTokenHeader', ['X-R'], 'service.dialect.v1.readTokenHeader'],
  ['service.v1.tokenPointer', ['/a/b', '/token'], 'service.dialect.v1.tokenPointer'],
  ['service.v1.paging', ['stream', 'pages'], 'service.dialect.v1.paging'],
  ['service.v1.pageLimit', [1, 250], 'service.dialect.v1.pageLimit'],
  ['service.v1.idempotencyHeader', [null, 'X-I'], 'service.dialect.v1.idempotencyHeader'],
  ['service.v1.freightSpelling', ['Freight'], 'service.dialect.v1.freightSpelling'],
  ['service.v1.seasonParameter', ['season'], 'service.dialect.v1.seasonParameter'],
  ['service.v1.paths.pendingRefunds', ['a', 'b/c'], 'service.dialect.v1.paths.pendingRefunds'],
  ['service.v1.level', ['1.2.7', '1.4.0'], 'service.dialect.v1.level'],
  ['service.v1.perBrand', ['always', 'never'], 'service.dialect.v1.perBrand'],
  ['service.v1.currency', [null, 'EUR'], 'service.dialect.v1.currency'],
  ['service.v1.timeZone', ['Europe/Copenhagen'], 'service.dialect.v1.timeZone'],
  [
    'service.v1.statuses',
    [[{ of: 'delivery', says: 'on hold: 1', means: 'pending' }], []],
    'service.dialect.v1.statuses',
  ],
  [
    'service.v1.members',
    [[{ of: 'details', ours: 'styleNo', theirs: 'style#' }]],
    'service.dialect.v1.members',
  ],
  ['service.v2.login.idMember', ['id'], 'service.dialect.v2.idMember'],
  ['service.v2.login.secretMember', ['secret'], 'service.dialect.v2.secretMember'],
  ['service.v2.tokenHeader', ['X-B'], 'service.dialect.v2.tokenHeader'],
  ['service.v2.tokenScheme', ['bearer'], 'service.dialect.v2.tokenScheme'],
  ['service.v2.tokenPointers', [['/a'], ['/b', '/c']], 'service.dialect.v2.tokenPointers'],
  ['service.v2.paging', ['links'], 'service.dialect.v2.paging'],
  ['service.v2.pageLimit', [7], 'service.dialect.v2.pageLimit'],
  ['service.v2.sparseFields', [false, true], 'service.dialect.v2.sparseFields'],
  ['service.v2.mediaType', ['application/json'], 'service.dialect.v2.mediaType'],
  ...['styleColor', 'brand', 'type', 'gender', 'country'].map(
    (name) => [`service.v2.paths.${name}`, ['other'], `service.dialect.v2.paths.${name}`] as const,
  ),
  ['streams.stock.unlisted', ['zero', 'unknown'], 'service.dialect.v1.unlisted'],
  ['service.retry.attempts', [1, 7, 20], 'service.retry'],
  ['service.retry.delayMin', ['0s', '5s'], ''],
  ['service.retry.delayMax', ['1m'], ''],
  ...JITTERED.map((name) => [`streams.${name}.jitter`, ['0s', '7m'], ''] as const),
  ...STREAMS.map((name) => [`streams.${name}.enabled`, [true, false], 'streams.off'] as const),
];
/** Settings between them whose names have not changed. */
const KEPT = [
  ['instance', 'other'],
  ['service.v1.baseUrl', 'https://key.example.com/api/v1'],
  ['service.v1.apiKey', { env: 'API_KEY' }],
  ['service.timeouts.total', '2m'],
  ['service.v2.enabled', false],
  ['streams.stock.schedule', '*/7 * * * *'],
  ['streams.orders.freshness', '40m'],
  ['streams.season.detailed', false],
] as const;

type Said = readonly (readonly [path: string, value: unknown])[];

/** Writes settings as a person may: in this order, sections in braces or not, with comments. */
function writtenAs(said: Said, style: readonly number[]): string {
  const document = new Document(new YAMLMap());
  said.forEach(([path, value], at) => {
    const steps = path.split('.');
    const mark = style[at % style.length] ?? 0;
    let section: unknown = document.contents;
    steps.forEach((step, depth) => {
      if (!(section instanceof YAMLMap)) throw new Error(`${path} is in no section`);
      const isLast = depth === steps.length - 1;
      let pair = section.items.find(({ key }) => key instanceof Scalar && key.value === step);
      if (pair === undefined) {
        const key = new Scalar(step);
        if (mark % 3 === 1) key.commentBefore = ` before ${at}.${depth}`;
        if (mark % 5 === 2) key.spaceBefore = true;
        pair = new Pair(key, isLast ? document.createNode(value) : new YAMLMap());
        section.items.push(pair);
        if (isLast && pair.value instanceof Scalar && mark % 4 === 3) {
          pair.value.comment = ` behind ${at}`;
        }
        const isPlain = !isLast && depth > 0 && mark % 7 === 6;
        if (isPlain && pair.value instanceof YAMLMap) pair.value.flow = true;
      }
      section = pair.value;
    });
  });
  return document.toString({ lineWidth: 0 });
}

/** The same settings by their present names, as plain YAML. */
function present(said: Said): string {
  const off = said.flatMap(([path, value]) =>
    path.endsWith('.enabled') && path.startsWith('streams.') && value === false
      ? [path.split('.')[1]]
      : [],
  );
  const named = said.flatMap(([path, value]) => {
    const [, , now = path] = OLD.find(([old]) => old === path) ?? [];
    return now === '' || now === 'streams.off' ? [] : [[now, value] as const];
  });
  const document = new Document({});
  for (const [path, value] of [...named, ['streams.off', off] as const]) {
    document.setIn(path.split('.'), value);
  }
  return stringify(document.toJS());
}

export const anyOld: fc.Arbitrary<Said> = fc
  .shuffledSubarray([...OLD], { minLength: 1 })
  .chain((some) =>
    fc.tuple(
      ...some.map(([old, values]) => fc.constantFrom(...values).map((one) => [old, one] as const)),
    ),
  )
  .chain((old) => fc.shuffledSubarray([...old, ...KEPT], { minLength: old.length + KEPT.length }));

/** Expects old settings to mean what their present names do, as they are and as written. */
export function meansTheSame(said: Said, style: readonly number[]): void {
  const text = writtenAs(said, style) + PLACES;
  const config = configOf(text);
  expect(changedSettings(config, configOf(present(said) + PLACES))).toEqual([]);
  const anew = migrated(optionsOf(text)).text;
  expect(changedSettings(config, configOf(anew))).toEqual([]);
  expect(oldNamesIn(anew)).toEqual([]);
  const words = commentsIn(anew).join('\n');
  expect(commentsIn(text).filter((one) => !words.includes(one))).toEqual([]);
}

export const anyStyle = fc.array(fc.nat(99), { minLength: 9, maxLength: 9 });
