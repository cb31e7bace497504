/**
 * Documents that a person may take note of: the service has one otherwise than it was sent, or no
 * longer, or it was refused and nobody has corrected it.
 */
import { openDetail } from '../../store/incidents.ts';
import type { Db, Tx } from '../../store/store.ts';
import { DIFFERENCE } from '../watch/differences.ts';
import { isLostUnnoted } from '../watch/lost.ts';

async function isRefusedUnnoted(db: Db | Tx, outboxId: number): Promise<boolean> {
  const row = await db
    .selectFrom('refused_document')
    .select('outbox_id')
    .where('outbox_id', '=', outboxId)
    .executeTakeFirst();
  return row !== undefined;
}

export async function isNotable(db: Db | Tx, outboxId: number): Promise<boolean> {
  const difference = await openDetail(db, { ...DIFFERENCE, key: String(outboxId) });
  if (difference !== undefined) return true;
  return (await isLostUnnoted(db, outboxId)) || isRefusedUnnoted(db, outboxId);
}

/** Lets a refused document wait no longer, because a person has taken note of it. */
export async function noteRefused(tx: Tx, outboxId: number): Promise<void> {
  await tx.deleteFrom('refused_document').where('outbox_id', '=', outboxId).execute();
}
