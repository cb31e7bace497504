/**
 * A row that stands in two segments: the list moved while it was read, a run that was cut off has
 * left new segments beside old ones, or the list has it in several places for good (places.ts). The
 * mirror has what came last. Once the row is in one place again, in the bytes of before, the digest
 * of that place would prove what is wrong.
 */
import { sql } from 'kysely';
import { inKeys } from '../../store/bulk.ts';
import type { Store } from '../../store/store.ts';

/**
 * Takes the proof from segments that share a row. Looks through the keys of all segments.
 * `isSummed`: from now on the rows of such keys are kept as places, so that they can be told apart.
 */
export async function distrustTwice(
  store: Store,
  stream: string,
  isSummed: boolean,
): Promise<void> {
  const twice = await sql<{ readonly key: string }>`select k.value key
    from segment, json_each(segment.keys) k where stream = ${stream}
    group by 1 having count(*) > 1`.execute(store.db);
  if (twice.rows.length === 0) return;
  const keys = twice.rows.map(({ key }) => key);
  const { rows } = await sql<{ readonly part: string; readonly first_row: number }>`
    select distinct part, first_row from segment, json_each(segment.keys) k
    where stream = ${stream} and ${inKeys('k.value', keys)}`.execute(store.db);
  const places = JSON.stringify(rows.map(({ part, first_row }) => [part, first_row]));
  await store.transaction(async (tx) => {
    await sql`update segment set digest = null
      where stream = ${stream}
        and (part, first_row) in (select value->>0, value->>1 from json_each(${places}))`.execute(
      tx,
    );
    if (!isSummed) return;
    await sql`insert into key_twice (stream, key, is_due)
      select ${stream}, value, 0 from json_each(${JSON.stringify(keys)}) where true
      on conflict do nothing`.execute(tx);
  });
}
