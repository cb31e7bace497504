/** The generated pages of docs/ are what the code says now. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { referencePages } from '../../scripts/references.ts';
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
  ]);
  for (const [name, text] of pages) {
    expect(readFileSync(join(repositoryRoot, 'docs', name), 'utf8'), name).toBe(text);
  }
});

it('the description of the local API is current (refresh it with: npm run references)', () => {
  const written: unknown = JSON.parse(
    readFileSync(join(repositoryRoot, 'docs/openapi.json'), 'utf8'),
  );
  expect(written).toEqual(JSON.parse(JSON.stringify(localApiDocument())));
});
