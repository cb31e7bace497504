/**
 * A stream is one kind of data that is pulled on a schedule. It passes its pages to the run and
 * states at the end what it can prove; the run decides what follows.
 *
 * The head of `config/lists.ts` names all places of a new list.
 */
import type { CallOptions } from '../client/calls.ts';
import { isJsonObject, type JsonObject } from '../lib/json.ts';
import type { KnownChunks } from '../lib/json-rows/known.ts';
import type { ListChunk, ListEntity } from '../mirror/list.ts';
import type { ListDiff } from '../mirror/rows/full-diff.ts';
import type { EntityDefinition, Provenance } from '../mirror/rows/prepared.ts';
import type { SqlValue } from '../store/bulk.ts';
import type { Db, Tx } from '../store/store.ts';
import type { VariantList } from './bulk/variant-list.ts';
import type { VariantBatch } from './bulk/variant-pages.ts';
import type { PageCounts, Run } from './run/run-repository.ts';

/** Deletions that a complete run may make unasked; more are held until a person has looked. */
export interface DeletionGuard {
  readonly absolute: number;
  /** Share of the existing rows, 0 to 1. */
  readonly share: number;
}

/**
 * Divides instead of multiplying: 29 of 100 rows are a share of 0.29, but 0.29 * 100 is less than
 * 29.
 */
export function isBeyondShare({ share }: DeletionGuard, rows: number, of: number): boolean {
  return rows > 0 && rows / of > share;
}

export function isBeyond(deletionGuard: DeletionGuard, rows: number, of: number): boolean {
  return rows > deletionGuard.absolute || isBeyondShare(deletionGuard, rows, of);
}

/** Doubts stored in the checkpoint of an interrupted run. */
export function doubtsIn({ doubts }: JsonObject): string[] {
  return Array.isArray(doubts) ? doubts.map(String) : [];
}

/** Numbers in a member of a checkpoint, by name; empty when it is no object. */
export function countsIn(member: unknown): Record<string, number> {
  if (!isJsonObject(member)) return {};
  const counts = Object.entries(member).map(([name, count]) => [name, Number(count)] as const);
  return Object.fromEntries(counts.filter(([, count]) => Number.isFinite(count)));
}

/** Marks of a run that its rows carry. */
export type SeenBy = Pick<Run, 'runId' | 'readSeq' | 'startedAt'>;

export interface StreamRun {
  readonly run: Run;
  /** Options of every request: priority, signal and counters. */
  readonly call: CallOptions & { readonly signal: AbortSignal };
  /** Writes one page and its checkpoint in one transaction. */
  page(
    checkpoint: JsonObject,
    write: (tx: Tx, provenance: Provenance) => Promise<PageCounts>,
  ): Promise<void>;
  /** Writes a parsed page of an undivided list. */
  listPage(checkpoint: JsonObject, entity: ListEntity, chunks: readonly ListChunk[]): Promise<void>;
  /** Stored digests of a list of variants. */
  known(list: VariantList): KnownChunks;
  /** Writes a page of variants off the main thread; takes the batch's bytes. */
  variantPage(checkpoint: JsonObject, list: VariantList, batch: VariantBatch): Promise<void>;
  /** Reports progress without a written page, so that the run does not count as stuck. */
  progress(): void;
}

/** A row requested by itself. */
interface LookedUp {
  readonly write: (tx: Tx, provenance: Provenance) => Promise<unknown>;
  /** Nothing of it can be ordered. */
  readonly isSoldOut: boolean;
}

/** The service's count of a list, or of a part of it, and the rows received. */
export interface PartCount {
  /** '' for an undivided list. */
  readonly part: string;
  /** Such as `the stock`. */
  readonly what: string;
  /** Counted unit, such as `rows of the stock`. */
  readonly unit: string;
  /** Counts of the first and the last answer; undefined: not given. */
  readonly first: number | undefined;
  readonly last: number | undefined;
  readonly came: number;
  /** Pages before the last with fewer rows than they should have. */
  readonly shortPages?: number;
}

/** Statement of a stream about its pull. */
export interface StreamEnd {
  /** Length of the list as read; undefined: unknown. */
  readonly expectedRows: number | undefined;
  /** Absent: nothing is counted. */
  readonly counts?: readonly PartCount[];
  /** Arguments against completeness, as messages. */
  readonly doubts: readonly string[];
  /** Message about what cannot be right: the run is held for a person. */
  readonly suspicion?: string | undefined;
  /** Rows of each part of the list. */
  readonly parts?: ReadonlyMap<string, number>;
  /** Rows of each unit that the deletion guard's share checks by itself: season or brand. */
  readonly guarded?: ReadonlyMap<string, number>;
  /** Rows could slip between pages, although the list need not be paged. */
  readonly canSlip?: boolean;
}

export interface Stream {
  readonly name: string;
  /** Request options; a run with other ones starts over. */
  readonly options: JsonObject;
  /** Program, level and names that determine the reading; absent: the options say all. */
  readonly reading?: string;
  /** Maximum age of what is read, ms; absent: unlimited. */
  readonly freshnessMs?: number;
  /** Set when the list is seen as a whole, so that a row missing from it is gone. */
  readonly list?: {
    readonly entity: EntityDefinition;
    readonly deletionGuard: DeletionGuard;
    /** Rows can slip between pages: only two consecutive complete runs prove a row gone. */
    readonly isPaged: boolean;
    /** Written off the main thread: a list of variants. */
    readonly isLong: boolean;
    /** Counts these keys per separately guarded unit. */
    readonly rowsByPart?: (
      db: Db,
      keys: readonly SqlValue[],
    ) => Promise<ReadonlyMap<string, number>>;
    /** Minimum of rows below which a unit's share is ignored: one of five sold out is no alarm. */
    readonly partRowsMin?: number;
    /** Replaces the diff by the chunks' keys. */
    readonly diff?: (db: Db, run: SeenBy) => Promise<ListDiff>;
    /**
     * Requests one row at its own address, by its mirror key; throws when it does not exist. Needed
     * where rows can slip between pages.
     */
    readonly lookUp?: (key: string, call: StreamRun['call']) => Promise<LookedUp>;
    /** Meaning of an unlisted row to the facts; absent: unknown. */
    readonly unlisted?: 'zero' | undefined;
    /** Called after a complete run that began then. */
    readonly settled?: (db: Db, startedAt: number) => Promise<void>;
  };
  /**
   * Lists besides the main one. Rows they miss are marked when a held run is released, or when two
   * complete runs in a row and the row's own address agree.
   */
  readonly others?: readonly {
    readonly entity: EntityDefinition;
    readonly missing: (db: Db, run: SeenBy) => Promise<readonly SqlValue[]>;
    /** Tells whether the row's own address does not know it either. */
    readonly isGone: (key: SqlValue, call: StreamRun['call']) => Promise<boolean>;
  }[];
  pull(context: StreamRun): Promise<StreamEnd>;
}
