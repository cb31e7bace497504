/** Take-overs as the database knows them: documents in doubt, numbers given out, the audit. */
import { sql } from 'kysely';
import { z } from 'zod';
import { tryParseJson } from '../lib/json.ts';
import type { Db } from '../store/store.ts';

interface TakenOver {
  readonly id: number;
  readonly inDoubt: number;
  /** Parts that the record lacked. */
  readonly missing: number;
}

export interface Ledger {
  /** Documents that are in doubt. */
  readonly inDoubt: number;
  /** Last number of a document that was given out. */
  readonly lastDocument: number;
  /** Number of the last act in the audit. */
  readonly lastAct: number;
  /** The last take-overs, with what each put in doubt. */
  readonly takeOvers: readonly TakenOver[];
}

const DETAIL = z.object({ inDoubt: z.number(), missing: z.array(z.string()) });
const LATEST = 10;

export async function readLedger(db: Db): Promise<Ledger> {
  const { rows } = await sql<{ doubted: number; number: number | null; act: number | null }>`select
    (select count(*) from outbox where state = 'in_doubt') AS doubted,
    (select seq from sqlite_sequence where name = 'outbox') AS number,
    (select max(id) from audit) AS act`.execute(db);
  const takeOvers = await db
    .selectFrom('audit')
    .select(['id', 'detail'])
    .where('action', '=', 'takeover')
    .orderBy('id', 'desc')
    .limit(LATEST)
    .execute();
  return {
    inDoubt: rows[0]?.doubted ?? 0,
    lastDocument: rows[0]?.number ?? 0,
    lastAct: rows[0]?.act ?? 0,
    takeOvers: takeOvers.map(({ id, detail }) => {
      const { inDoubt, missing } = DETAIL.parse(tryParseJson(detail));
      return { id, inDoubt, missing: missing.length };
    }),
  };
}
