/** Surroundings of a declared list, which the console, a command and a test each have. */
import type { BackupPlace } from '../store/backup/manifest.ts';
import type { Db, Store } from '../store/store.ts';

/** Folder of the reports, and when each is made by the clock. */
export interface ReportsRead {
  readonly directory: string;
  readonly schedules: readonly {
    readonly name: string;
    readonly report: string;
    readonly every: {
      readonly text: string;
      readonly weekdays: readonly number[];
      readonly time: string;
    };
    readonly format: string;
  }[];
}

/** Settings with their origins, as the daemon read them at its start. */
export interface WrittenSettings {
  readonly file: string;
  readonly rows: readonly {
    readonly path: string;
    readonly value: string;
    readonly origin: string;
  }[];
}

/** Knowledge of the console's process alone, for lists whose commands are made by hand. */
interface Host {
  /** Null: the daemon was not started from a file. */
  readonly written: WrittenSettings | null;
  readonly backups: BackupPlace;
  /** Asks the daemon, which alone knows. */
  ask(what: 'doctor' | 'people'): Promise<unknown>;
}

export interface Reading {
  readonly db: Db;
  readonly snapshot: Store['snapshot'];
  /** Epoch ms when the answer is read. */
  readonly now: number;
  /** Streams that are pulled: schedule (cron, UTC) and maximum age of their data in ms. */
  readonly pulled: Readonly<
    Record<string, { readonly schedule: string; readonly freshness: number }>
  >;
  /** Streams that are switched on and do not exist at the account's level, each with that level. */
  readonly notAtLevel: Readonly<Record<string, string>>;
  /** Folder in which files pause the daemon; undefined: not known. */
  readonly dataDir: string | undefined;
  /** Most rows that may be asked for at once. */
  readonly rowsMax: number;
  readonly reports: ReportsRead;
  /** Zone of times of day. */
  timeZone(): Promise<string>;
  /** Milliseconds after which a session that nobody uses is over. */
  readonly sessionIdleMs: number;
  /** Undefined: a command reads. */
  readonly host?: Host;
  /** Whether the reader may see names and addresses. */
  readonly seesAddresses: boolean;
  /**
   * Masks names and addresses in a value about orders, wherever it quotes those of the orders or
   * of `others`, unless the reader may see them.
   */
  masked<T>(orderIds: readonly number[], value: T, others?: readonly unknown[]): Promise<T>;
}
