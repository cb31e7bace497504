/**
 * Limits tries to sign in with a password. A guesser gets few tries for a name, and an
 * address from which that person has signed in before has tries of its own.
 */
import type { Clock } from '../../lib/clock.ts';
import { RetryLaterError } from '../../lib/errors.ts';
import { keepNewest } from '../../lib/keep-newest.ts';

const TRIES_MS = 60_000;
/** Most tries for a name in a minute, from one address and from all. */
const TRIES_MAX = 5;
const ALL_TRIES_MAX = 20;
/** Most unknown names whose tries are counted; beyond it, the oldest is forgotten. */
const NAMES_MAX = 1_000;
/** Most tries that wait for their turn. */
const WAITING_MAX = 20;

export interface Try {
  readonly name: string;
  readonly address: string | null;
  /** Whether the name is that of a person who has a password. */
  readonly isKnown: boolean;
  /** Whether this name has signed in from this address before. */
  readonly isFamiliar: boolean;
}

/** Checks passwords one after the other and lets few wait, because each takes 32 MiB and 80 ms. */
function createQueue(): <T>(work: () => Promise<T>) => Promise<T> {
  let waiting = 0;
  let last: Promise<unknown> = Promise.resolve();
  return async (work) => {
    if (waiting >= WAITING_MAX) {
      const hint = 'try again in a moment';
      throw new RetryLaterError('console.busy', 'too many sign in at once', { hint });
    }
    waiting += 1;
    const mine = last.then(work);
    last = mine.catch(() => undefined);
    try {
      return await mine;
    } finally {
      waiting -= 1;
    }
  };
}

/** Runs a check of a password, or throws RetryLaterError because of the tries before it. */
export type Brake = <T>(one: Try, check: () => Promise<T>) => Promise<T>;

export function createBrake(clock: Pick<Clock, 'monotonic'>): Brake {
  // Tries for a person are never forgotten because of tries for others.
  const ofPeople = new Map<string, readonly (readonly [number, string | null])[]>();
  const ofOthers: typeof ofPeople = new Map();
  const familiar = createQueue();
  const strangers = createQueue();
  return async ({ name, address, isKnown, isFamiliar }, check) => {
    const now = clock.monotonic();
    const tries = isKnown ? ofPeople : ofOthers;
    const recent = (tries.get(name) ?? []).filter(([at]) => at > now - TRIES_MS);
    const here = recent.filter(([, from]) => from === address);
    if (here.length >= TRIES_MAX || (!isFamiliar && recent.length >= ALL_TRIES_MAX)) {
      const message = 'too many tries for this name';
      throw new RetryLaterError('console.tries', message, { hint: 'try again in a minute' });
    }
    tries.delete(name);
    tries.set(name, [...recent, [now, address]]);
    keepNewest(ofOthers, NAMES_MAX);
    return isFamiliar ? familiar(check) : strangers(check);
  };
}
