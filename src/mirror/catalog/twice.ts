/**
 * Finds keys that occur more than once in a list: because the list moved while it was read, because
 * an interrupted run left new chunks beside old ones, or permanently (places.ts). The mirror has
 * the last version; the digest of another place would prove nothing, so it is cleared.
 */
import { sql } from 'kysely';
import { inKeys } from '../../store/bulk.ts';
import type { Store } from '../../store/store.ts';

/** Keys per query; a list may have each of a million rows twice. */
const SLICE = 20_000;

/** Duplicate keys after `after`, in order. */
async function twiceBehind(store: Store, stream: string, after: string): Promise<string[]> {
  const { rows } = await sql<{ readonly key: string }>`select k.value key
    from segment, json_each(segment.keys) k where stream = ${stream} and k.value > ${after}
    group by 1 having count(*) > 1 order by 1 limit ${SLICE}`.execute(store.db);
  return rows.map(({ key }) => key);
}

async function distrustKeys(
  store: Store,
  stream: string,
  keys: readonly string[],
  isSummed: boolean,
): Promise<void> {
  const { rows } = await sql<{ readonly part: string; readonly first_row: number }>`
    select distinct part, first_row from segment, json_each(segment.keys) k
    where stream = ${stream} and ${inKeys('k.value', keys)}`.execute(store.db);
  const places = JSON.stringify(rows.map(({ part, first_row }) => [part, first_row]));
  await store.transaction(async (tx) => {
    await sql`update segment set digest = null where stream = ${stream} and (part, first_row)
      in (select value->>0, value->>1 from json_each(${places}))`.execute(tx);
    if (!isSummed) return;
    await sql`insert into key_twice (stream, key, is_due)
      select ${stream}, value, 1 from json_each(${JSON.stringify(keys)}) where true
      on conflict do nothing`.execute(tx);
  });
}

/**
 * Clears the digests of chunks that share a row. Scans the keys of all chunks. `isSummed`: from now
 * on the rows of such keys are kept as places.
 */
export async function distrustTwice(
  store: Store,
  stream: string,
  isSummed: boolean,
): Promise<void> {
  for (let after: string | undefined = ''; after !== undefined; ) {
    const keys: readonly string[] = await twiceBehind(store, stream, after);
    if (keys.length > 0) await distrustKeys(store, stream, keys, isSummed);
    after = keys.length < SLICE ? undefined : keys.at(-1);
  }
}
