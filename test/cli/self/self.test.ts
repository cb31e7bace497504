import { describe, expect, it } from 'vitest';
import { readSettings } from '../../../src/config/settings.ts';
import { selvedge } from '../support.ts';

describe('selvedge completion', () => {
  it.each(['zsh', 'fish'])('names every command for %s', async (shell) => {
    const { stdout } = await selvedge(['completion', shell]);
    for (const path of ['config check', 'report run', 'plane grant-reader', 'fleet status']) {
      expect(stdout).toContain(`'${path}'`);
    }
  });

  it('refuses a shell that it does not know', async () => {
    const { code, stderr } = await selvedge(['completion', 'csh']);
    expect(code).toBe(2);
    expect(stderr).toContain('Allowed choices are bash, zsh, fish');
  });
});

it('has words for every setting in the default file', () => {
  expect(readSettings().filter(({ about }) => about === '')).toEqual([]);
});
