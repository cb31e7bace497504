/**
 * Files that cannot be taken. Each is looked at again after a minute, and told of when it begins
 * and once an hour while it lasts: a program that forgets the mode of its files drops thousands.
 */
import type { Clock } from '../../../lib/clock.ts';
import type { Logger } from '../../../lib/log.ts';

export interface LeftAlone {
  has(name: string): boolean;
  add(name: string, why: string, fields?: object): void;
  taken(name: string): void;
  /** Lets go of those whose time is over. */
  lookAgain(): void;
}

const AGAIN_MS = 60_000;
const REMIND_MS = 3_600_000;

export function createLeftAlone(deps: { readonly clock: Clock; readonly log: Logger }): LeftAlone {
  const { clock, log } = deps;
  /** Until when (monotonic). */
  const left = new Map<string, number>();
  /** What was told of it, and when. */
  const told = new Map<string, { readonly why: string; readonly at: number }>();
  return {
    has: (name) => left.has(name),
    add(name, why, fields = {}) {
      const at = clock.monotonic();
      left.set(name, at + AGAIN_MS);
      if (told.get(name)?.why === why) return;
      told.set(name, { why, at });
      log.error({ file: name, ...fields }, why);
    },
    taken: (name) => told.delete(name),
    lookAgain() {
      const now = clock.monotonic();
      for (const [name, until] of left) if (until <= now) left.delete(name);
      for (const [name, { at }] of told) if (at + REMIND_MS <= now) told.delete(name);
    },
  };
}
