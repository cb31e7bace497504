/**
 * From the outside: signals. The first SIGTERM, SIGINT or SIGHUP asks for an orderly stop, a second
 * one forces it. The normal end is that nothing is left to do; `process.exit` is the forced way
 * only.
 */
import { type Clock, systemClock } from '../lib/clock.ts';
import { EXIT, toError } from '../lib/errors.ts';
import type { Logger } from '../lib/log.ts';

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/**
 * One Ctrl-C may reach us several times: from the terminal, and from npm or the launcher, which
 * pass it on. Nobody presses it twice this fast.
 */
const SAME_PRESS_MS = 300;

/** Runs `work` until it ends by itself or a signal has stopped it. */
export async function runUntilSignal(
  work: (signal: AbortSignal) => Promise<void>,
  log: Logger,
  clock: Pick<Clock, 'monotonic'> = systemClock(),
): Promise<void> {
  const stop = new AbortController();
  let stoppedAt = 0;
  const onSignal = (name: NodeJS.Signals): void => {
    if (stop.signal.aborted) {
      if (clock.monotonic() - stoppedAt < SAME_PRESS_MS) return;
      log.warn({ signal: name }, 'stopping by force');
      process.exit(EXIT.forced.code);
    }
    stoppedAt = clock.monotonic();
    log.info({ signal: name }, 'stopping; once more forces it');
    stop.abort(new Error(`stopped by ${name}`));
  };
  // Nothing may end the process with a text that did not pass the scrubber.
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
