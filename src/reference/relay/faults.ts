/**
 * Faults on purpose, by seed: how at-least-once delivery without a promise of order may look to a
 * receiver. They are decided once per message and endpoint, when the message is published.
 */
import { type Random, seededRandom } from '../../lib/random.ts';
import type { WebhookFaults } from '../control/fault-knobs.ts';
import type { JobFault } from './model.ts';

interface FaultPlan {
  readonly lost: boolean;
  readonly duplicated: boolean;
  readonly delayMs: number;
  readonly fault: JobFault;
}

export interface FaultPlanner {
  set(faults: WebhookFaults): void;
  next(): FaultPlan;
}

export function createFaultPlanner(initial: WebhookFaults): FaultPlanner {
  let faults = initial;
  let random: Random = seededRandom(initial.seed);
  return {
    set(changed) {
      faults = changed;
      random = seededRandom(changed.seed);
    },
    next() {
      // Every number is drawn every time, so that one knob does not change the draws of the others.
      const lost = random.chance(faults.lost);
      const duplicated = random.chance(faults.duplicated);
      const reordered = random.chance(faults.reordered);
      const shuffle = Math.round(random.next() * faults.reorderMax);
      const late = random.chance(faults.late);
      const wrong = random.chance(faults.wrongSignature);
      const stale = random.chance(faults.staleTimestamp) ? 'stale_timestamp' : null;
      return {
        lost,
        duplicated,
        delayMs: (reordered ? shuffle : 0) + (late ? faults.lateBy : 0),
        fault: wrong ? 'wrong_signature' : stale,
      };
    },
  };
}
