/**
 * Code in the documents is right when it is copied: SQL runs in another program on a mirror with
 * rows, settings load, commands are known. (Pages that have a test of their own, which does more
 * with them, are left to it.)
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { DEFAULT_FILE, requireConfig } from '../../src/config/load.ts';
import { PDM_STREAMS, pulledStreams } from '../../src/config/streams.ts';
import { isJsonObject } from '../../src/lib/json.ts';
import { readReports } from '../../src/report/report-file.ts';
import { documentBlocks } from '../support/documents.ts';
import { foreignSql } from '../support/foreign-sql.ts';
import { repositoryRoot } from '../support/source.ts';
import { temporaryFolder, temporaryStore } from '../support/store.ts';

describe('the documents', () => {
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
    expect(Object.keys(pulledStreams(config))).toEqual(expect.arrayContaining([...PDM_STREAMS]));
  });

  it('show a scrape of the address that is the default', () => {
    const prometheus = documentBlocks('yaml').find(({ text }) => text.includes('scrape_configs'));
    const { local } = parse(readFileSync(DEFAULT_FILE, 'utf8'));
    expect(prometheus?.text).toContain(`"${local.host}:${local.port}"`);
    const [, rules = ''] = /\/opt\/selvedge\/(\S+\.yaml)/.exec(prometheus?.text ?? '') ?? [];
    expect(parse(readFileSync(join(repositoryRoot, rules), 'utf8'))).toHaveProperty('groups');
  });
});
