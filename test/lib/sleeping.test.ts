import { execFileSync } from 'node:child_process';
import { expect, it } from 'vitest';

const CLOCK = new URL('../../src/lib/clock.ts', import.meta.url).href;

it('keeps a process alive that does nothing but sleep', () => {
  const program = `import { systemClock } from '${CLOCK}';
    for (let left = 1_500; left > 0; left -= 1) await systemClock().sleep(1);
    console.log('awake');`;
  const args = ['--input-type=module', '--eval', program];
  expect(execFileSync(process.execPath, args, { encoding: 'utf8' })).toBe('awake\n');
});
