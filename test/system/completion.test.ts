import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { selvedge } from '../cli/support.ts';
import { MINIMAL, writeConfig } from '../config/support.ts';
import { LAUNCHER } from '../support/launcher.ts';
import { temporaryFolder } from '../support/store.ts';

/** Asks bash for its suggestions after these words, of which the first is the program. */
function offered(script: string, ...typed: string[]): string[] {
  const program = `source "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMP_LINE="$*"
    COMP_POINT=\${#COMP_LINE}; _selvedge
    printf '%s\\n' "\${COMPREPLY[@]}"`;
  const text = execFileSync('bash', ['-c', program, script, ...typed], { encoding: 'utf8' });
  return text.split('\n').filter((word) => word !== '');
}

async function scriptOfBash(): Promise<string> {
  const script = join(temporaryFolder(), 'completion.bash');
  writeFileSync(script, (await selvedge(['completion', 'bash'])).stdout);
  return script;
}

describe('selvedge completion', () => {
  it('offers commands, options and their choices in bash', async () => {
    const script = await scriptOfBash();
    const offers = (...typed: string[]) => offered(script, 'selvedge', ...typed);
    expect(offers('confi')).toEqual(['config']);
    expect(offers('config', 's')).toEqual(['show']);
    expect(offers('report', 'run', '--fo')).toEqual(['--format']);
    const formats = ['table', 'csv', 'json', 'ndjson', 'xlsx', 'html', 'svg'];
    expect(offers('report', 'run', '--format', '')).toEqual(formats);
    expect(offers('plane', 're')).toEqual(['rebuild', 'remove']);
    expect(offers('plane', 'rebuild', '--y')).toEqual(['--yes']);
    expect(offers('fleet', 's')).toEqual(['status']);
    expect(offers('report', 'run', '--on', '')).toEqual(['plane']);
    expect(offers('completion', 'f')).toEqual(['fish']);
    expect(offers('deliveries', 'list', '--url', 'https://x:1', '--tok')).toEqual(['--token-file']);
  });

  it('asks the program itself in bash for reports and streams of the installation', async () => {
    const script = await scriptOfBash();
    const file = writeConfig(`${MINIMAL}streams: { off: [season] }\n`);
    const at = [LAUNCHER, '--config', file];
    expect(offered(script, ...at, 'report', 'run', 'incid')).toEqual(['incidents']);
    expect(offered(script, ...at, 'sync', 'run', 'sto')).toEqual(['stock']);
    expect(offered(script, ...at, 'report', 'run', '--par')).toEqual(['--param']);
    expect(offered(script, LAUNCHER, '--config', '/nowhere', 'report', 'run', 'incid')).toEqual([]);
  });
});
