import { describe, expect, it, onTestFinished } from 'vitest';
import { manualClock } from '../../src/lib/clock.ts';
import { silentLogger } from '../../src/lib/log.ts';
import { createSpaceWatch, freeBytesAt, type SpaceWatch } from '../../src/store/space.ts';
import { temporaryFolder } from '../support/store.ts';

const LIMITS = {
  floors: { pull: 300, receive: 200, send: 100 },
  marginBytes: 50,
  checkMs: 1_000,
};

interface Disk {
  readonly space: SpaceWatch;
  readonly lines: string[];
  /** A look at a disk with so many bytes free, or one that cannot be looked at. */
  at(free: number | 'broken'): Promise<readonly string[]>;
}

function disk(): Disk {
  let free: number | 'broken' = 1_000;
  const lines: string[] = [];
  const say = (...parts: unknown[]): number => lines.push(String(parts[1]));
  const log = { ...silentLogger(), error: say, info: say, warn: say };
  const probe = async (): Promise<number> => {
    if (free === 'broken') throw new Error('EIO');
    return free;
  };
  const space = createSpaceWatch({ probe, clock: manualClock(), log }, LIMITS);
  return {
    space,
    lines,
    async at(now) {
      free = now;
      await space.look();
      return space.figures().stopped;
    },
  };
}

describe('the floors of free space', () => {
  it('stop pulls, then events, then pushes, and let each go on with a margin', async () => {
    const { at, space } = disk();
    expect(await at(300)).toEqual([]);
    expect(await at(299)).toEqual(['pull']);
    expect(await at(150)).toEqual(['pull', 'receive']);
    expect(await at(99)).toEqual(['pull', 'receive', 'send']);
    expect(space.allows('send')).toBe(false);
    expect(await at(149)).toEqual(['pull', 'receive', 'send']);
    expect(await at(150)).toEqual(['pull', 'receive']);
    expect(await at(349)).toEqual(['pull']);
    expect(await at(350)).toEqual([]);
    expect(space.allows('send')).toBe(true);
  });

  it('spare nothing that would stop anything, or that leaves less than it takes', async () => {
    const { at, space } = disk();
    expect(space.canSpare(0)).toBe(false);
    await at(700);
    expect([350, 351, 400].map(space.canSpare)).toEqual([true, false, false]);
    await at(349);
    expect([49, 50].map(space.canSpare)).toEqual([true, false]);
    await at(299);
    await at(349);
    expect(space.canSpare(1)).toBe(false);
  });

  it('do not flicker: one line for each stop and each going on', async () => {
    const { at, lines } = disk();
    for (const free of [310, 290, 310, 290, 340, 360, 360]) await at(free);
    expect(lines).toEqual([
      'the disk is nearly full: stopped',
      'there is room on the disk again: goes on',
    ]);
  });

  it('keep what they know when the disk cannot be looked at', async () => {
    const { at, space } = disk();
    expect(await at('broken')).toEqual([]);
    expect(space.figures().freeBytes).toBeUndefined();
    await at(99);
    expect(await at('broken')).toEqual(['pull', 'receive', 'send']);
    expect(space.figures().freeBytes).toBe(99);
  });

  it('are looked at again and again until the stop', async () => {
    const clock = manualClock();
    let looks = 0;
    const probe = async (): Promise<number> => {
      looks += 1;
      return 1_000;
    };
    const space = createSpaceWatch({ probe, clock, log: silentLogger() }, LIMITS);
    const stop = new AbortController();
    const running = space.run(stop.signal);
    onTestFinished(() => running);
    await clock.advance(3_500);
    expect(looks).toBe(4);
    stop.abort();
    await running;
    expect(clock.pending()).toBe(0);
  });

  it('are those of the file system of the folder', async () => {
    expect(await freeBytesAt(temporaryFolder())).toBeGreaterThan(0);
    await expect(freeBytesAt('/nowhere/at/all')).rejects.toMatchObject({ code: 'ENOENT' });
  });
});
