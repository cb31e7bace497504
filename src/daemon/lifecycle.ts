/**
 * From the outside: signals. The first SIGTERM or SIGINT asks for an orderly stop, a second one
 * forces it. The normal end is that nothing is left to do; `process.exit` is the forced way only.
 */
import { EXIT } from '../lib/errors.ts';
import type { Logger } from '../lib/log.ts';

/** Runs `work` until it ends by itself or a signal has stopped it. */
export async function runUntilSignal(
  work: (signal: AbortSignal) => Promise<void>,
  log: Logger,
): Promise<void> {
  const stop = new AbortController();
  const onSignal = (name: NodeJS.Signals): void => {
    if (stop.signal.aborted) {
      log.warn({ signal: name }, 'stopping by force');
      process.exit(EXIT.forced.code);
    }
    log.info({ signal: name }, 'stopping; once more forces it');
    stop.abort(new Error(`stopped by ${name}`));
  };
  process.on('SIGINT', onSignal);
  process.on('SIGTERM', onSignal);
  try {
    await work(stop.signal);
  } finally {
    process.off('SIGINT', onSignal);
    process.off('SIGTERM', onSignal);
  }
}
