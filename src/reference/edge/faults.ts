/** Draws the faults that strike a request: by seed, each within its count and window. */
import { isDeepStrictEqual } from 'node:util';
import type { Clock } from '../../lib/clock.ts';
import { type Random, seededRandom } from '../../lib/random.ts';
import type { Fault } from '../control/fault-knobs.ts';
import { pathPattern } from './journal.ts';

/** A fault that strikes this request, with its own source of randomness. */
export interface Strike {
  readonly fault: Fault;
  readonly random: Random;
}

export interface FaultTable {
  /**
   * Sets the faults that are in effect from now on; an unchanged one keeps its count and its draws.
   */
  set(faults: readonly Fault[]): void;
  /** Faults that strike a request: every latency, and the first fault of the other kinds. */
  strikes(method: string, path: string): readonly Strike[];
  /** Forgets counts, windows and draws, so that a run can be repeated. */
  restart(): void;
}

interface Armed extends Strike {
  readonly setAt: number;
  readonly onPath: (path: string) => boolean;
  left: number;
}

function arm(fault: Fault, now: number): Armed {
  return {
    fault,
    setAt: now,
    random: seededRandom(fault.seed),
    onPath: pathPattern(fault.path),
    left: fault.count ?? Number.POSITIVE_INFINITY,
  };
}

function isOpen(armed: Armed, now: number): boolean {
  const { startsAfter, lasts } = armed.fault;
  const since = now - armed.setAt - startsAfter;
  return armed.left > 0 && since >= 0 && (lasts === null || since < lasts);
}

export function createFaultTable(clock: Clock, first: readonly Fault[]): FaultTable {
  let table = first.map((fault) => arm(fault, clock.monotonic()));
  return {
    set(faults) {
      const old = [...table];
      table = faults.map((fault) => {
        const index = old.findIndex((armed) => isDeepStrictEqual(armed.fault, fault));
        const kept = index >= 0 ? old.splice(index, 1)[0] : undefined;
        return kept ?? arm(fault, clock.monotonic());
      });
    },
    strikes(method, path) {
      const now = clock.monotonic();
      const found: Strike[] = [];
      let main = false;
      for (const armed of table) {
        const { kind, probability } = armed.fault;
        if (armed.fault.method !== '*' && armed.fault.method !== method) continue;
        if (!armed.onPath(path) || !isOpen(armed, now)) continue;
        // A fault is drawn even where another one comes first, so that no fault changes the draws
        // of another.
        if (!armed.random.chance(probability) || (main && kind !== 'latency')) continue;
        armed.left -= 1;
        main ||= kind !== 'latency';
        found.push(armed);
      }
      return found;
    },
    restart() {
      table = table.map(({ fault }) => arm(fault, clock.monotonic()));
    },
  };
}
