import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { readSettings } from '../../src/config/settings.ts';
import { renamedHint } from '../../src/lib/reading/renamed.ts';
import { repositoryRoot } from '../support/source.ts';

const tables = parse(readFileSync(join(repositoryRoot, 'docs/internals/renamed.yaml'), 'utf8'));
const commands = readFileSync(join(repositoryRoot, 'docs/commands.md'), 'utf8');
const known = new Set(readSettings().map(({ path }) => path));

it('says of each renamed or removed setting what became of it', () => {
  for (const [name, now] of Object.entries(tables.settings)) {
    expect(renamedHint('settings', name), name).toMatch(/is now|was removed/);
    expect(known.has(name), `${name} is no setting any more`).toBe(false);
    if (typeof now === 'string') expect(known.has(now), `${now} is one`).toBe(true);
  }
  for (const name of Object.keys(tables.commands)) {
    expect(renamedHint('commands', name), name).toMatch(/is now|was removed/);
    const isThere = name.includes(' ') && commands.includes(`\n## selvedge ${name}\n`);
    expect(isThere, `${name} is a command again`).toBe(false);
  }
});

it('says nothing of a name that never was one', () => {
  expect(renamedHint('settings', 'service.v1.nothing')).toBeUndefined();
  expect(renamedHint('commands', 'toString')).toBeUndefined();
});
