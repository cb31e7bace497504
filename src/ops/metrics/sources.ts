/** Types of the metrics that are read from the memory of the running daemon. */

/** Readings of the running daemon; counters count from its start, times are in ms. */
export interface LiveReadings {
  readonly inbox: {
    readonly accepted: number;
    readonly duplicates: number;
    readonly unknownType: number;
    readonly failedCommits: number;
    /** Refused events by reason; there are few reasons, so each may be a label. */
    readonly refused: Readonly<Record<string, number>>;
    /** Our clock minus the relay's, in ms; undefined: not known yet. */
    readonly clockOffsetMs: number | undefined;
  };
  readonly service: {
    readonly requests: number;
    readonly retries: number;
    readonly waitMs: number;
    readonly bytesReceived: number;
    /** The service's clock minus ours, in ms; undefined: not known yet. */
    readonly clockOffsetMs: number | undefined;
    readonly waiting: Readonly<Record<string, number>>;
    readonly active: number;
    /** Requests that may start in a second now; undefined: without limit. */
    readonly perSecond: number | undefined;
    /** Answers in a form beside the contract that was read all the same, counted by dialect. */
    readonly dialects: Readonly<Record<string, number>>;
    /** Answers since the last scrape: what was asked for, its result, its duration. */
    readonly answered: readonly {
      readonly priority: string;
      readonly answer: string;
      readonly ms: number;
    }[];
    readonly logins: Readonly<Record<'done' | 'refused' | 'failed', number>>;
    /** State of each API that was ever asked. */
    readonly answers: readonly { readonly api: string; readonly state: string }[];
  };
  readonly workers: readonly {
    readonly name: string;
    readonly state: string;
    readonly restarts: number;
  }[];
  readonly stuck: readonly string[];
  readonly space: {
    readonly freeBytes: number | undefined;
    readonly stopped: readonly string[];
  };
  readonly files: {
    readonly databaseBytes: number;
    readonly walBytes: number;
    /** Milliseconds for which a reader has kept the write-ahead log from being emptied. */
    readonly walPinnedMs: number;
  };
  /** Age and size of the newest backup; undefined: there is none. */
  readonly backup: { readonly ageMs: number; readonly bytes: number } | undefined;
  /** Lag of the copy in PostgreSQL and its limit; undefined: the configuration has no copy. */
  readonly plane: { readonly lagMs: number; readonly limitMs: number } | undefined;
  /** This machine as the holder of a lease; left out: the configuration has no standby. */
  readonly standby?:
    | { readonly sends: boolean; readonly waiting: number; readonly ready: number | undefined }
    | undefined;
}

/** Rules in force, and the mode in which they decide. */
export interface InForce {
  readonly mode: string;
  readonly rules: readonly { readonly id: string; readonly action: string }[];
}
