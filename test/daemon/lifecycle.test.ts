import { afterEach, describe, expect, it, vi } from 'vitest';
import { runUntilSignal } from '../../src/daemon/lifecycle.ts';
import { manualClock } from '../../src/lib/clock.ts';
import { EXIT } from '../../src/lib/errors.ts';
import { silentLogger } from '../../src/lib/log.ts';

afterEach(() => {
  vi.restoreAllMocks();
});

describe('SIGHUP', () => {
  it('forces no stop that goes on already', async () => {
    const clock = manualClock();
    const exit = vi.spyOn(process, 'exit').mockImplementation(() => {
      throw new Error('this process goes on');
    });
    let reloads = 0;
    const onHangUp = async () => {
      reloads += 1;
    };
    const work = async (): Promise<void> => {
      process.emit('SIGTERM', 'SIGTERM');
      await clock.advance(1_000);
      process.emit('SIGHUP', 'SIGHUP');
    };
    await runUntilSignal(work, silentLogger(), { clock, onHangUp });
    expect([exit.mock.calls, reloads]).toEqual([[], 0]);
  });

  it('reloads where there is something to reload, and stops nothing', async () => {
    let reloads = 0;
    const ended = new AbortController();
    const onHangUp = async () => {
      reloads += 1;
      if (reloads === 1) throw new Error('a mistake');
      ended.abort();
    };
    const work = (signal: AbortSignal) =>
      new Promise<void>((resolve, reject) => {
        signal.addEventListener('abort', () => reject(new Error('stopped')));
        ended.signal.addEventListener('abort', () => resolve());
        process.emit('SIGHUP', 'SIGHUP');
        process.emit('SIGHUP', 'SIGHUP');
      });
    await runUntilSignal(work, silentLogger(), { onHangUp });
    expect(reloads).toBe(2);
  });
});

describe('Ctrl-C', () => {
  it('counts once however often it arrives, and forces the stop when pressed again', async () => {
    const clock = manualClock();
    const exits: unknown[] = [];
    vi.spyOn(process, 'exit').mockImplementation((code) => {
      exits.push(code);
      throw new Error('this process goes on');
    });
    const press = (): boolean => process.emit('SIGINT', 'SIGINT');
    const work = async (signal: AbortSignal): Promise<void> => {
      press();
      expect(signal.aborted).toBe(true);
      // From the terminal, and from npm or the launcher, which pass it on.
      press();
      await clock.advance(299);
      press();
      expect(exits).toEqual([]);
      await clock.advance(1);
      expect(press).toThrow('this process goes on');
    };
    await runUntilSignal(work, silentLogger(), { clock });
    expect(exits).toEqual([EXIT.forced.code]);
  });
});
