/** What is known of an intent's earlier attempts, for looks that must miss nothing. */
import { z } from 'zod';
import { tryParseJson } from '../../lib/json.ts';
import type { Db } from '../../store/store.ts';

export interface KnownBefore {
  /** No order above this id was there before the first attempt; undefined: not written down. */
  readonly maxOrderId: number | undefined;
  /** How many like it were there before the first attempt. */
  readonly count: number | undefined;
}

/** Of all attempts that may have had an effect: an early one may still take effect late. */
export async function knownBefore(db: Db, outboxId: number): Promise<KnownBefore> {
  const row = await db
    .selectFrom('outbox_attempt')
    .select((eb) => [
      eb.fn.min('max_order_id_before').as('max_order_id'),
      eb.fn.min('count_before').as('count'),
    ])
    .where('outbox_id', '=', outboxId)
    .where((eb) => eb.or([eb('class', 'is', null), eb('class', '!=', 'not_processed')]))
    .executeTakeFirst();
  return { maxOrderId: row?.max_order_id ?? undefined, count: row?.count ?? undefined };
}

const disownedSchema = z.object({ notOurs: z.array(z.int()) });

/** Ids of which a person has said that they are not this document. */
export async function disowned(db: Db, outboxId: number): Promise<ReadonlySet<number>> {
  const rows = await db
    .selectFrom('outbox_evidence')
    .select('detail')
    .where('outbox_id', '=', outboxId)
    .where('source', '=', 'person')
    .where('found', '=', 'no')
    .execute();
  const ids = rows.flatMap(({ detail }) => {
    const parsed = disownedSchema.safeParse(tryParseJson(detail));
    return parsed.success ? parsed.data.notOurs : [];
  });
  return new Set(ids);
}
