/** The row of an account in `plane_cursor`: how far its copy is, and of what. */
import { z } from 'zod';
import { RetryLaterError } from '../lib/errors.ts';
import type { PlaneClient } from './postgres.ts';
import type { FeedPlace, SourceState } from './source.ts';

const PLACE = z.object({ seq: z.number(), entry: z.string().nullable() });
const SEEN = z.object({ change: PLACE, ledger: PLACE });
type Seen = z.output<typeof SEEN>;

export interface Cursor {
  readonly account: string;
  readonly database: string;
  readonly epoch: string;
  readonly shape: string;
  readonly change: FeedPlace;
  readonly ledger: FeedPlace;
  /**
   * The ends of both feeds when the rows were read. A row may be newer than the cursor: a mirror
   * that is put back to in between has the cursor's entry, and not the row.
   */
  readonly seen: Seen;
  /** The oldest entry of the change feed in the copy. */
  readonly firstSeq: number;
  /** When it last had every change, epoch ms. */
  readonly completeAt: number | undefined;
  readonly writtenAt: number;
}

function text(value: unknown): string | null {
  return value === null || value === undefined ? null : String(value);
}

function cursorOf(row: Readonly<Record<string, unknown>>): Cursor {
  return {
    account: String(row.account),
    database: String(row.database),
    epoch: String(row.epoch),
    shape: String(row.shape),
    change: { seq: Number(row.seq), entry: text(row.entry) },
    ledger: { seq: Number(row.ledger_seq), entry: text(row.ledger_entry) },
    seen: SEEN.parse(JSON.parse(String(row.seen))),
    firstSeq: Number(row.first_seq),
    completeAt: row.complete_at === null ? undefined : Number(row.complete_at),
    writtenAt: Number(row.written_at),
  };
}

/** The cursors of all accounts, by name. */
export async function readCursors(client: PlaneClient): Promise<readonly Cursor[]> {
  const { rows } = await client.query('select * from plane_cursor order by account');
  return rows.map(cursorOf);
}

export async function readCursor(
  client: PlaneClient,
  account: string,
): Promise<Cursor | undefined> {
  const { rows } = await client.query('select * from plane_cursor where account = $1', [account]);
  return rows[0] && cursorOf(rows[0]);
}

function valuesOf(cursor: Cursor): readonly unknown[] {
  return [
    cursor.account,
    cursor.database,
    cursor.epoch,
    cursor.shape,
    cursor.change.seq,
    cursor.change.entry,
    cursor.ledger.seq,
    cursor.ledger.entry,
    JSON.stringify(cursor.seen),
    cursor.firstSeq,
    cursor.completeAt ?? null,
    cursor.writtenAt,
  ];
}

const COLUMNS =
  'account, database, epoch, shape, seq, entry, ledger_seq, ledger_entry, seen, first_seq, ' +
  'complete_at, written_at';

/**
 * Moves the cursor from where this sink has read it, as the first statement of its transaction:
 * another sink of the same account then waits, and finds that it has moved.
 */
export async function moveCursor(
  client: PlaneClient,
  from: Cursor | undefined,
  to: Cursor,
): Promise<void> {
  const { count } =
    from === undefined
      ? await client.query(
          `insert into plane_cursor (${COLUMNS})
           values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) on conflict do nothing`,
          valuesOf(to),
        )
      : await client.query(
          `update plane_cursor set (${COLUMNS}) =
             ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
           where account = $1 and database = $13 and epoch = $14 and shape = $15
             and seq = $16
             and ledger_seq = $17 and written_at = $18`,
          [
            ...valuesOf(to),
            from.database,
            from.epoch,
            from.shape,
            from.change.seq,
            from.ledger.seq,
            from.writtenAt,
          ],
        );
  if (count === 1) return;
  throw new RetryLaterError('plane.other_sink', `another sink writes account ${to.account}`, {
    hint: 'one "selvedge plane run" for each account; name another in plane.account',
  });
}

export function seenIn({ change, ledger }: SourceState): Seen {
  return { change: change.last, ledger: ledger.last };
}

/** The cursor of a copy that has just been compared, or made, from this state on. */
export function cursorAt(account: string, shape: string, state: SourceState, now: number): Cursor {
  return {
    account,
    database: state.database,
    epoch: state.epoch,
    shape,
    change: state.change.last,
    ledger: state.ledger.last,
    seen: seenIn(state),
    firstSeq: state.change.first,
    completeAt: undefined,
    writtenAt: now,
  };
}
