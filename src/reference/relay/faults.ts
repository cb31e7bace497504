/**
 * Misbehaviour on purpose, by seed: what at-least-once delivery without a promise of order may
 * look like to a receiver. Decided once per message and endpoint, when the message is published.
 */
import { type Random, seededRandom } from '../../lib/chance.ts';
import type { JobFault } from './model.ts';

/** Probabilities are 0 to 1; all of them are independent of each other. */
export interface RelayFaults {
  readonly seed: number;
  /** Recorded, but never sent; a replay from the portal brings it. */
  readonly lost: number;
  /** Sent a second time with the same id. */
  readonly duplicated: number;
  /** Held back for a moment, so that later messages overtake it. */
  readonly reordered: number;
  readonly reorderMsMax: number;
  /** Held back for long. */
  readonly late: number;
  readonly lateMs: number;
  /** The first attempt is signed with a key nobody knows; the retry is right. */
  readonly wrongSignature: number;
  /** The first attempt carries a time stamp of an hour ago; the retry is right. */
  readonly staleTimestamp: number;
}

export const NO_FAULTS: RelayFaults = {
  seed: 1,
  lost: 0,
  duplicated: 0,
  reordered: 0,
  reorderMsMax: 2_000,
  late: 0,
  lateMs: 60_000,
  wrongSignature: 0,
  staleTimestamp: 0,
};

interface FaultPlan {
  readonly lost: boolean;
  readonly duplicated: boolean;
  readonly delayMs: number;
  readonly fault: JobFault;
}

export interface FaultPlanner {
  set(faults: RelayFaults): void;
  next(): FaultPlan;
}

export function createFaultPlanner(initial: RelayFaults): FaultPlanner {
  let faults = initial;
  let random: Random = seededRandom(initial.seed);
  return {
    set(changed) {
      faults = changed;
      random = seededRandom(changed.seed);
    },
    next() {
      // Every number is drawn every time, so that one knob does not shift the others' luck.
      const lost = random.chance(faults.lost);
      const duplicated = random.chance(faults.duplicated);
      const reordered = random.chance(faults.reordered);
      const shuffle = Math.round(random.next() * faults.reorderMsMax);
      const late = random.chance(faults.late);
      const wrong = random.chance(faults.wrongSignature);
      const stale = random.chance(faults.staleTimestamp) ? 'stale_timestamp' : null;
      return {
        lost,
        duplicated,
        delayMs: (reordered ? shuffle : 0) + (late ? faults.lateMs : 0),
        fault: wrong ? 'wrong_signature' : stale,
      };
    },
  };
}
