/** A check that asks somebody over the network, and does not wait for him for ever. */
import type { Clock } from '../../lib/clock.ts';
import { RetryLaterError } from '../../lib/errors.ts';
import { formatDuration } from '../../lib/units.ts';

export interface Deadline {
  readonly clock: Pick<Clock, 'after'>;
  readonly limitMs: number;
  /** What has come to no end when it is over, and what to do then. */
  readonly what: string;
  readonly hint: string;
}

/** Does the work, which must end when the signal aborts. */
export async function within<T>(
  { clock, limitMs, what, hint }: Deadline,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const limit = new AbortController();
  const timer = clock.after(limitMs, () => {
    const message = `${what} came to no end within ${formatDuration(limitMs)}`;
    limit.abort(new RetryLaterError('doctor.timeout', message, { hint }));
  });
  try {
    return await work(limit.signal);
  } catch (error) {
    throw limit.signal.aborted ? limit.signal.reason : error;
  } finally {
    timer.cancel();
  }
}
