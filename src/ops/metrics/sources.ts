/** Metrics that are read from the memory of the running daemon. */

/** Counters grow from the start of the process; times are milliseconds. */
export interface LiveReadings {
  readonly inbox: {
    readonly accepted: number;
    readonly duplicates: number;
    readonly unknownType: number;
    readonly failedCommits: number;
    /** By reason, of which there are few. */
    readonly refused: Readonly<Record<string, number>>;
    /** Our clock less the relay's. */
    readonly clockOffsetMs: number | undefined;
  };
  readonly service: {
    readonly requests: number;
    readonly retries: number;
    readonly waitMs: number;
    readonly bytesReceived: number;
    /** The service's clock less ours. */
    readonly clockOffsetMs: number | undefined;
    readonly waiting: Readonly<Record<string, number>>;
    readonly active: number;
    /** How many may start in a second now; undefined: as many as want to. */
    readonly perSecond: number | undefined;
    /** Counts of forms beside the contract that were read. */
    readonly dialects: Readonly<Record<string, number>>;
    /** Answers since the last look: what was asked for, how it was answered, and when. */
    readonly answered: readonly {
      readonly priority: string;
      readonly answer: string;
      readonly ms: number;
    }[];
    readonly logins: Readonly<Record<'done' | 'refused' | 'failed', number>>;
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
    /** How long a reader has kept the log from being emptied. */
    readonly walPinnedMs: number;
  };
  /** Newest backup; undefined: there is none. */
  readonly backup: { readonly ageMs: number; readonly bytes: number } | undefined;
  /** The copy in PostgreSQL; undefined: the configuration has none. */
  readonly plane: { readonly lagMs: number; readonly limitMs: number } | undefined;
}

/** Rules in force, and the mode in which they decide. */
export interface InForce {
  readonly mode: string;
  readonly rules: readonly { readonly id: string; readonly action: string }[];
}
