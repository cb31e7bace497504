/**
 * Rows of the stock that were written apart from its list (what was just ordered is read at once).
 * The list may show such a row as it did before, in the same bytes: then its digest would prove
 * what is wrong. Before a run begins, the segments of these rows lose their proof. Which rows they
 * are stands in the change feed; how far it was read is kept.
 */
import { sql } from 'kysely';
import type { Clock } from '../../lib/clock.ts';
import { readState, writeState } from '../../store/state.ts';
import type { Db, Store } from '../../store/store.ts';
import { ORDERED_SOURCE } from './variant.ts';

const READ_KEY = 'stock.apart_seq';

interface Apart {
  readonly keys: readonly string[];
  /** One of them may not be in the list at all. */
  readonly hasNew: boolean;
  /** The end of the feed. */
  readonly to: number;
}

async function apartSince(db: Db, from: number): Promise<Apart> {
  const newest = await db
    .selectFrom('change')
    .select((eb) => eb.fn.max<number | null>('seq').as('seq'))
    .executeTakeFirst();
  const to = newest?.seq ?? 0;
  // The plus keeps it off the index by entity, which would read everything ever told of the stock.
  const { rows } = await sql<{ readonly key: string; readonly op: string }>`
    select distinct key, op from change where seq > ${from} and seq <= ${to}
      and +entity = 'stock_variant' and cause = ${ORDERED_SOURCE}`.execute(db);
  const keys = [...new Set(rows.map(({ key }) => key))];
  return { keys, hasNew: rows.some(({ op }) => op !== 'update'), to };
}

async function segmentsWith(db: Db, stream: string, { keys, hasNew }: Apart): Promise<number[]> {
  if (keys.length === 0) return [];
  const list = JSON.stringify(keys);
  const { rows } = await sql<{ readonly first_row: number }>`
    select first_row from segment where stream = ${stream} and (
      (${Number(hasNew)} = 1 and first_row = 0) or exists (
        select 1 from json_each(segment.keys) k
        where k.value in (select value from json_each(${list}))))`.execute(db);
  return rows.map(({ first_row }) => first_row);
}

/** Call it before the first page of a run of the stock. */
export async function distrustApart(store: Store, clock: Clock, stream: string): Promise<void> {
  const from = Number((await readState(store.db, READ_KEY)) ?? 0);
  const apart = await apartSince(store.db, from);
  if (apart.to === from) return;
  const firstRows = JSON.stringify(await segmentsWith(store.db, stream, apart));
  await store.transaction(async (tx) => {
    // Without its keys the first segment is another one than before, so that the run asks which
    // rows the list does not have.
    await sql`update segment set digest = null,
      keys = iif(${Number(apart.hasNew)} = 1 and first_row = 0, '[]', keys)
      where stream = ${stream}
        and first_row in (select value from json_each(${firstRows}))`.execute(tx);
    await writeState(tx, READ_KEY, String(apart.to), clock);
  });
}
