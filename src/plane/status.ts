/** How far the copies of all accounts are, as the plane itself says. */
import { SelvedgeError } from '../lib/errors.ts';
import { type Cursor, readCursors } from './cursor.ts';
import { type PlaneClient, quoted } from './postgres.ts';
import { STATUS_EVERY_MS } from './status-file.ts';
import { PLANE_TABLES } from './tables.ts';

export interface AccountStatus {
  readonly account: string;
  readonly seq: number;
  readonly ledgerSeq: number;
  /** Past of the database that the copy is of: another one after a restore. */
  readonly epoch: string;
  /** Since when the copy lacks something, at most; 0: it has all. Undefined: never yet whole. */
  readonly lagMs: number | undefined;
  /** When its sink last wrote, epoch ms. */
  readonly writtenAt: number;
  /** Rows in all tables; null: they could not be counted in a few seconds. */
  readonly rows: number | null;
}

/** Since when the copy lacks something, at most; undefined: it was never whole. */
export function copyLagMs({ completeAt }: Cursor, now: number): number | undefined {
  if (completeAt === undefined) return undefined;
  const age = now - completeAt;
  return age > 2 * STATUS_EVERY_MS ? age : 0;
}

/** The rest is shown at once, however many rows there are, and whatever is locked. */
const COUNTING_MS_MAX = 5_000;

async function rowsByAccount(client: PlaneClient): Promise<ReadonlyMap<string, number> | null> {
  const counts = PLANE_TABLES.map(
    ({ name }) => `select account, count(*) AS n from ${quoted(name)} group by account`,
  );
  try {
    const { rows } = await client.transaction(async () => {
      await client.query(
        `set local statement_timeout = ${COUNTING_MS_MAX}; set local lock_timeout = 1000`,
      );
      return client.query(
        `select account, sum(n)::text AS n from (${counts.join(' union all ')}) AS t
         group by account`,
      );
    });
    return new Map(rows.map((row) => [String(row.account), Number(row.n)]));
  } catch (thrown) {
    const code = thrown instanceof SelvedgeError ? thrown.code : '';
    if (code === 'plane.too_slow' || code === 'plane.locked') return null;
    throw thrown;
  }
}

export async function planeStatus(
  client: PlaneClient,
  now: number,
): Promise<readonly AccountStatus[]> {
  const cursors = await readCursors(client);
  const counts = await rowsByAccount(client);
  return cursors.map((cursor) => {
    const { account, change, ledger, epoch, writtenAt } = cursor;
    return {
      account,
      seq: change.seq,
      ledgerSeq: ledger.seq,
      epoch,
      lagMs: copyLagMs(cursor, now),
      writtenAt,
      rows: counts === null ? null : (counts.get(account) ?? 0),
    };
  });
}
