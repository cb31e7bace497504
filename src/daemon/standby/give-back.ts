/**
 * Gives the lease back to the machine that asks for it, as a drill does: once this one has decided
 * and sent by itself, and that one could take over. The time for it is counted here, from when the
 * wish is read, so that nobody has to withdraw one.
 */
import type { Clock } from '../../lib/clock.ts';
import { SelvedgeError } from '../../lib/errors.ts';
import type { Logger } from '../../lib/log.ts';
import type { Wish } from '../../standby/lease.ts';
import type { Worker } from '../supervisor.ts';

export interface GiveBackDeps {
  readonly clock: Clock;
  readonly log: Logger;
  /** Machine that asks for the lease; undefined: none, or this one does not hold it. */
  readonly wished: () => Wish | undefined;
  /** Why that machine cannot have it yet; undefined: it can. */
  readonly whyNotYet: (to: string) => Promise<string | undefined>;
  readonly give: (to: string) => Promise<void>;
  /** Tells the machine that asked. */
  readonly say: (text: string) => Promise<void>;
}

const LOOK_MS = 2_000;

class Giving {
  readonly #deps: GiveBackDeps;
  #wish: Wish | undefined;
  #seenAt = 0;
  #said: string | undefined;

  constructor(deps: GiveBackDeps) {
    this.#deps = deps;
  }

  async look(): Promise<void> {
    const { clock, wished, whyNotYet, give, log } = this.#deps;
    const wish = wished();
    if (wish?.to !== this.#wish?.to || wish?.withinMs !== this.#wish?.withinMs) {
      this.#seenAt = clock.monotonic();
      this.#said = undefined;
    }
    this.#wish = wish;
    if (wish === undefined) return;
    if (clock.monotonic() - this.#seenAt > wish.withinMs) {
      return this.#say(`${wish.to} asked for the lease, and its time is over`);
    }
    try {
      const why = await whyNotYet(wish.to);
      if (why !== undefined) return await this.#say(why);
      await this.#say('decides and sends; gives the lease back');
      log.info({ to: wish.to }, 'the lease is given back, as was asked for');
      await give(wish.to);
    } catch (thrown) {
      if (!(thrown instanceof SelvedgeError)) throw thrown;
      log.warn({ code: thrown.code, hint: thrown.hint }, `not given back yet: ${thrown.message}`);
      await this.#say(thrown.message);
    }
  }

  async #say(text: string): Promise<void> {
    if (text === this.#said) return;
    // Only people read it: it is said again with the next reason.
    await this.#deps.say(text).catch(() => undefined);
    this.#said = text;
  }
}

export function createGiveBack(deps: GiveBackDeps): Worker {
  const giving = new Giving(deps);
  return {
    name: 'standby-give-back',
    async run(signal) {
      while (!signal.aborted) {
        await giving.look();
        await deps.clock.sleep(LOOK_MS, signal).catch(() => undefined);
      }
    },
  };
}
