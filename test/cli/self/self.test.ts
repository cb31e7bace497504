import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readSettings } from '../../../src/config/settings.ts';
import { temporaryFolder } from '../../support/store.ts';
import { selvedge } from '../support.ts';

/** What bash offers after these words. */
function offered(script: string, ...typed: string[]): string[] {
  const program = `source "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _selvedge
    printf '%s\\n' "\${COMPREPLY[@]}"`;
  const text = execFileSync('bash', ['-c', program, script, 'selvedge', ...typed], {
    encoding: 'utf8',
  });
  return text.split('\n').filter((word) => word !== '');
}

describe('selvedge completion', () => {
  it('offers commands, options and their choices in bash', async () => {
    const script = join(temporaryFolder(), 'completion.bash');
    writeFileSync(script, (await selvedge(['completion', 'bash'])).stdout);
    expect(offered(script, 'confi')).toEqual(['config']);
    expect(offered(script, 'config', 's')).toEqual(['show']);
    expect(offered(script, 'report', 'run', '--fo')).toEqual(['--format']);
    expect(offered(script, 'report', 'run', '--format', '')).toEqual([
      ...['table', 'csv', 'json', 'ndjson'],
    ]);
    expect(offered(script, 'completion', 'f')).toEqual(['fish']);
  });

  it.each(['zsh', 'fish'])('names every command for %s', async (shell) => {
    const { stdout } = await selvedge(['completion', shell]);
    for (const path of ['config check', 'report run', 'rules backtest']) {
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
