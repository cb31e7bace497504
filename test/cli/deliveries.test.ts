import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { runCli } from '../../src/cli/program.ts';
import { loadRuleSet } from '../../src/decisions/rule-files.ts';
import { temporaryFolder } from '../support/store.ts';

async function cli(...args: string[]): Promise<{ code: number; err: string }> {
  let err = '';
  const stderr = { write: (text: string) => (err += text) };
  const code = await runCli(args, { stdout: { write: () => true }, stderr, env: {} });
  return { code, err };
}

describe('selvedge deliveries list', () => {
  it('refuses a limit that is no number instead of guessing one', async () => {
    const { code, err } = await cli('deliveries', 'list', '--limit', '5x');
    expect(code).toBe(2);
    expect(err).toMatch(/--limit.*a whole number from 1 to 10000/);
  });

  it('refuses filters that contradict each other', async () => {
    const { code, err } = await cli('deliveries', 'list', '--held', '--status', 'accepted');
    expect(code).toBe(2);
    expect(err).toMatch(/cannot be used with/);
  });
});

describe('the rules directory', () => {
  it('refuses a file that would look like rules and not be read', () => {
    const folder = join(temporaryFolder(), 'rules');
    mkdirSync(folder);
    writeFileSync(join(folder, 'more.yml'), 'rules: []\n');
    expect(() => loadRuleSet(folder)).toThrow(/"more\.yml" would not be read/);
  });
});
