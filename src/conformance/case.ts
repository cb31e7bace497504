/** A statement of the wire contract as something that can be tried over HTTP. */
import type { Api } from './api.ts';

/** Stated by the interface document, published description, seen in clients, chosen. */
export type Mark = 'S' | 'P' | 'W' | 'C';

/** Permission that a case needs beyond a key: to write, to run into limits, a read token, V2. */
export type Need = 'writes' | 'limits' | 'readToken' | 'v2';

export interface Case {
  readonly id: string;
  readonly mark: Mark;
  readonly statement: string;
  readonly needs: readonly Need[];
  /** Throws {@link Differs} or {@link NotTried}; anything else thrown is a difference as well. */
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
