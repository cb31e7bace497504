/**
 * Proves that the copy of an account is the mirror, without stopping either: PostgreSQL is read as
 * of one cursor, the mirror as it is now, and rows that changed behind the cursor are left out on
 * both sides.
 */
import { RefusedError } from '../lib/errors.ts';
import { canonical, compareTable } from './compare.ts';
import { type Cursor, readCursor } from './cursor.ts';
import { type PlaneClient, quoted } from './postgres.ts';
import type { MirrorReader } from './source.ts';
import type { CopiedTable } from './tables.ts';

export interface VerifyOptions {
  readonly client: PlaneClient;
  readonly reader: MirrorReader;
  readonly account: string;
  /** Compares every value; else the numbers of rows. */
  readonly deep: boolean;
}

export interface TableVerdict {
  readonly table: string;
  /** Rows of the mirror that were counted or compared. */
  readonly rows: number;
  readonly missing: number;
  readonly different: number;
  readonly surplus: number;
  /** Keys of some of them, JSON arrays. */
  readonly examples: readonly string[];
}

export interface Verdict {
  readonly isEqual: boolean;
  /** Entry of the change feed, and of ledger_change, that the copy is at. */
  readonly seq: number;
  readonly ledgerSeq: number;
  /** Changes behind the cursor, whose rows were left out. */
  readonly pending: number;
  readonly tables: readonly TableVerdict[];
}

const EXAMPLES = 5;
const ENTRIES_AT_ONCE = 10_000;
/** The server may be asked for one table for long. */
const PATIENT =
  'set local statement_timeout = 0; set local idle_in_transaction_session_timeout = 0';

/** Rows that changed behind the cursor, kept up to date with each snapshot. */
function createPending(reader: MirrorReader, cursor: Cursor) {
  const places = { change: cursor.change.seq, ledger_change: cursor.ledger.seq };
  const keys = new Set<string>();
  let firstSeq = 0;
  return {
    keys,
    read(): void {
      firstSeq = reader.state().change.first;
      for (const name of ['change', 'ledger_change'] as const) {
        for (;;) {
          const entries = reader.entries(name, places[name], ENTRIES_AT_ONCE);
          for (const entry of entries) {
            if (!('table' in entry)) continue;
            for (const key of entry.keys) keys.add(entry.table.name + canonical(key));
          }
          places[name] = entries.at(-1)?.seq ?? places[name];
          if (entries.length < ENTRIES_AT_ONCE) break;
        }
      }
    },
    /** Whether the row may differ; lines go by the row that they are part of. */
    has({ name, linesOf }: CopiedTable, key: string): boolean {
      const values: readonly unknown[] = JSON.parse(canonical(key));
      if (name === 'change') {
        const seq = Number(values[0]);
        if (seq > cursor.change.seq || seq < firstSeq) return true;
      }
      return linesOf === undefined
        ? keys.has(name + JSON.stringify(values))
        : keys.has(linesOf + JSON.stringify(values.slice(0, 1)));
    },
  };
}

type Pending = ReturnType<typeof createPending>;

async function compareValues(
  { client, reader, account }: VerifyOptions,
  table: CopiedTable,
  pending: Pending,
): Promise<TableVerdict> {
  const count = { missing: 0, different: 0, surplus: 0 };
  const examples: string[] = [];
  let rows = 0;
  const beside = () => pending.read();
  for await (const found of compareTable({ client, reader, account, table, beside })) {
    rows += found.compared;
    const keys = {
      missing: found.missing.map(({ key }) => key),
      different: found.different.map(({ key }) => key),
      surplus: found.surplus,
    };
    for (const kind of ['missing', 'different', 'surplus'] as const) {
      const wrong = keys[kind].filter((key) => !pending.has(table, key));
      count[kind] += wrong.length;
      examples.push(...wrong.slice(0, EXAMPLES - examples.length));
    }
  }
  return { table: table.name, rows, ...count, examples };
}

async function countRows(
  { client, reader, account }: VerifyOptions,
  table: CopiedTable,
  pending: Pending,
): Promise<TableVerdict> {
  const here = reader.snapshot(() => {
    pending.read();
    return reader.count(table);
  });
  const { rows } = await client.query(
    `select count(*)::text AS n from ${quoted(table.name)} where account = $1`,
    [account],
  );
  const there = Number(rows[0]?.n ?? 0);
  const [missing, surplus] = [Math.max(0, here - there), Math.max(0, there - here)];
  return { table: table.name, rows: here, missing, different: 0, surplus, examples: [] };
}

/**
 * Counts are exact where nothing is pending; a difference of a table with pending rows is looked at
 * by value.
 */
async function verdictOf(
  options: VerifyOptions,
  table: CopiedTable,
  pending: Pending,
): Promise<TableVerdict> {
  if (options.deep) return compareValues(options, table, pending);
  const verdict = await countRows(options, table, pending);
  const isEqual = verdict.missing === 0 && verdict.surplus === 0;
  return isEqual ? verdict : compareValues(options, table, pending);
}

/** Throws `plane.no_copy` where the account has none, or one that has to be made again. */
export async function verify(options: VerifyOptions): Promise<Verdict> {
  const { client, reader, account } = options;
  const work = async (): Promise<Verdict> => {
    await client.query(PATIENT);
    const cursor = await readCursor(client, account);
    const state = reader.snapshot(() => reader.state());
    if (!cursor || cursor.database !== state.database || cursor.epoch !== state.epoch) {
      throw new RefusedError('plane.no_copy', `the plane has no copy of ${account} as it is now`, {
        hint: 'wait until "selvedge plane run" has made it; "selvedge plane status" tells',
      });
    }
    const pending = createPending(reader, cursor);
    const tables: TableVerdict[] = [];
    for (const table of reader.tables) {
      if (table.isCopied) tables.push(await verdictOf(options, table, pending));
    }
    const isRight = (one: TableVerdict) => one.missing + one.different + one.surplus === 0;
    return {
      isEqual: tables.every(isRight),
      seq: cursor.change.seq,
      ledgerSeq: cursor.ledger.seq,
      pending: pending.keys.size,
      tables,
    };
  };
  return client.transaction(work, 'begin isolation level repeatable read read only');
}
