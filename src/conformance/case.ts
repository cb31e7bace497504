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

/** Settings that make a configuration fit this account. */
export interface Remedy {
  /** Settings of the daemon: path and value. */
  readonly config?: Readonly<Record<string, unknown>>;
  /** Settings of the reference service that make it behave like this account. */
  readonly knobs?: Readonly<Record<string, unknown>>;
}

/** The account does something else. */
export class Differs extends Error {
  override readonly name = 'Differs';
  readonly remedy: Remedy;

  constructor(observed: string, remedy: Remedy = {}) {
    super(observed);
    this.remedy = remedy;
  }
}

/** The account has nothing to try this on. */
export class NotTried extends Error {
  override readonly name = 'NotTried';
}

export function demand(condition: boolean, observed: string, remedy?: Remedy): void {
  if (!condition) throw new Differs(observed, remedy);
}

/** The value, or the case is not tried. */
export function given<T>(value: T | undefined, what: string): T {
  if (value === undefined) throw new NotTried(`the account has ${what}`);
  return value;
}
