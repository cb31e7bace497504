/** Findings of a conformance case about an account: it differs, or the case was not tried. */

/** Settings that make a program fit the account. */
export interface Remedy {
  /** Settings of the daemon's configuration, by path. */
  readonly config?: Readonly<Record<string, unknown>>;
  /** Knobs of the reference service that make it behave like this account. */
  readonly knobs?: Readonly<Record<string, unknown>>;
}

/** Error for an account that does something else than the contract states. */
export class Differs extends Error {
  override readonly name = 'Differs';
  readonly remedy: Remedy;

  constructor(observed: string, remedy: Remedy = {}) {
    super(observed);
    this.remedy = remedy;
  }
}

/** Error for an account that has nothing on which a case could be tried. */
export class NotTried extends Error {
  override readonly name = 'NotTried';
}

export function demand(condition: boolean, observed: string, remedy?: Remedy): void {
  if (!condition) throw new Differs(observed, remedy);
}

/** Gives a value; without one, the case counts as not tried. */
export function given<T>(value: T | undefined, what: string): T {
  if (value === undefined) throw new NotTried(`the account has ${what}`);
  return value;
}
