/**
 * Runs rules on trial, and the figures of rules, in a process of its own: reading a month of the
 * journal takes seconds, for which neither the daemon's loop nor a page may wait.
 */

import type { Clock } from '../../lib/clock.ts';
import { RefusedError, RetryLaterError } from '../../lib/errors.ts';
import { type Beside, runBeside } from '../../lib/process/beside.ts';
import { programUrl } from '../../lib/process/program-url.ts';
import { formatDuration, formatSize } from '../../lib/units.ts';
import type { Problem } from '../../rules/text/problem.ts';
import type { StoreOptions } from '../../store/store.ts';
import type { Backtest } from './backtest.ts';
import type { RuleSetDiff } from './diff.ts';
import type { Period } from './history.ts';
import type { Queue } from './queue.ts';
import type { RuleFigures } from './rule-figures.ts';
import type { TrialFiles } from './trial-files.ts';

export interface TrialRequest extends Period {
  readonly store: StoreOptions;
  /** Null: the rules in force, as they are. */
  readonly files: TrialFiles | null;
  /** Rules that only watch count as if they were live. */
  readonly shadowAsLive: boolean;
  readonly now: number;
}

interface TestOfTrial {
  readonly ruleId: string;
  readonly name: string;
  readonly expected: string;
  readonly actual: string;
}

export interface Trial {
  /** Differences from the rules in force. */
  readonly diff: RuleSetDiff;
  readonly warnings: readonly Problem[];
  readonly tests: { readonly passed: number; readonly failed: readonly TestOfTrial[] };
  readonly queue: Queue;
  /** With decimals, as `selvedge rules backtest --json` has it. */
  readonly backtest: Backtest;
}

/** Answers of the process: a line each, the last one ends it. */
export type TrialLine =
  | { readonly progress: TrialProgress }
  | { readonly trial: Trial }
  | { readonly problems: readonly Problem[] }
  | { readonly figures: readonly RuleFigures[] }
  | { readonly failed: { readonly code: string; readonly message: string } };

export interface TrialProgress {
  readonly deliveries: number;
  /** Deliveries that were decided in the period. */
  readonly of: number;
}

export type TrialEnd = { readonly trial: Trial } | { readonly problems: readonly Problem[] };

export type TrialTask =
  | ({ readonly task: 'trial' } & TrialRequest)
  | { readonly task: 'figures'; readonly store: StoreOptions; readonly now: number };

interface TrialLimits {
  readonly timeMaxMs: number;
  readonly memoryBytesMax: number;
}

const LIMITS: TrialLimits = { timeMaxMs: 120_000, memoryBytesMax: 536_870_912 };
const HEAP_MIB_MAX = 384;
const FAILED_HINT = 'on the host, "selvedge rules backtest --since 30d" tries the same';

interface TrialWays {
  readonly signal: AbortSignal;
  readonly onProgress?: (progress: TrialProgress) => void;
  readonly limits?: TrialLimits;
}

async function run(
  task: TrialTask,
  clock: Clock,
  { signal, onProgress, limits = LIMITS }: TrialWays,
): Promise<TrialLine> {
  const beside: Beside = {
    program: programUrl(import.meta.url, 'trial-main'),
    request: task,
    ...limits,
    heapMibMax: HEAP_MIB_MAX,
    signal,
  };
  let last: TrialLine | undefined;
  const ending = await runBeside(beside, clock, (text) => {
    // From trial-main.ts beside it, which has the same type.
    const line: TrialLine = JSON.parse(text);
    if ('progress' in line) onProgress?.(line.progress);
    else last = line;
  });
  if (last) return last;
  if (ending === 'late') {
    const message = `it took longer than ${formatDuration(limits.timeMaxMs)}`;
    throw new RetryLaterError('rules.trial_slow', message, { hint: 'try fewer days' });
  }
  if (ending === 'large') {
    const message = `it needs more memory than ${formatSize(limits.memoryBytesMax)}`;
    throw new RefusedError('rules.trial_large', message, { hint: 'try fewer days' });
  }
  throw new RetryLaterError('rules.trial_died', 'it ended before its end', { hint: 'try again' });
}

/** @throws RetryLaterError when it takes longer than two minutes, or is ended by `signal` */
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

/** @throws RetryLaterError when it takes longer than two minutes, or is ended by `signal` */
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
