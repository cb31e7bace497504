/** The SQL that the documents show, in the `sqlite3` shell that a person has. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, it } from 'vitest';
import { documentBlocks } from '../support/documents.ts';
import { repositoryRoot } from '../support/source.ts';
import { temporaryStore } from '../support/store.ts';

it('each query of the documents runs in the sqlite3 shell', async () => {
  const { path } = await temporaryStore();
  const database = new Database(path);
  database.exec(readFileSync(join(repositoryRoot, 'test/report/mirror.sql'), 'utf8'));
  database.close();
  const queries = documentBlocks('sql').filter(({ text }) => !text.startsWith('/*'));
  expect(queries.length).toBeGreaterThan(4);
  for (const { place, text } of queries) {
    const parameter = ['-cmd', '.parameter init', '-cmd', ".parameter set ':at' 1767607200000"];
    const run = () => execFileSync('sqlite3', ['-bail', ...parameter, path, text]);
    expect(run, place).not.toThrow();
  }
});
