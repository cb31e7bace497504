/** What a case found about an account: it does something else, or the case was not tried. */

/** What to write into a configuration so that it fits this account. */
export interface Remedy {
  /** Of the daemon: path and value. */
  readonly config?: Readonly<Record<string, unknown>>;
  /** Of the reference service, to behave like this account. */
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
