/**
 * Tries rules, and counts the figures of rules, in a process of its own: reading a month of the
 * journal takes seconds, for which neither the daemon's event loop nor a page may wait.
 */

import type { Clock } from '../../lib/clock.ts';
import { RefusedError } from '../../lib/errors.ts';
import {
  type Beside,
  type BesideLimits,
  noResult,
  runBeside,
  WAITED_FOR,
  WAITED_FOR_HEAP_MIB_MAX,
} from '../../lib/process/beside.ts';
import { programUrl } from '../../lib/process/program-url.ts';
import type { Problem } from '../../rules/text/problem.ts';
import type { StoreOptions } from '../../store/store.ts';
import type { RuleFigures } from '../../surface/reading.ts';
import type { FreshnessMs } from '../judgement.ts';
import type { Backtest } from './backtest.ts';
import type { RuleSetDiff } from './diff.ts';
import type { Period } from './history.ts';
import type { Queue } from './queue.ts';
import type { TrialFiles } from './trial-files.ts';

export interface TrialRequest extends Period {
  readonly store: StoreOptions;
  /** Files of the rules on trial; null: the rules in force, unchanged. */
  readonly files: TrialFiles | null;
  /** Shadow rules count as if they were live. */
  readonly shadowAsLive: boolean;
  readonly freshness: FreshnessMs;
  readonly now: number;
}

interface TestOfTrial {
  readonly ruleId: string;
  readonly name: string;
  readonly expected: string;
  readonly actual: string;
}

export interface Trial {
  /** Differences between the rules in force and those on trial. */
  readonly diff: RuleSetDiff;
  readonly warnings: readonly Problem[];
  readonly tests: { readonly passed: number; readonly failed: readonly TestOfTrial[] };
  readonly queue: Queue;
  /** Backtest with amounts as decimals, in the form of `selvedge rules backtest --json`. */
  readonly backtest: Backtest;
}

/** Lines that the process writes, each as JSON: progress first, and the result as the last one. */
export type TrialLine =
  | { readonly progress: TrialProgress }
  | { readonly trial: Trial }
  | { readonly problems: readonly Problem[] }
  | { readonly figures: readonly RuleFigures[] }
  | { readonly failed: { readonly code: string; readonly message: string } };

export interface TrialProgress {
  readonly deliveries: number;
  /** Number of deliveries that were decided in the period. */
  readonly of: number;
}

export type TrialEnd = { readonly trial: Trial } | { readonly problems: readonly Problem[] };

export type TrialTask =
  | ({ readonly task: 'trial' } & TrialRequest)
  | { readonly task: 'figures'; readonly store: StoreOptions; readonly now: number };

const FAILED_HINT = 'on the host, "selvedge rules backtest --since 30d" tries the same';

interface TrialWays {
  readonly signal: AbortSignal;
  readonly onProgress?: (progress: TrialProgress) => void;
  readonly limits?: BesideLimits;
}

async function run(
  task: TrialTask,
  clock: Clock,
  { signal, onProgress, limits = WAITED_FOR }: TrialWays,
): Promise<TrialLine> {
  const beside: Beside = {
    program: programUrl(import.meta.url, 'trial-main'),
    request: task,
    ...limits,
    heapMibMax: WAITED_FOR_HEAP_MIB_MAX,
    signal,
  };
  let last: TrialLine | undefined;
  const ending = await runBeside(beside, clock, (text) => {
    // The line comes from trial-main.ts, which has the same type, so it is not checked.
    const line: TrialLine = JSON.parse(text);
    if ('progress' in line) onProgress?.(line.progress);
    else last = line;
  });
  if (last) return last;
  throw noResult(ending, limits, { code: 'rules.trial', hint: 'try fewer days' });
}

/**
 * Tries rules in a process of its own.
 * @throws RetryLaterError when it takes longer than two minutes, or is ended by `signal`
 */
export async function runTrial(
  request: TrialRequest,
  clock: Clock,
  by: TrialWays,
): Promise<TrialEnd> {
  const line = await run({ task: 'trial', ...request }, clock, by);
  if ('trial' in line || 'problems' in line) return line;
  const message = 'failed' in line ? line.failed.message : 'it gave no result';
  throw new RefusedError('rules.trial_failed', message, { hint: FAILED_HINT });
}

/**
 * Counts the figures of the rules in a process of its own.
 * @throws RetryLaterError when it takes longer than two minutes, or is ended by `signal`
 */
export async function countRuleFigures(
  store: StoreOptions,
  clock: Clock,
  signal: AbortSignal,
): Promise<readonly RuleFigures[]> {
  const line = await run({ task: 'figures', store, now: clock.now() }, clock, { signal });
  if ('figures' in line) return line.figures;
  const message = 'failed' in line ? line.failed.message : 'it gave no figures';
  throw new RefusedError('rules.trial_failed', message, { hint: FAILED_HINT });
}
