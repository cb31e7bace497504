/** Rows that could not be understood are kept with the reason, and stop nothing. */
import { sha256 } from '../lib/json.ts';
import type { Tx } from '../store/store.ts';
import type { Provenance } from './entity.ts';

export interface RejectedRow {
  /** The row as it came: parsed, or text when it was no JSON. */
  readonly raw: unknown;
  /** The member that is wrong, e.g. `details.price`. */
  readonly path: string;
  readonly reason: string;
}

/** Keeps the rows; gives how many of them were never seen before. */
export async function quarantineRows(
  tx: Tx,
  entity: string,
  rejected: readonly RejectedRow[],
  provenance: Provenance,
): Promise<number> {
  let added = 0;
  for (const row of rejected) {
    const raw = typeof row.raw === 'string' ? row.raw : JSON.stringify(row.raw);
    const stored = await tx
      .insertInto('quarantine')
      .values({
        entity,
        raw,
        raw_hash: sha256(raw),
        path: row.path,
        reason: row.reason,
        source: provenance.source,
        first_seen_at: provenance.at,
        last_seen_at: provenance.at,
      })
      .onConflict((conflict) =>
        conflict.columns(['entity', 'raw_hash']).doUpdateSet((eb) => ({
          path: row.path,
          reason: row.reason,
          source: provenance.source,
          last_seen_at: provenance.at,
          times: eb('quarantine.times', '+', 1),
        })),
      )
      .returning('times')
      .executeTakeFirstOrThrow();
    if (stored.times === 1) added += 1;
  }
  return added;
}
