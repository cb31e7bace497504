/** Surroundings of a declared list, which the console, a command and a test each have. */

import type { RuleSet } from '../rules/rule.ts';
import type { BackupPlace } from '../store/backup/manifest.ts';
import type { Db, Store } from '../store/store.ts';
import type { Suggestion, SuggestOptions } from './suggestion.ts';

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

export interface RuleFigures {
  readonly id: string;
  /** Number of deliveries on which the rule matched in the last 24 hours, 7 and 30 days. */
  readonly day: number;
  readonly week: number;
  readonly month: number;
  /** Number of deliveries with a match in these 30 days that people then accepted or rejected. */
  readonly accepted: number;
  readonly rejected: number;
  /** Number of deliveries that the rule never matched because of a single one of its conditions. */
  readonly nearMisses: number;
}

/** The rules in force and how they did, which take long to read: a console keeps them. */
interface RulesRead {
  /**
   * Rule set in force; undefined: none yet.
   * @throws SelvedgeError when this version cannot read it
   */
  inForce(): Promise<RuleSet | undefined>;
  /** Figures of each rule that matched, or nearly did; undefined: they are not counted yet. */
  figures(): Promise<readonly RuleFigures[] | undefined>;
  /** Rules proposed from what people decided, which takes a process of its own up to a minute. */
  suggest(options: SuggestOptions): Promise<Suggestion>;
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
  readonly rules: RulesRead;
  /** Zone of times of day. */
  timeZone(): Promise<string>;
  /** Currencies whose amounts are compared, with the value of one unit in a common one. */
  readonly rates: readonly { readonly currency: string; readonly rate: number }[];
  /** Milliseconds after which a session that nobody uses is over. */
  readonly sessionIdleMs: number;
  /** Undefined: a command reads. */
  readonly host?: Host;
  /** Name of the reader, as others know it. */
  readonly me: string;
  /** Whether the reader may see names and addresses. */
  readonly seesAddresses: boolean;
  /**
   * Masks names and addresses in a value about orders, wherever it quotes those of the orders or
   * of `others`, unless the reader may see them.
   */
  masked<T>(orderIds: readonly number[], value: T, others?: readonly unknown[]): Promise<T>;
  /** Masks each row with the names and addresses of its own order, where the rows are many. */
  maskedEach<T>(rows: readonly T[], orderIdOf: (row: T) => number): Promise<readonly T[]>;
}
