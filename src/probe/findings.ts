/** Finding about an account, with the observation behind it. */

export interface Finding {
  /** Its place in the configuration; undefined: nothing is to be set, it is only told. */
  readonly setting: string | undefined;
  /** Value as it is written in the configuration. */
  readonly value: unknown;
  /** Request and answer that prove it. */
  readonly seen: string;
  /** Why a person should look at it before it is relied on. */
  readonly doubt?: string | undefined;
  /** Too doubtful to be set: it is written as a comment. */
  readonly isOff?: boolean | undefined;
}

/** Hears of findings as they come, and of what is looked for. */
export interface Witness {
  found(finding: Finding): void;
  looking(what: string): void;
}
