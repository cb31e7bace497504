/**
 * A stream is one thing that is pulled from the service on a schedule. It hands its pages to the
 * run one by one and says at the end what it can prove; the run decides what that means.
 */
import type { CallOptions } from '../client/calls.ts';
import { isJsonObject, type JsonObject } from '../lib/json.ts';
import type { KnownSegments } from '../lib/json-rows/known-ahead.ts';
import type { ListEntity, ListSegment } from '../mirror/list.ts';
import type { Provenance } from '../mirror/rows/bulk.ts';
import type { ListCensus } from '../mirror/rows/census.ts';
import type { EntityDefinition } from '../mirror/rows/prepared.ts';
import type { SqlValue } from '../store/bulk.ts';
import type { Db, Tx } from '../store/store.ts';
import type { VariantList } from './bulk/variant-list.ts';
import type { VariantBatch } from './bulk/variant-pages.ts';
import type { PageCounts, Run } from './run/ledger.ts';

/** What one complete run may delete unasked; more is held until a person has looked. */
export interface Fuse {
  /** Rows. */
  readonly absolute: number;
  /** Share of the rows that are there, 0 to 1. */
  readonly share: number;
}

/** Divided, not multiplied: 29 of 100 rows are a share of 0.29, but 0.29 * 100 is less than 29. */
export function isBeyondShare({ share }: Fuse, rows: number, of: number): boolean {
  return rows > 0 && rows / of > share;
}

export function isBeyond(fuse: Fuse, rows: number, of: number): boolean {
  return rows > fuse.absolute || isBeyondShare(fuse, rows, of);
}

/** What spoke against completeness before the run was cut off, as its checkpoint has it. */
export function doubtsIn({ doubts }: JsonObject): string[] {
  return Array.isArray(doubts) ? doubts.map(String) : [];
}

/** The numbers in a member of a checkpoint, by name; empty when it is no object. */
export function countsIn(member: unknown): Record<string, number> {
  if (!isJsonObject(member)) return {};
  const counts = Object.entries(member).map(([name, count]) => [name, Number(count)] as const);
  return Object.fromEntries(counts.filter(([, count]) => Number.isFinite(count)));
}

/** What of a run is left in the rows that it saw. */
export type SeenBy = Pick<Run, 'runId' | 'readSeq' | 'startedAt'>;

export interface StreamRun {
  readonly run: Run;
  /** For every request of the run: how it is ranked, ended and counted. */
  readonly call: CallOptions & { readonly signal: AbortSignal };
  /** Writes one page and the checkpoint behind it in one transaction. */
  page(
    checkpoint: JsonObject,
    write: (tx: Tx, provenance: Provenance) => Promise<PageCounts>,
  ): Promise<void>;
  /** The same for a page of a list in one piece that comes parsed. */
  listPage(
    checkpoint: JsonObject,
    entity: ListEntity,
    segments: readonly ListSegment[],
  ): Promise<void>;
  /** What is known of a list of variants from the last time. */
  known(list: VariantList): KnownSegments;
  /** The same for a page of a list of variants, off the main thread; takes the batch's bytes. */
  variantPage(checkpoint: JsonObject, list: VariantList, batch: VariantBatch): Promise<void>;
  /** Something went on without a page that is written: the run is not stuck. */
  progress(): void;
}

/** A row that was read by itself. */
interface LookedUp {
  readonly write: (tx: Tx, provenance: Provenance) => Promise<unknown>;
  /** None of it can be had. */
  readonly isSoldOut: boolean;
}

/** How the service counted a list, or a part of it, beside what came of it. */
export interface PartCount {
  /** '' of a list in one piece. */
  readonly part: string;
  /** Such as `the stock`. */
  readonly what: string;
  /** What is counted, such as `rows of the stock`. */
  readonly unit: string;
  /** In the first and the last answer; undefined: it did not say. */
  readonly first: number | undefined;
  readonly last: number | undefined;
  readonly came: number;
  /** Pages, apart from the last, that held fewer rows than they should. */
  readonly shortPages?: number;
}

/** What the stream can say about its pull as a whole. */
export interface StreamEnd {
  /** Rows that the list has as it was read; undefined where nobody knows. */
  readonly expectedRows: number | undefined;
  /** Absent: nothing is counted. */
  readonly counts?: readonly PartCount[];
  /** Anything that speaks against completeness, in words. */
  readonly doubts: readonly string[];
  /** What cannot be right, in words: the run is held for a person. */
  readonly suspicion?: string | undefined;
  /** Of a list: how many rows each of its parts has. */
  readonly parts?: ReadonlyMap<string, number>;
  /** The same of what the fuse's share holds for by itself: each season, or brand. */
  readonly guarded?: ReadonlyMap<string, number>;
  /** Rows could slip between its pages, although the list need not be paged. */
  readonly canSlip?: boolean;
}

export interface Stream {
  readonly name: string;
  /** What is asked for: a run with other options starts over. */
  readonly options: JsonObject;
  /** By which program, level and names it is read; absent: the options say all. */
  readonly reading?: string;
  /** Of a list that is seen as a whole: a row that it no longer has is gone. */
  readonly list?: {
    readonly entity: EntityDefinition;
    readonly fuse: Fuse;
    /** Rows can slip between pages: only two complete runs that agree say that one is gone. */
    readonly isPaged: boolean;
    /** Written off the main thread: a list of variants. */
    readonly isLong: boolean;
    /** How many of these keys belong to each of what is guarded by itself. */
    readonly rowsByPart?: (
      db: Db,
      keys: readonly SqlValue[],
    ) => Promise<ReadonlyMap<string, number>>;
    /** Below so many rows the share holds no part back: one of five sold out is no alarm. */
    readonly partRowsMin?: number;
    /** In place of the keys of the segments. */
    readonly census?: (db: Db, run: SeenBy) => Promise<ListCensus>;
    /**
     * Asks for one row at its own address, by its key in the mirror; throws when it is not there.
     * Needed where rows can slip between pages.
     */
    readonly lookUp?: (key: string, call: StreamRun['call']) => Promise<LookedUp>;
    /** What a row is to the facts that a complete run did not meet; absent: unknown. */
    readonly unlisted?: 'zero' | undefined;
    /** What else a complete run that began then has settled. */
    readonly settled?: (db: Db, startedAt: number) => Promise<void>;
  };
  /**
   * What it misses besides rows of its list: marked when a held run is released and, of a list that
   * is seen as a whole, when two complete runs in a row agree and the service says so.
   */
  readonly others?: readonly {
    readonly entity: EntityDefinition;
    readonly missing: (db: Db, run: SeenBy) => Promise<readonly SqlValue[]>;
    /** Whether its own address knows nothing of it, either. */
    readonly isGone: (key: SqlValue, call: StreamRun['call']) => Promise<boolean>;
  }[];
  pull(context: StreamRun): Promise<StreamEnd>;
}
