/**
 * Proposes rules in a process of its own: reading the decisions of months takes up to a minute, for
 * which neither the daemon's event loop nor a page may wait.
 */
import type { Clock } from '../lib/clock.ts';
import { RefusedError, RetryLaterError } from '../lib/errors.ts';
import { type Beside, runBeside } from '../lib/process/beside.ts';
import { programUrl } from '../lib/process/program-url.ts';
import { formatDuration, formatSize } from '../lib/units.ts';
import type { StoreOptions } from '../store/store.ts';
import type { Suggestion, SuggestOptions } from '../surface/suggestion.ts';

export interface SuggestTask extends SuggestOptions {
  readonly store: StoreOptions;
}

/** The line that the process writes, as JSON. */
export type SuggestLine =
  | { readonly suggestion: Suggestion }
  | { readonly failed: { readonly code: string; readonly message: string } };

interface SuggestLimits {
  readonly timeMaxMs: number;
  readonly memoryBytesMax: number;
}

const LIMITS: SuggestLimits = { timeMaxMs: 120_000, memoryBytesMax: 536_870_912 };
const HEAP_MIB_MAX = 384;
const HINT = 'try a shorter time (30d), or again when the machine has less to do';

interface Ways {
  readonly signal?: AbortSignal;
  readonly limits?: SuggestLimits;
}

/**
 * Proposes rules from what people decided in a period.
 * @throws RetryLaterError when it takes longer than two minutes, or is ended by `signal`: the time
 * decides whether there are proposals, never which
 */
export async function runSuggest(
  store: StoreOptions,
  clock: Clock,
  options: SuggestOptions,
  { signal, limits = LIMITS }: Ways = {},
): Promise<Suggestion> {
  const task: SuggestTask = { ...options, store };
  const beside: Beside = {
    program: programUrl(import.meta.url, 'suggest-main'),
    request: task,
    ...limits,
    heapMibMax: HEAP_MIB_MAX,
    signal,
  };
  let last: SuggestLine | undefined;
  const ending = await runBeside(beside, clock, (text) => {
    // The line comes from suggest-main.ts, which has the same type, so it is not checked.
    last = JSON.parse(text);
  });
  if (last && 'suggestion' in last) return last.suggestion;
  if (last) throw new RefusedError('rules.suggest_failed', last.failed.message, { hint: HINT });
  if (ending === 'late') {
    const taken = formatDuration(limits.timeMaxMs);
    const message = `it took longer than ${taken}, so nothing is proposed`;
    throw new RetryLaterError('rules.suggest_slow', message, { hint: HINT });
  }
  if (ending === 'large') {
    const message = `it needs more memory than ${formatSize(limits.memoryBytesMax)}`;
    throw new RefusedError('rules.suggest_large', message, { hint: HINT });
  }
  throw new RetryLaterError('rules.suggest_died', 'it ended before its end', { hint: 'try again' });
}
