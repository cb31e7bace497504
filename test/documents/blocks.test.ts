/**
 * Code in the documents is right when it is copied: SQL runs in another program on a mirror with
 * rows, settings load, commands are known. (Pages that have a test of their own, which does more
 * with them, are left to it.)
 */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { V2_STREAMS } from '../../src/config/lists.ts';
import { DEFAULT_FILE, requireConfig } from '../../src/config/load.ts';
import { pulledStreams } from '../../src/config/streams.ts';
import { isJsonObject } from '../../src/lib/json.ts';
import { readReports } from '../../src/report/report-file.ts';
import { documentBlocks } from '../support/documents.ts';
import { foreignSql } from '../support/foreign-sql.ts';
import { filesBelow, repositoryRoot } from '../support/source.ts';
import { temporaryFolder, temporaryStore } from '../support/store.ts';

/** What SQL may not use with an SQLite from before the version that brought it. */
const BROUGHT: readonly (readonly [minor: number, what: RegExp])[] = [
  [38, /->|\b(?:unixepoch|format)\s*\(|'auto'/i],
  [39, /\b(?:right|full)\s+(?:outer\s+)?join\b|\bis\s+(?:not\s+)?distinct\s+from\b/i],
  [41, /\bunhex\s*\(/i],
  [42, /\bjson_error_position\s*\(|'subsec(?:ond)?'/i],
  [43, /\b(?:timediff|octet_length)\s*\(/i],
  [44, /\b(?:string_agg|concat|concat_ws)\s*\(/i],
  [45, /\bjsonb\w*\s*\(/i],
  [46, /\bjson_pretty\s*\(|\b\d+_\d|'%[GgVUelIkPpRTF]/],
  [47, /\b(?:median|percentile\w*)\s*\(/i],
  [48, /\bif\s*\(/i],
  [50, /\b(?:unistr|unistr_quote|jsonb_each|jsonb_tree)\s*\(/i],
];

/** The oldest SQLite that the views run with (openInOldSqlite): 3.39. */
const OLDEST_OF_VIEWS = 39;

const read = (path: string): string => readFileSync(join(repositoryRoot, path), 'utf8');

/** SQL that an ERP's client runs: the manual's, the example's, and what it sets off itself. */
function sqlOfTheErp(): { readonly place: string; readonly text: string }[] {
  const manual = read('docs/erp-integration.md');
  const blocks = [...manual.matchAll(/^```(?:sql|sh)[^\n]*\n(.*?)^```$/gms)]
    .map((match, index) => ({ place: `block ${index + 1} of the manual`, text: match[1] ?? '' }))
    .filter(({ text }) => /\b(?:select|insert|pragma)\b/i.test(text));
  const schema = readdirSync(join(repositoryRoot, 'migrations/exchange'));
  const files = [
    'docs/examples/erp-client.cs',
    ...schema.map((name) => `migrations/exchange/${name}`),
  ];
  const withoutComments = (text: string): string => text.replace(/^\s*(?:--|\/\/).*$/gm, '');
  return [
    ...blocks,
    ...files.map((place) => ({
      place,
      text: withoutComments(read(place)).replace(/\bif \(/g, ''),
    })),
  ];
}

/** Names what the SQL uses that an SQLite of this version (3.x) does not have. */
function newerThan(
  oldest: number,
  sql: readonly { readonly place: string; readonly text: string }[],
): string[] {
  const newer = BROUGHT.filter(([minor]) => minor > oldest);
  return sql.flatMap(({ place, text }) =>
    newer.flatMap(([minor, what]) => {
      const hit = what.exec(text)?.[0];
      return hit === undefined ? [] : [`${place}: ${hit} needs 3.${minor}`];
    }),
  );
}

describe('the documents', () => {
  it('show no SQL that the oldest SQLite which they name does not have', () => {
    const manual = read('docs/erp-integration.md');
    const oldest = Number(/client from SQLite 3\.(\d+) on/.exec(manual)?.[1]);
    expect(oldest).toBeGreaterThanOrEqual(37);
    const ofTheErp = sqlOfTheErp();
    expect(ofTheErp.length).toBeGreaterThan(6);
    expect(newerThan(oldest, ofTheErp)).toEqual([]);
    expect(newerThan(OLDEST_OF_VIEWS, documentBlocks('sql'))).toEqual([]);
  });

  it('show SQL that runs in another program', async () => {
    const { path } = await temporaryStore();
    const database = new Database(path);
    database.exec(readFileSync(join(repositoryRoot, 'test/report/mirror.sql'), 'utf8'));
    database.close();
    const queries = documentBlocks('sql').filter(({ text }) => !text.startsWith('/*'));
    expect(queries.length).toBeGreaterThan(4);
    for (const { place, text } of queries) {
      const run = () => foreignSql(path, text, { parameters: { at: 1_767_607_200_000 } });
      expect(run, place).not.toThrow();
    }
  });

  it('show a report of your own that can be used', async () => {
    const own = documentBlocks('sql').filter(({ text }) => text.startsWith('/*'));
    expect(own).toHaveLength(2);
    const folder = temporaryFolder();
    for (const [at, { text }] of own.entries()) writeFileSync(join(folder, `own-${at}.sql`), text);
    const { reports, wrong } = readReports(folder);
    expect(wrong).toEqual([]);
    const { path } = await temporaryStore();
    const database = new Database(path, { readonly: true });
    const values = { country: 'DK', since: 0, style: 'S-1' };
    for (const { sql } of reports.filter(({ name }) => name.startsWith('own-'))) {
      expect(database.prepare(sql).all(values)).toEqual([]);
    }
    database.close();
    expect(reports.find(({ params }) => 'country' in params)?.params).toMatchObject({
      country: { type: 'text' },
      since: { default: '90d' },
    });
  });

  it('show barcodes with a right check digit', () => {
    const pages = filesBelow('docs', ['.md']).map(({ path }) => path);
    const found = pages.flatMap((path) =>
      [...readFileSync(join(repositoryRoot, path), 'utf8').matchAll(/(?<!\d)57\d{11}(?!\d)/g)].map(
        ([code]) => code,
      ),
    );
    expect(found.length).toBeGreaterThan(5);
    const sum = (code: string) =>
      [...code].reduce((all, digit, at) => all + Number(digit) * (at % 2 === 0 ? 1 : 3), 0);
    expect(found.filter((code) => sum(code) % 10 !== 0)).toEqual([]);
  });

  it('show settings that load', () => {
    const sections = Object.keys(parse(readFileSync(DEFAULT_FILE, 'utf8')));
    const settings = documentBlocks('yaml').filter(({ text }) => {
      const value: unknown = parse(text);
      return isJsonObject(value) && Object.keys(value).every((name) => sections.includes(name));
    });
    expect(settings.length).toBeGreaterThanOrEqual(3);
    const folder = temporaryFolder();
    mkdirSync(join(folder, 'rules'));
    for (const { place, text } of settings) {
      const { service = {}, ...others } = parse(text);
      const account = { v1: { baseUrl: 'https://a.example/api/v1', apiKey: { env: 'K' } } };
      const file = join(folder, 'selvedge.yaml');
      writeFileSync(file, stringify({ ...others, service: { ...account, ...service } }));
      const load = () => requireConfig({ file, env: { K: 'a-key' }, absent: 'any' });
      expect(load, place).not.toThrow();
    }
  });

  it('begin with a configuration that pulls the styles, which rules ask for', () => {
    const [first] = documentBlocks('yaml').filter(({ text }) => text.includes('baseUrl:'));
    expect(first?.place).toMatch(/^docs\/install\.md/);
    const file = join(temporaryFolder(), 'selvedge.yaml');
    writeFileSync(file, first?.text ?? '');
    const { config } = requireConfig({ file, env: {}, absent: 'any' });
    expect(Object.keys(pulledStreams(config))).toEqual(expect.arrayContaining([...V2_STREAMS]));
  });

  it('show a scrape of the address that is the default', () => {
    const prometheus = documentBlocks('yaml').find(({ text }) => text.includes('scrape_configs'));
    const { local } = parse(readFileSync(DEFAULT_FILE, 'utf8'));
    expect(prometheus?.text).toContain(`"${local.host}:${local.port}"`);
    const [, rules = ''] = /\/opt\/selvedge\/(\S+\.yaml)/.exec(prometheus?.text ?? '') ?? [];
    expect(parse(readFileSync(join(repositoryRoot, rules), 'utf8'))).toHaveProperty('groups');
  });
});
