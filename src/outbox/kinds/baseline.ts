/** What is known of an intent's earlier attempts, for looks that must miss nothing. */
import { z } from 'zod';
import { tryParseJson } from '../../lib/json.ts';
import { readRestored } from '../../store/state.ts';
import type { Db } from '../../store/store.ts';
import type { OutboxItem } from '../item.ts';

export interface KnownBefore {
  /** No order above this id was there before the first attempt; undefined: not written down. */
  readonly maxOrderId: number | undefined;
  /** How many like it were there before the first attempt. */
  readonly count: number | undefined;
  /** When the first and the last of them began; undefined: it was never sent. */
  readonly firstAt: number | undefined;
  readonly lastAt: number | undefined;
}

/**
 * What had not left when a backup was made left after it, if at all: then the highest order that
 * the backup knew was there before.
 */
async function knownToBackup(
  db: Db,
  { createdAt }: Pick<OutboxItem, 'createdAt'>,
): Promise<number | undefined> {
  const restored = await readRestored(db);
  return restored && createdAt <= restored.at ? (restored.maxOrderId ?? undefined) : undefined;
}

/** When the last read of all orders began; the mirror has all that were there then. 0: none was. */
export async function ordersReadAt(db: Db): Promise<number> {
  const row = await db
    .selectFrom('stream_state')
    .select((eb) => eb.fn.max('complete_at').as('at'))
    .where('stream', 'in', ['orders', 'ordersFull'])
    .executeTakeFirst();
  return row?.at ?? 0;
}

/** Of all attempts that may have had an effect: an early one may still take effect late. */
export async function knownBefore(
  db: Db,
  item: Pick<OutboxItem, 'outboxId' | 'createdAt'>,
): Promise<KnownBefore> {
  const row = await db
    .selectFrom('outbox_attempt')
    .select((eb) => [
      eb.fn.min('max_order_id_before').as('max_order_id'),
      eb.fn.min('count_before').as('count'),
      eb.fn.min('started_at').as('first_at'),
      eb.fn.max('started_at').as('last_at'),
    ])
    .where('outbox_id', '=', item.outboxId)
    .where((eb) => eb.or([eb('class', 'is', null), eb('class', '!=', 'not_processed')]))
    .executeTakeFirst();
  const maxOrderId = row?.max_order_id ?? (await knownToBackup(db, item));
  const { count, first_at: firstAt, last_at: lastAt } = row ?? {};
  return {
    ...{ maxOrderId, count: count ?? undefined },
    ...{ firstAt: firstAt ?? undefined, lastAt: lastAt ?? undefined },
  };
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
