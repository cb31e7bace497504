/** Reads host and installation for pages: files, disk, delays of the event loop. */
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { sql } from 'kysely';
import { logBytesOf } from '../../store/care/checkpoints.ts';
import { freeBytesAt, restingWith } from '../../store/space.ts';
import type { Db } from '../../store/store.ts';
import type { Machine } from '../context.ts';

export interface LoopDelay {
  /**
   * Median of the times that the daemon's event loop took to answer a beat in the last five
   * minutes, in ms; longestMs: the longest.
   */
  readonly medianMs: number | null;
  readonly longestMs: number | null;
  readonly beats: number;
}

export function loopDelayOf(beats: readonly number[]): LoopDelay {
  const sorted = beats.toSorted((a, b) => a - b);
  return {
    medianMs: sorted[Math.floor(sorted.length / 2)] ?? null,
    longestMs: sorted.at(-1) ?? null,
    beats: sorted.length,
  };
}

export interface Storage {
  readonly mirrorBytes: number;
  /** Bytes of the write-ahead log; a reader that stays lets it grow. */
  readonly logBytes: number;
  readonly exchangeBytes: number;
  /** Bytes of free pages inside of the database, which later rows will use. */
  readonly unusedBytes: number;
  readonly freeBytes: number;
  /** Work that is stopped because the disk is nearly full; null: none. */
  readonly resting: string | null;
  readonly schema: number;
}

function bytesOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

async function pragma(db: Db, name: 'page_size' | 'freelist_count'): Promise<number> {
  const { rows } = await sql<Record<string, number>>`pragma ${sql.raw(name)}`.execute(db);
  return Number(rows[0]?.[name] ?? 0);
}

export async function readStorage(db: Db, { dataDir, store, exchange }: Machine): Promise<Storage> {
  const mirror = join(dataDir, 'mirror.db');
  const freeBytes = await freeBytesAt(dataDir);
  const schema = await db
    .selectFrom('schema_migration')
    .select((eb) => eb.fn.max('version').as('version'))
    .executeTakeFirst();
  return {
    mirrorBytes: bytesOf(mirror),
    logBytes: logBytesOf(mirror),
    exchangeBytes: bytesOf(exchange),
    unusedBytes: (await pragma(db, 'page_size')) * (await pragma(db, 'freelist_count')),
    freeBytes,
    resting: restingWith(freeBytes, store) ?? null,
    schema: schema?.version ?? 0,
  };
}

interface DaemonState {
  readonly running: boolean;
  /** Host and process of the daemon that has or had the lease; null: no daemon has ever run. */
  readonly holder: string | null;
  readonly since: number | null;
}

/** State of the daemon, by its lease, which a daemon that can write renews again and again. */
export async function readDaemon(db: Db, now: number): Promise<DaemonState> {
  const lease = await db
    .selectFrom('lease')
    .select(['holder', 'acquired_at', 'expires_at'])
    .where('name', '=', 'daemon')
    .executeTakeFirst();
  return {
    running: (lease?.expires_at ?? 0) > now,
    holder: lease?.holder ?? null,
    since: lease?.acquired_at ?? null,
  };
}
