/** The commands of docs/rules.md; manual.slow.test.ts follows it command by command. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { temporaryFolder } from '../../support/store.ts';
import { selvedge } from '../support.ts';
import { commands, live, rule, tests } from './manual-page.ts';

describe('docs/rules.md', () => {
  const named = commands();

  it('names every rules command', async () => {
    const { stdout } = await selvedge(['rules', '--help']);
    const known = [...stdout.matchAll(/^ {2}([a-z]+) /gm)].map((match) => match[1] ?? '');
    expect(known.length).toBeGreaterThan(8);
    const missing = known.filter(
      (name) => !named.some((text) => text.startsWith(`selvedge rules ${name}`)),
    );
    expect(missing).toEqual([]);
  });

  it('starts the demo with options that it has', async () => {
    const { stdout } = await selvedge(['demo', '--help']);
    expect(named).toContain('selvedge demo --rules my-rules');
    expect(stdout).toContain('--rules <dir>');
    expect(stdout).toContain('.selvedge-demo');
  });

  it('ends with a live accept rule that passes its tests', async () => {
    const folder = temporaryFolder();
    const text = `${rule}${tests}`.replace('    action: accept\n', `    action: accept\n${live}`);
    writeFileSync(join(folder, 'deliveries.yaml'), text);
    const check = await selvedge(['rules', 'check', folder, '--json']);
    expect(check.code).toBe(0);
    expect(JSON.parse(check.stdout).rules).toMatchObject([{ id: 'accept-small', mode: 'live' }]);
  });
});
