/**
 * The breaker of rejects. Once it has tripped, every reject rule only watches, across restarts and
 * changes of the rules, until a person resets it and says why.
 */
import { z } from 'zod';
import { tryParseJson } from '../../lib/json.ts';
import type { Db, Tx } from '../../store/store.ts';

const KEY = 'reject_breaker';

const BREAKER = z.object({ at: z.number(), rail: z.string(), detail: z.string() });

/** What tripped it, and when. */
type Breaker = z.output<typeof BREAKER>;

/** Undefined while it is whole. */
export async function readBreaker(db: Db | Tx): Promise<Breaker | undefined> {
  const row = await db
    .selectFrom('daemon_state')
    .select('value')
    .where('key', '=', KEY)
    .executeTakeFirst();
  return row && BREAKER.parse(tryParseJson(row.value));
}
