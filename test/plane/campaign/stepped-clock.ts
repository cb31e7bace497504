/** The clock of a child, which its parent puts forward and back. */
import { z } from 'zod';
import { type Clock, systemClock } from '../../../src/lib/clock.ts';

const MESSAGE = z.object({ stepMs: z.number() });

/** `stepMs`: by how much the machine's clock was moved before this process began. */
export function steppedClock(stepMs: number): Clock {
  const clock = systemClock();
  let stepped = stepMs;
  process.on('message', (message) => {
    stepped += MESSAGE.parse(message).stepMs;
  });
  process.on('disconnect', () => process.exit());
  return { ...clock, now: () => clock.now() + stepped };
}
