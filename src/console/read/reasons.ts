/** Reads the reasons that a person gave last for decisions, to choose from. */
import type { Db } from '../../store/store.ts';

const REASONS = 5;
const LOOKED_AT = 50;

export async function lastReasons(db: Db, actor: string): Promise<readonly string[]> {
  const rows = await db
    .selectFrom('audit')
    .select('reason')
    .where('actor', '=', actor)
    .where('action', 'in', ['delivery.accept', 'delivery.hold', 'delivery.release'])
    .where('reason', '!=', '')
    .orderBy('id', 'desc')
    .limit(LOOKED_AT)
    .execute();
  return [...new Set(rows.map(({ reason }) => reason))].slice(0, REASONS);
}
