import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { selvedge } from '../cli/support.ts';
import { temporaryFolder } from '../support/store.ts';

/** Asks bash for its suggestions after these words. */
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
});
