import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { repositoryRoot } from '../support/source.ts';

function bench(...args: readonly string[]) {
  const file = join(repositoryRoot, 'bench', 'run.ts');
  const { status, stderr } = spawnSync(process.execPath, [file, ...args], { encoding: 'utf8' });
  return { status, stderr };
}

describe('npm run bench', () => {
  it('refuses what it does not know, and says what to write instead', () => {
    const unknown = bench('acepts');
    expect(unknown).toMatchObject({ status: 2 });
    expect(unknown.stderr).toContain(
      'there is no benchmark acepts\n  name one of accepts, backtest, console',
    );

    const nameless = bench('--beside', 'HEAD');
    expect(nameless).toMatchObject({ status: 2 });
    expect(nameless.stderr).toContain('--beside compares one benchmark, and none is named');

    const valueless = bench('accepts', '--beside', '--rounds', '2');
    expect(valueless).toMatchObject({ status: 2 });
    expect(valueless.stderr).toContain('--beside has no value\n  write --beside COMMIT');

    const alone = bench('accepts', '--rounds', '2');
    expect(alone).toMatchObject({ status: 2 });
    expect(alone.stderr).toContain('--rounds are those of a comparison');

    const endless = bench('accepts', '--rounds', '0', '--beside', 'HEAD');
    expect(endless).toMatchObject({ status: 2 });
    expect(endless.stderr).toContain('--rounds 0 is no number of rounds\n  write --rounds 3');
  });
});
