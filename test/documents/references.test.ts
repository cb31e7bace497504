/** The generated pages of docs/ are what the code says now. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, inject, it } from 'vitest';
import { referencePages } from '../../scripts/references.ts';
import { tableTypes } from '../../scripts/table-types.ts';
import { consoleDocument } from '../../src/console/openapi/document.ts';
import { localApiDocument } from '../../src/local-api/openapi/document.ts';
import { repositoryRoot } from '../support/source.ts';

it('the reference pages are current (refresh them with: npm run references)', async () => {
  const pages = await referencePages();
  expect([...pages.keys()]).toEqual([
    'facts.md',
    'views.md',
    'commands.md',
    'settings.md',
    'metrics.md',
    'operating/incidents.md',
  ]);
  for (const [name, text] of pages) {
    expect(readFileSync(join(repositoryRoot, 'docs', name), 'utf8'), name).toBe(text);
  }
});

it('the types of the tables are current (refresh them with: npm run references)', () => {
  const path = join(repositoryRoot, 'src/store/tables/generated.ts');
  expect(readFileSync(path, 'utf8')).toBe(tableTypes(inject('migratedDatabase')));
});

it.each([
  ['local API', 'openapi.json', localApiDocument],
  ['console', 'openapi-console.json', consoleDocument],
] as const)(
  'the description of the %s is current (refresh it with: npm run references)',
  (_of, file, document) => {
    const written: unknown = JSON.parse(readFileSync(join(repositoryRoot, 'docs', file), 'utf8'));
    expect(written).toEqual(JSON.parse(JSON.stringify(document())));
  },
);
