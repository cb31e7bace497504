/** A finding about an account, with the observation behind it. */

export interface Finding {
  /** Path of the setting; undefined: the finding is only reported, and nothing is to be set. */
  readonly setting: string | undefined;
  /** Value of the setting as the configuration writes it. */
  readonly value: unknown;
  /** Request and answer that prove the finding. */
  readonly seen: string;
  /** Reason why a person should check the finding before relying on it. */
  readonly doubt?: string | undefined;
  /** Whether the finding is too doubtful to be set, so that it is written as a comment. */
  readonly isOff?: boolean | undefined;
}

/** Receives findings as they are made, and what is looked for. */
export interface Witness {
  found(finding: Finding): void;
  /** Notes that the account does not have what the stream pulls. */
  absent(stream: string, seen: string, doubt?: string): void;
  looking(what: string): void;
}
