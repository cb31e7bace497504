/**
 * Retries quarantined rows after an upgrade or on request. A row that can be read now may be
 * outdated, so it is not written: it leaves the quarantine, and its source is read again (its
 * order, or its stream with every row compared).
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { z } from 'zod';
import { type ReadRow, rowReader } from '../client/rows.ts';
import { type MemberName, variantSchema } from '../client/v1/schemas.ts';
import { variantReader } from '../client/v1/variant-form.ts';
import type { Clock } from '../lib/clock.ts';
import { isJsonObject, isTooDeep, tryParseJson } from '../lib/json.ts';
import { invalidateDigests } from '../mirror/list.ts';
import { dropQuarantined } from '../mirror/quarantine.ts';
import { requestRefetches } from '../mirror/refetch-queue.ts';
import type { Store, Tx } from '../store/store.ts';
import { type Source, sourceOf } from './entities.ts';

/** Caches the compiled readers of the sources, because compiling is slow. */
function createReaders(names: readonly MemberName[]): (source: Source) => ReadRow<unknown> {
  const readVariant = variantReader(names);
  const readers = new Map<z.ZodType, ReadRow<unknown>>();
  return ({ schema }) => {
    if (schema === variantSchema) return readVariant;
    const reader = readers.get(schema) ?? rowReader(schema);
    readers.set(schema, reader);
    return reader;
  };
}

/** Number of quarantined rows that one transaction retries. */
const SLICE = 200;

interface Understood {
  readonly id: number;
  readonly raw: unknown;
  readonly source: Source;
}

function orderOf({ raw, source }: Understood): readonly number[] {
  const orderId = isJsonObject(raw) ? raw.orderId : undefined;
  return source.stream === undefined && typeof orderId === 'number' ? [orderId] : [];
}

async function readAgain(tx: Tx, rows: readonly Understood[], now: number): Promise<void> {
  await dropQuarantined(
    tx,
    rows.map(({ id }) => id),
  );
  const requests = rows.flatMap(orderOf).map((orderId) => ({ orderId, cause: 'sweep:quarantine' }));
  await requestRefetches(tx, requests, now);
  for (const stream of new Set(rows.flatMap(({ source }) => source.stream ?? []))) {
    await invalidateDigests(tx, stream);
    await tx
      .updateTable('stream_state')
      .set({ due_at: now })
      .where('stream', '=', stream)
      .execute();
  }
}

export interface RetryDeps {
  readonly store: Store;
  readonly clock: Clock;
  /** Member names of the account. */
  readonly names?: readonly MemberName[] | undefined;
}

/** Reads the sources of quarantined rows again; without `writes` it only counts them. */
export async function retryQuarantine(
  deps: RetryDeps,
  writes = true,
): Promise<{ readonly understood: number; readonly left: number }> {
  const { store, clock, names = [] } = deps;
  const readerOf = createReaders(names);
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
    const good = rows.flatMap(({ id, entity, raw: text }): Understood[] => {
      const source = sourceOf(entity);
      const raw = tryParseJson(text);
      if (isTooDeep(raw) || !source || 'problem' in readerOf(source)(raw)) return [];
      return [{ id, raw, source }];
    });
    if (writes && good.length > 0)
      await store.transaction((tx) => readAgain(tx, good, clock.now()));
    understood += good.length;
    left += rows.length - good.length;
    const last = rows.at(-1);
    if (!last || rows.length < SLICE) return { understood, left };
    after = last.id;
    // The database driver is synchronous, so the event loop gets a turn for the listener.
    await nextTurn();
  }
}
