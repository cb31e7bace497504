/**
 * Quarantined rows, tried again: after an upgrade, or when the operator asks. A row that can be
 * understood now is old news, so it is not written itself: it leaves the quarantine and its source
 * is read again (its order, or its stream with every row compared).
 */
import type { z } from 'zod';
import {
  brandSchema,
  deliverySchema,
  freightOptionSchema,
  pendingRefundSchema,
  refundSchema,
  salesOrderSchema,
  seasonSchema,
  variantSchema,
} from '../client/v1/schemas.ts';
import { resourceSchemas } from '../client/v2/resources.ts';
import type { Clock } from '../lib/clock.ts';
import { isJsonObject, tryParseJson } from '../lib/json.ts';
import { forgetDigests } from '../mirror/list.ts';
import { requestRefresh } from '../mirror/refresh.ts';
import type { Store } from '../store/store.ts';

interface Source {
  readonly schema: z.ZodType;
  /** The stream that brings the rows; undefined: they belong to an order, which is read again. */
  readonly stream: string | undefined;
}

const SOURCES: Readonly<Record<string, Source>> = {
  brand: { schema: brandSchema, stream: 'brands' },
  freight_option: { schema: freightOptionSchema, stream: 'freight' },
  season: { schema: seasonSchema, stream: 'seasons' },
  stock_variant: { schema: variantSchema, stream: 'stock' },
  season_variant: { schema: variantSchema, stream: 'season' },
  sales_order: { schema: salesOrderSchema, stream: undefined },
  delivery: { schema: deliverySchema, stream: undefined },
  refund: { schema: refundSchema, stream: undefined },
  pending_refund: { schema: pendingRefundSchema, stream: undefined },
  style: { schema: resourceSchemas.style, stream: 'styles' },
  style_color: { schema: resourceSchemas.styleColor, stream: 'styleColors' },
  color: { schema: resourceSchemas.color, stream: 'colors' },
  pdm_brand: { schema: resourceSchemas.brand, stream: 'pdmBrands' },
  style_type: { schema: resourceSchemas.type, stream: 'types' },
  gender: { schema: resourceSchemas.gender, stream: 'genders' },
  country: { schema: resourceSchemas.country, stream: 'countries' },
};

/** The entities that a stream brings; those of orders come with both walks. */
export function entitiesOfStream(stream: string): readonly string[] {
  const own = stream === 'orders' || stream === 'ordersFull' ? undefined : stream;
  return Object.entries(SOURCES)
    .filter(([, source]) => source.stream === own)
    .map(([entity]) => entity);
}

/** Rows that are tried in one transaction. */
const SLICE = 200;

async function readAgain(
  store: Store,
  clock: Clock,
  row: { readonly id: number; readonly raw: unknown; readonly source: Source },
): Promise<void> {
  const { stream } = row.source;
  const orderId = isJsonObject(row.raw) ? row.raw.orderId : undefined;
  await store.transaction(async (tx) => {
    await tx.deleteFrom('quarantine').where('id', '=', row.id).execute();
    if (stream === undefined) {
      if (typeof orderId !== 'number') return;
      await requestRefresh(tx, orderId, 'sweep:quarantine', clock.now());
      return;
    }
    await forgetDigests(tx, stream);
    await tx
      .updateTable('stream_state')
      .set({ due_at: clock.now() })
      .where('stream', '=', stream)
      .execute();
  });
}

export async function retryQuarantine(deps: {
  readonly store: Store;
  readonly clock: Clock;
}): Promise<{ readonly understood: number; readonly left: number }> {
  const { store, clock } = deps;
  let understood = 0;
  let left = 0;
  for (let after = 0; ; ) {
    const rows = await store.db
      .selectFrom('quarantine')
      .select(['id', 'entity', 'raw'])
      .where('id', '>', after)
      .orderBy('id')
      .limit(SLICE)
      .execute();
    for (const { id, entity, raw: text } of rows) {
      after = id;
      const source = SOURCES[entity];
      const raw = tryParseJson(text);
      if (source?.schema.safeParse(raw).success) {
        await readAgain(store, clock, { id, raw, source });
        understood += 1;
      } else left += 1;
    }
    if (rows.length < SLICE) return { understood, left };
  }
}
