/** The row of an account in `plane_cursor`: how far its copy is, and of what. */
import { hostname } from 'node:os';
import { z } from 'zod';
import { RetryLaterError, type SelvedgeError } from '../lib/errors.ts';
import { tryParseJson } from '../lib/json.ts';
import type { PlaneClient } from './postgres.ts';
import type { FeedPlace, SourceState } from './source.ts';

const PLACE = z.object({ seq: z.number(), entry: z.string().nullable() });
const SEEN = z.object({ change: PLACE, ledger: PLACE });
type Seen = z.output<typeof SEEN>;

const FRESHNESS = z.record(z.string(), z.number());

/** Daemon whose copy it is: its place, and the limits that only its configuration has. */
export interface Cell {
  /** Machine and data folder. */
  readonly place: string;
  /** How old the data of each stream that is pulled may get, in ms. */
  readonly freshness: z.output<typeof FRESHNESS>;
}

export function cellOf(dataDir: string, freshness: Cell['freshness'] = {}): Cell {
  return { place: `${hostname()}:${dataDir}`, freshness };
}

export interface Cursor extends Cell {
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
    place: text(row.place) ?? '',
    freshness: FRESHNESS.catch({}).parse(tryParseJson(text(row.freshness) ?? '')),
  };
}

/** The cursors of all accounts, by name. */
export async function readCursors(client: PlaneClient): Promise<readonly Cursor[]> {
  const { rows } = await client.query('select * from plane_cursor order by account');
  return rows.map(cursorOf);
}

/** `keep`: until the transaction ends no other sink moves it. */
export async function readCursor(
  client: PlaneClient,
  account: string,
  { keep = false }: { readonly keep?: boolean } = {},
): Promise<Cursor | undefined> {
  const { rows } = await client.query(
    `select * from plane_cursor where account = $1${keep ? ' for update' : ''}`,
    [account],
  );
  return rows[0] && cursorOf(rows[0]);
}

/**
 * The cursor as it is now, kept: the sink that follows may have moved it on since `agreed` was
 * read. Throws where the copy has become another database's meanwhile.
 */
export async function keepCursor(
  client: PlaneClient,
  account: string,
  agreed: Cursor | undefined,
): Promise<Cursor | undefined> {
  const now = await readCursor(client, account, { keep: true });
  const isSame = (['database', 'epoch', 'place'] as const).every(
    (part) => now?.[part] === agreed?.[part],
  );
  if (isSame) return now;
  throw otherSink(account, now?.place);
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
    cursor.place,
    JSON.stringify(cursor.freshness),
  ];
}

const COLUMNS =
  'account, database, epoch, shape, seq, entry, ledger_seq, ledger_entry, seen, first_seq, ' +
  'complete_at, written_at, place, freshness, touched_at';
const VALUES = '$1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, clock_timestamp()';

function otherSink(account: string, from?: string): SelvedgeError {
  const message = `another sink writes account ${account}${from ? `, from ${from}` : ''}`;
  return new RetryLaterError('plane.other_sink', message, {
    hint:
      'one "selvedge plane run" for each account: end the other, or name another in ' +
      'plane.account; if the other has just ended, wait for half a minute; after a fail-over of ' +
      'PostgreSQL it goes on by itself',
  });
}

/**
 * Throws where the cursor was written in the last half minute, by PostgreSQL's clock. Two sinks of
 * an account whose mirrors went different ways would else put it right in turn for ever.
 */
export async function requireQuiet(client: PlaneClient, account: string): Promise<void> {
  const { rows } = await client.query(
    `select place from plane_cursor where account = $1
     and touched_at between clock_timestamp() - interval '30 s' and clock_timestamp()`,
    [account],
  );
  if (rows[0]) throw otherSink(account, text(rows[0].place) ?? '');
}

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
          `insert into plane_cursor (${COLUMNS}) values (${VALUES}) on conflict do nothing`,
          valuesOf(to),
        )
      : await client.query(
          `update plane_cursor set (${COLUMNS}) = (${VALUES})
           where account = $1 and database = $15 and epoch = $16 and shape = $17
             and seq = $18 and ledger_seq = $19 and written_at = $20`,
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
  throw otherSink(to.account);
}

export function seenIn({ change, ledger }: SourceState): Seen {
  return { change: change.last, ledger: ledger.last };
}

/** The cursor of a copy that has just been compared, or made, from this state on. */
export function cursorAt(
  account: string,
  shape: string,
  state: SourceState,
  now: number,
): Omit<Cursor, keyof Cell> {
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
