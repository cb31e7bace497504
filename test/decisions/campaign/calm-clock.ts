/**
 * A clock that jumps to the next timer as soon as nothing is under way outside of its time, so that
 * a day of a whole daemon and of the service beside it takes seconds: requests between the two take
 * no time at all.
 */
import { subscribe } from 'node:diagnostics_channel';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { type Clock, manualClock } from '../../../src/lib/clock.ts';

export interface CalmClock extends Clock {
  /** Epoch ms. Runs what falls due until then, in order. */
  runUntil(at: number): Promise<void>;
  /** Time goes on while somebody works on something that may need it. */
  during<T>(work: Promise<T>): Promise<T>;
  /** Number of timers that wait. */
  pending(): number;
}

/** Real time after which a request is taken for one that waits for the simulated time. */
const STUCK_MS = 1_000;
const requests = new Set<unknown>();
let touched = 0;

function requestOf(message: unknown): unknown {
  return typeof message === 'object' && message !== null && 'request' in message
    ? message.request
    : undefined;
}

// This counts the requests of every client in this process, also of the relay and the commands.
subscribe('undici:request:create', (message) => {
  requests.add(requestOf(message));
  touched += 1;
});
for (const end of ['undici:request:trailers', 'undici:request:error']) {
  subscribe(end, (message) => {
    requests.delete(requestOf(message));
    touched += 1;
  });
}

/** A port that keeps the process alive is that of a thread which works. */
const OUTSIDE = /^(?:FSReq|TCPConnect|Process|MessagePort)/;

function isOutside(): boolean {
  return requests.size > 0 || process.getActiveResourcesInfo().some((name) => OUTSIDE.test(name));
}

async function calm(): Promise<void> {
  const real = performance.now.bind(performance);
  let seen = touched;
  let since = real();
  for (let quiet = 0; quiet < 3; ) {
    await nextTurn();
    if (touched !== seen) {
      seen = touched;
      since = real();
    }
    quiet = isOutside() ? 0 : quiet + 1;
    if (real() - since > STUCK_MS) return;
  }
}

/** Loops that only ask whether somebody has submitted something, which takes most of a day. */
const IDLE_LOOKS_MS = new Set([400, 500]);
const IDLE_LOOK_MS = 30_000;
/** Shorter pauses are of work that is under way, such as a request that waits for its slot. */
const LOOP_MS_MIN = 5_000;

/**
 * @param leastMs how long each pause of a loop lasts at least, so that a long time without work
 *   takes fewer turns.
 */
export function calmClock(startsAt: number, leastMs = () => 0): CalmClock {
  const base = manualClock(startsAt);
  let due: number[] = [];
  /** Notes when it will be; gives how long that is. */
  const wait = (ms: number): number => {
    const look = IDLE_LOOKS_MS.has(ms) ? IDLE_LOOK_MS : Math.max(ms, 0);
    const slow = look < LOOP_MS_MIN ? look : Math.max(look, leastMs());
    due.push(base.monotonic() + slow);
    return slow;
  };
  const advance = async (ms: number): Promise<void> => {
    await base.advance(Math.max(0, ms));
    await calm();
  };
  const runUntil = async (at: number): Promise<void> => {
    await calm();
    for (;;) {
      const next = Math.min(...due);
      const left = next - base.monotonic();
      if (left > at - base.now()) break;
      due = due.filter((one) => one > next);
      await advance(left);
    }
    await advance(at - base.now());
  };
  return {
    now: () => Math.floor(base.now()),
    monotonic: base.monotonic,
    pending: base.pending,
    after: (ms, task) => base.after(wait(ms), task),
    sleep: (ms, signal) => base.sleep(wait(ms), signal),
    runUntil,
    async during(work) {
      let isOver = false;
      const over = (): void => {
        isOver = true;
      };
      work.then(over, over);
      while (!isOver) {
        await nextTurn();
        await runUntil(base.now() + 20);
      }
      return work;
    },
  };
}
