/**
 * Proposes rules in a process of its own: reading the decisions of months takes up to a minute, for
 * which neither the daemon's event loop nor a page may wait.
 */

import type { Clock } from '../lib/clock.ts';
import { RefusedError } from '../lib/errors.ts';
import {
  type Beside,
  type BesideLimits,
  noResult,
  runBeside,
  WAITED_FOR,
  WAITED_FOR_HEAP_MIB_MAX,
} from '../lib/process/beside.ts';
import { programUrl } from '../lib/process/program-url.ts';
import type { StoreOptions } from '../store/store.ts';
import type { Suggestion, SuggestOptions } from '../surface/suggestion.ts';

export interface SuggestTask extends SuggestOptions {
  readonly store: StoreOptions;
}

/** The line that the process writes, as JSON. */
export type SuggestLine =
  | { readonly suggestion: Suggestion }
  | { readonly failed: { readonly code: string; readonly message: string } };

const HINT = 'try a shorter time (30d), or again when the machine has less to do';

interface Ways {
  readonly signal?: AbortSignal;
  readonly limits?: BesideLimits;
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
  { signal, limits = WAITED_FOR }: Ways = {},
): Promise<Suggestion> {
  const task: SuggestTask = { ...options, store };
  const beside: Beside = {
    program: programUrl(import.meta.url, 'suggest-main'),
    request: task,
    ...limits,
    heapMibMax: WAITED_FOR_HEAP_MIB_MAX,
    signal,
  };
  let last: SuggestLine | undefined;
  const ending = await runBeside(beside, clock, (text) => {
    // The line comes from suggest-main.ts, which has the same type, so it is not checked.
    last = JSON.parse(text);
  });
  if (last && 'suggestion' in last) return last.suggestion;
  if (last) throw new RefusedError('rules.suggest_failed', last.failed.message, { hint: HINT });
  const late = ', so nothing is proposed';
  throw noResult(ending, limits, { code: 'rules.suggest', hint: HINT, late });
}
