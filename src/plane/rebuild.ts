/**
 * Makes the copy of an account what the mirror is, in one transaction of PostgreSQL, so that
 * nobody sees half of it: the cursor is set to where the feeds are now, then every table is gone
 * through by its keys in short snapshots. What changes meanwhile has entries behind the cursor, and
 * is followed afterwards.
 */
import { compareTable } from './compare.ts';
import { type Cell, type Cursor, cursorAt, keepCursor, moveCursor, seenIn } from './cursor.ts';
import { deleteRows, type PlaneClient, quoted, writeRows } from './postgres.ts';
import type { MirrorReader } from './source.ts';
import type { CopiedTable } from './tables.ts';

export interface CopyDeps {
  readonly client: PlaneClient;
  readonly reader: MirrorReader;
  readonly account: string;
  readonly cell: Cell;
  readonly now: () => number;
}

export interface CopyCounts {
  /** Rows that the copy lacked, or had otherwise. */
  readonly written: number;
  readonly removed: number;
  readonly cursor: Cursor;
}

/**
 * `rebuild` forgets what is there and copies all, beside the sink that follows and moves the cursor
 * on; `reconcile` writes only where the two differ.
 * `known`: the cursor as it was read; undefined: there is none.
 */
export async function copyWhole(
  { client, reader, account, cell, now }: CopyDeps,
  known: Cursor | undefined,
  how: 'rebuild' | 'reconcile',
): Promise<CopyCounts> {
  const counts = await client.transaction(async () => {
    const from = how === 'rebuild' ? await keepCursor(client, account, known) : known;
    const state = reader.snapshot(() => reader.state());
    const cursor = { ...cursorAt(account, reader.shape, state, now()), ...cell };
    await moveCursor(client, from, cursor);
    let written = 0;
    let removed = 0;
    for (const table of reader.tables) {
      const isEmpty = how === 'rebuild' || !table.isCopied;
      if (isEmpty) {
        await client.query(`delete from ${quoted(table.name)} where account = $1`, [account]);
      }
      if (!table.isCopied) continue;
      for await (const found of compareTable({ client, reader, account, table, isEmpty })) {
        const rows = [...found.missing, ...found.different].map(({ row }) => row);
        await deleteRows(client, table, account, table.keys, found.surplus);
        await writeRows(client, table, account, rows);
        written += rows.length;
        removed += found.surplus.length;
      }
    }
    const seen = seenIn(reader.snapshot(() => reader.state()));
    const reached = { ...cursor, seen, writtenAt: cursor.writtenAt + 1 };
    await moveCursor(client, cursor, reached);
    return { written, removed, cursor: reached };
  });
  if (how === 'rebuild') await analyze(client, reader.tables);
  return counts;
}

/**
 * Tells PostgreSQL how large the tables are by now: it finds out later by itself, and until then
 * plans as if all were empty. The copy is whole without it, so that a failure is none of the copy.
 */
export async function analyze(
  client: PlaneClient,
  tables: readonly Pick<CopiedTable, 'name'>[],
): Promise<void> {
  const names = tables.map(({ name }) => quoted(name)).join(', ');
  await client.query(`analyze ${names}`).catch(() => undefined);
}

/** Removes all that the plane has of an account (`plane remove`). */
export async function removeAccount({
  client,
  reader,
  account,
}: Omit<CopyDeps, 'cell' | 'now'>): Promise<void> {
  await client.transaction(async () => {
    for (const { name } of reader.tables) {
      await client.query(`delete from ${quoted(name)} where account = $1`, [account]);
    }
    await client.query('delete from plane_cursor where account = $1', [account]);
  });
}
