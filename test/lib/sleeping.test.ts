import { execFileSync } from 'node:child_process';
import { expect, it } from 'vitest';

const LIMITER = new URL('../../src/client/http/limiter.ts', import.meta.url).href;
const CLOCK = new URL('../../src/lib/clock.ts', import.meta.url).href;

it('keeps a process alive that does nothing but sleep', () => {
  const program = `import { systemClock } from '${CLOCK}';
    for (let left = 1_500; left > 0; left -= 1) await systemClock().sleep(1);
    console.log('awake');`;
  const args = ['--input-type=module', '--eval', program];
  expect(execFileSync(process.execPath, args, { encoding: 'utf8' })).toBe('awake\n');
});

it('keeps a process alive that waits for nothing but its turn, and not for a turn given up', () => {
  const program = `import { systemClock } from '${CLOCK}';
    import { createLimiter } from '${LIMITER}';
    const limiter = createLimiter({ requestsPerSecond: 20, concurrencyMax: 1 }, systemClock());
    for (let left = 3; left > 0; left -= 1) (await limiter.acquire('read'))();
    limiter.pause(250_000);
    const stop = new AbortController();
    const last = limiter.acquire('read', stop.signal).catch(() => 'given up');
    stop.abort();
    console.log(await last);`;
  const args = ['--input-type=module', '--eval', program];
  const options = { encoding: 'utf8', timeout: 60_000 } as const;
  expect(execFileSync(process.execPath, args, options)).toBe('given up\n');
});
