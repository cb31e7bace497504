/** The few numbers that every page shows and asks for again and again. */
import { sql } from 'kysely';
import type { Clock } from '../../lib/clock.ts';
import type { Db } from '../../store/store.ts';

export interface LiveCounts {
  readonly held: number;
  /** Pushes that need a person. */
  readonly attention: number;
  /** The latest decision: another one means that a list may have changed. */
  readonly decisionId: number;
}

/** Many pages ask at once; counting ten thousand held deliveries takes ten milliseconds. */
const FRESH_MS = 1_000;

async function count(db: Db): Promise<LiveCounts> {
  const { rows } = await sql<LiveCounts>`select
    (select count(*) from delivery d
      join evaluation e on e.order_delivery_id = d.order_delivery_id
      join decision n on n.decision_id = e.decision_id
      where d.status = 'pending' and d.deleted_at is null and n.outcome = 'hold') held,
    (select count(*) from outbox where blocked_reason is not null and ended_at is null) attention,
    (select coalesce(max(decision_id), 0) from decision) "decisionId"`.execute(db);
  const [row] = rows;
  return row ?? { held: 0, attention: 0, decisionId: 0 };
}

/** Counts at most once a second, however many ask. */
export function createLiveCounts(db: Db, clock: Clock): () => Promise<LiveCounts> {
  let known: { readonly at: number; readonly counts: Promise<LiveCounts> } | undefined;
  return () => {
    const now = clock.monotonic();
    if (!known || now - known.at >= FRESH_MS) known = { at: now, counts: count(db) };
    return known.counts;
  };
}
