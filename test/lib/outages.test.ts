/** Log messages for failures that many things share. */
import { expect, it } from 'vitest';
import { manualClock } from '../../src/lib/clock.ts';
import { createOutages } from '../../src/lib/log/outages.ts';
import { createLogger } from '../../src/lib/log.ts';
import { createScrubber } from '../../src/lib/secret.ts';

const WORDS = { of: 'push', begins: 'put off', over: 'goes on', hint: 'look at the list' };

it('keeps a thousand causes in mind, and not every one that there ever was', () => {
  const lines: string[] = [];
  const write = (line: string): void => void lines.push(line);
  const log = createLogger({ level: 'info', format: 'json', scrubber: createScrubber(), write });
  const outages = createOutages<number>({ clock: manualClock(), log }, WORDS);
  for (let push = 0; push < 1_000; push += 1) outages.note(push, `cause ${push}`, {});
  expect(lines).toHaveLength(1_000);
  outages.note(0, 'cause 0', {});
  expect(lines).toHaveLength(1_000);
  // The oldest makes room, and is new when it comes back.
  outages.note(1_000, 'cause 1000', {});
  outages.note(0, 'cause 0', {});
  expect(lines).toHaveLength(1_002);
  outages.over(999);
  expect(lines.at(-1)).toContain('goes on');
});
