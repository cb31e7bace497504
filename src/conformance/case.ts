/** A conformance case is a statement of the wire contract that can be tried over HTTP. */
import type { Api } from './api.ts';

/**
 * Origin of a statement: interface document (S), published description (P), seen in clients (W),
 * chosen (C).
 */
export type Mark = 'S' | 'P' | 'W' | 'C';

/** Permission that a case needs beyond a key: to write, to run into limits, a read token, V2. */
export type Need = 'writes' | 'limits' | 'readToken' | 'v2';

export interface Case {
  readonly id: string;
  readonly mark: Mark;
  readonly statement: string;
  readonly needs: readonly Need[];
  /**
   * Tries the statement. Throws {@link Differs} or {@link NotTried}; any other error counts as a
   * difference as well.
   */
  readonly run: (api: Api) => Promise<void>;
}

export function define(
  id: string,
  mark: Mark,
  statement: string,
  run: Case['run'],
  ...needs: readonly Need[]
): Case {
  return { id, mark, statement, run, needs };
}
