/**
 * The reading half of a pass: finds, in one snapshot, which rows changed since the cursor and what
 * they are now, or why the feeds do not go on from there.
 */
import { RefusedError } from '../lib/errors.ts';
import { type Cursor, seenIn } from './cursor.ts';
import type { FeedName, FeedPlace, MirrorReader, RowOf, SourceState } from './source.ts';
import type { CopiedTable } from './tables.ts';

/** Entries of one feed in one pass. */
const ENTRIES_AT_ONCE = 5_000;

interface TableStep {
  readonly table: CopiedTable;
  readonly by: readonly string[];
  /** Keys to delete: rows that are gone, or all lines of a row before they are written again. */
  readonly gone: readonly string[];
  readonly rows: readonly RowOf[];
}

export interface CopyStep {
  readonly do: 'rebuild' | 'reconcile';
  readonly why: string;
}

export interface FollowStep {
  readonly do: 'follow';
  readonly from: Cursor;
  readonly to: Cursor;
  /** Number of entries of both feeds. */
  readonly entries: number;
  readonly tables: readonly TableStep[];
  readonly hasMore: boolean;
  readonly lagMs: number;
}

export type Step = CopyStep | FollowStep;

/** Why the feed does not go on from the cursor; undefined: it does. */
function breakIn(
  reader: MirrorReader,
  name: FeedName,
  { seq, entry }: FeedPlace,
  first: number,
): CopyStep | undefined {
  const given = reader.given(name);
  if (seq > given) {
    return { do: 'reconcile', why: `the database was put back: ${name} ends at ${given}` };
  }
  const found = reader.entryAt(name, seq);
  if (found === null && first > seq + 1) {
    return { do: 'rebuild', why: `${name} begins at ${first}: the entries before are deleted` };
  }
  const isDeleted = found === null && first === seq + 1;
  if (isDeleted || found === entry) return undefined;
  return { do: 'reconcile', why: `entry ${seq} of ${name} is another one: it was put back` };
}

function requireSameDatabase(cursor: Cursor, { database }: SourceState): void {
  if (cursor.database === database) return;
  const { account } = cursor;
  throw new RefusedError('plane.account_taken', `the plane has ${account} of another database`, {
    hint:
      'give each database a plane.account of its own; if this one took the place of the other, ' +
      'run "selvedge plane rebuild"',
  });
}

type Entries = ReturnType<MirrorReader['entries']>;

/** The keys that changed, by table, without those that changed twice. */
function touchedBy(
  reader: MirrorReader,
  entries: Entries,
  into: Map<CopiedTable, Set<string>>,
): void {
  const touch = (table: CopiedTable, key: string): void => {
    const keys = into.get(table) ?? new Set();
    into.set(table, keys.add(key));
  };
  for (const entry of entries) {
    if (!('table' in entry)) continue;
    for (const key of entry.keys) {
      touch(entry.table, key);
      for (const lines of reader.linesOf(entry.table)) touch(lines, key);
    }
  }
}

function stepOf(reader: MirrorReader, table: CopiedTable, touched: ReadonlySet<string>): TableStep {
  const by = table.linesOf === undefined ? table.keys : table.keys.slice(0, 1);
  const rows = reader.rowsOf(table, by, [...touched]);
  if (table.linesOf !== undefined) return { table, by, gone: [...touched], rows };
  const there = new Set(rows.map(({ key }) => key));
  return { table, by, gone: [...touched].filter((key) => !there.has(key)), rows };
}

/** Why the copy has to be compared, or made again, before it can be followed. */
function copyNeeded(
  reader: MirrorReader,
  cursor: Cursor,
  state: SourceState,
): CopyStep | undefined {
  requireSameDatabase(cursor, state);
  if (cursor.shape !== reader.shape) {
    return { do: 'rebuild', why: 'columns or plane.content are others than before' };
  }
  if (cursor.epoch !== state.epoch) {
    return { do: 'reconcile', why: 'a backup was restored, or the feed of the ledgers made again' };
  }
  return (
    breakIn(reader, 'change', cursor.change, state.change.first) ??
    breakIn(reader, 'ledger_change', cursor.ledger, state.ledger.first) ??
    breakIn(reader, 'change', cursor.seen.change, state.change.first) ??
    breakIn(reader, 'ledger_change', cursor.seen.ledger, state.ledger.first)
  );
}

/** The rows that both feeds tell of, by table, and the entries of the change feed themselves. */
function touchedRows(
  reader: MirrorReader,
  changes: Entries,
  ledger: Entries,
): readonly TableStep[] {
  const touched = new Map<CopiedTable, Set<string>>();
  touchedBy(reader, changes, touched);
  touchedBy(reader, ledger, touched);
  const history = reader.tables.find(({ name }) => name === 'change');
  if (history) {
    const seqs = changes.map(({ seq }) => `[${seq}]`);
    touched.set(history, (touched.get(history) ?? new Set()).union(new Set(seqs)));
  }
  const copied = [...touched].filter(([table, keys]) => table.isCopied && keys.size > 0);
  return copied.map(([table, keys]) => stepOf(reader, table, keys));
}

/** All that one pass reads; the caller's snapshot holds it together. */
export function readStep(reader: MirrorReader, cursor: Cursor | undefined, now: number): Step {
  if (!cursor) return { do: 'rebuild', why: 'the plane has no copy of this account yet' };
  const state = reader.state();
  const copy = copyNeeded(reader, cursor, state);
  if (copy) return copy;
  const changes = reader.entries('change', cursor.change.seq, ENTRIES_AT_ONCE);
  const ledger = reader.entries('ledger_change', cursor.ledger.seq, ENTRIES_AT_ONCE);
  const full = [changes, ledger].filter(({ length }) => length === ENTRIES_AT_ONCE);
  const oldest = Math.min(...full.map((entries) => entries.at(-1)?.at ?? now));
  const hasMore = full.length > 0;
  return {
    do: 'follow',
    from: cursor,
    entries: changes.length + ledger.length,
    tables: touchedRows(reader, changes, ledger),
    hasMore,
    lagMs: hasMore ? Math.max(0, now - oldest) : 0,
    to: {
      ...cursor,
      change: changes.at(-1) ?? cursor.change,
      ledger: ledger.at(-1) ?? cursor.ledger,
      seen: seenIn(state),
      firstSeq: Math.max(cursor.firstSeq, state.change.first),
      completeAt: hasMore ? cursor.completeAt : now,
      writtenAt: Math.max(now, cursor.writtenAt + 1),
    },
  };
}
