import { Agent } from 'undici';
import { expect, it, onTestFinished } from 'vitest';
import { manualClock } from '../../../src/lib/clock.ts';
import { createLogger } from '../../../src/lib/log.ts';
import { createScrubber, Secret } from '../../../src/lib/secret.ts';
import { createHeartbeat } from '../../../src/ops/notify/heartbeat.ts';
import { startHookListener } from '../../support/hook-listener.ts';
import { until } from '../../support/house.ts';
import { SECRET } from './support.ts';

it('calls its address each minute while the daemon is well, and logs a failure once', async () => {
  const hook = await startHookListener(SECRET);
  const clock = manualClock();
  const scrubber = createScrubber();
  scrubber.register(hook.url, 'heartbeat');
  const lines: string[] = [];
  const write = (line: string) => void lines.push(line);
  const log = createLogger({ level: 'info', format: 'json', scrubber, write });
  const agent = new Agent({ keepAliveTimeout: 1 });
  const address = new Secret('heartbeat', hook.url);
  let isWell = true;
  const heartbeat = createHeartbeat({
    ...{ clock, log, address, scrub: scrubber.scrub },
    dispatcher: () => agent,
    isWell: () => isWell,
  });
  const stop = new AbortController();
  const done = heartbeat.run(stop.signal);
  onTestFinished(() => agent.destroy());
  // The worker sleeps again once it has its answer.
  const asleep = (calls: number) =>
    until(`call ${calls}`, () =>
      hook.calls.length === calls && clock.pending() === 1 ? true : undefined,
    );
  await asleep(1);
  hook.answer(500);
  for (const nth of [2, 3, 4]) {
    await clock.advance(60_000);
    await asleep(nth);
  }
  expect(lines.filter((line) => line.includes('was not heard'))).toHaveLength(1);
  hook.answer(200);
  await clock.advance(60_000);
  await asleep(5);
  expect(lines.filter((line) => line.includes('heard again'))).toHaveLength(1);
  isWell = false;
  await clock.advance(600_000);
  expect(hook.calls).toEqual(Array(5).fill('GET /hook'));
  stop.abort();
  await done;
});
