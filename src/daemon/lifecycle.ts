/**
 * Runs a process until a signal ends it. The first SIGTERM or SIGINT asks for an orderly stop, a
 * second one forces it; SIGHUP asks for a reload where there is one, else for a stop, too. The
 * process normally ends because nothing is left to do; `process.exit` is the forced way only.
 */
import { setFlagsFromString } from 'node:v8';
import { type Clock, systemClock } from '../lib/clock.ts';
import { EXIT, toError } from '../lib/errors.ts';
import type { Logger } from '../lib/log.ts';
import { collectAtRest, ownHeap } from './memory.ts';

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

export interface SignalOptions {
  readonly clock?: Pick<Clock, 'monotonic'>;
  /**
   * Function to call at SIGHUP in place of a stop. Left out for a process in a terminal: when that
   * closes, nobody is left who could stop the process.
   */
  readonly onHangUp?: (() => Promise<unknown>) | undefined;
}

/**
 * Milliseconds within which several interrupts count as one: npm and the launcher pass Ctrl-C on as
 * well, and nobody presses it twice this fast.
 */
const SAME_PRESS_MS = 300;

/**
 * Makes V8 free memory soon after a burst of work, code that is no longer used included; for a
 * process that stays for months, called once it is loaded. By default V8 takes the burst for the
 * usual load and keeps its garbage for hours.
 */
export function preferMemory(): void {
  setFlagsFromString('--optimize-for-size');
  // With the flag above alone, V8 collects the whole heap whenever it has grown by a tenth (three
  // MiB), several times a second during a pull, at a third of the cost of a pull without changes.
  setFlagsFromString('--heap-growing-percent=60');
  setFlagsFromString('--bytecode-old-age=2');
  collectAtRest(ownHeap(), systemClock());
}

/** Keeps SIGHUP from ending the process; `release` tells whether one has arrived meanwhile. */
export function holdHangUps(): { release(): boolean } {
  let hasArrived = false;
  const onHangUp = (): void => {
    hasArrived = true;
  };
  process.on('SIGHUP', onHangUp);
  return {
    release() {
      process.off('SIGHUP', onHangUp);
      return hasArrived;
    },
  };
}

/** Runs `work` until it ends by itself, or a signal has stopped it. */
export async function runUntilSignal(
  work: (signal: AbortSignal) => Promise<void>,
  log: Logger,
  { clock = systemClock(), onHangUp }: SignalOptions = {},
): Promise<void> {
  const stop = new AbortController();
  let stoppedAt = 0;
  const onSignal = (name: NodeJS.Signals): void => {
    if (name === 'SIGHUP' && onHangUp) {
      // A reload that is requested during a stop does not force the stop.
      if (stop.signal.aborted) return;
      log.info('reloading, as SIGHUP asks');
      onHangUp().catch((thrown: unknown) => {
        log.error({ err: toError(thrown) }, 'reload failed; nothing changed');
      });
      return;
    }
    if (stop.signal.aborted) {
      if (clock.monotonic() - stoppedAt < SAME_PRESS_MS) return;
      log.warn({ signal: name }, 'stopping by force');
      process.exit(EXIT.forced.code);
    }
    stoppedAt = clock.monotonic();
    log.info({ signal: name }, 'stopping; once more forces it');
    stop.abort(new Error(`stopped by ${name}`));
  };
  // Logs an uncaught error here, because its text must pass the scrubber.
  const onUncaught = (error: unknown): void => {
    log.fatal({ err: toError(error) }, 'a mistake in the program; please report it');
    process.exit(EXIT.bug.code);
  };
  process.on('uncaughtException', onUncaught);
  for (const name of SIGNALS) process.on(name, onSignal);
  try {
    await work(stop.signal);
  } finally {
    for (const name of SIGNALS) process.off(name, onSignal);
    process.off('uncaughtException', onUncaught);
  }
}
