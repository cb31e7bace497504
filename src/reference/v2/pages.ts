/**
 * Page tokens. A token fixes the rows of a collection as they were when it was issued, and the
 * parameters that it was issued for, so that rows do not shift between pages whatever happens
 * meanwhile.
 */

import type { Clock } from '../../lib/clock.ts';
import type { Random } from '../../lib/random.ts';
import { badParameter, ProblemError } from './problem.ts';

interface PageRows {
  readonly token: string;
  readonly ids: readonly string[];
}

export interface PageTokens {
  /**
   * Issues a token for these rows; `scope` is the collection together with its fixed parameters.
   */
  issue(scope: string, ids: readonly string[]): PageRows;
  /**
   * Gives the rows of a token. Throws a {@link ProblemError} for an expired token and for changed
   * parameters.
   */
  resume(token: string, scope: string): PageRows;
  /** Makes every token count as expired. */
  clear(): void;
}

/** Maximum number of tokens, because each holds a list of ids; the oldest is dropped first. */
const TOKENS_MAX = 200;

interface Pinned extends PageRows {
  readonly scope: string;
  readonly expiresAt: number;
}

export function createPageTokens(deps: {
  readonly clock: Clock;
  readonly random: Random;
  readonly lifetime: () => number;
}): PageTokens {
  const pinned = new Map<string, Pinned>();
  return {
    issue(scope, ids) {
      const token = deps.random.bytes(15).toString('base64url');
      const rows = { token, ids, scope, expiresAt: deps.clock.monotonic() + deps.lifetime() };
      pinned.set(token, rows);
      const oldest = pinned.size > TOKENS_MAX ? pinned.keys().next() : undefined;
      if (oldest && !oldest.done) pinned.delete(oldest.value);
      return rows;
    },
    resume(token, scope) {
      const rows = pinned.get(token);
      if (!rows || rows.expiresAt <= deps.clock.monotonic()) {
        pinned.delete(token);
        const detail = 'The page token is unknown or expired; start over without it';
        throw new ProblemError(badParameter('page[token]', 'page_token_expired', detail));
      }
      if (rows.scope !== scope) {
        const detail = 'No other parameter may change while paging';
        throw new ProblemError(badParameter('page[token]', 'parameter_changed', detail));
      }
      return rows;
    },
    clear: () => pinned.clear(),
  };
}
