/**
 * A row that stands in two segments: the list moved while it was read, or a run that was cut off
 * has left new segments beside old ones. The mirror has what came last. Once the row is in one
 * place again, in the bytes of before, the digest of that place would prove what is wrong.
 */
import { sql } from 'kysely';
import type { Store } from '../../store/store.ts';

/** Takes the proof from segments that share a row. Looks through the keys of all segments. */
export async function distrustTwice(store: Store, stream: string): Promise<void> {
  const { rows } = await sql<{ readonly part: string; readonly first_row: number }>`
    select distinct part, first_row from segment, json_each(segment.keys) k
    where stream = ${stream} and k.value in (
      select k.value from segment, json_each(segment.keys) k where stream = ${stream}
      group by 1 having count(*) > 1)`.execute(store.db);
  if (rows.length === 0) return;
  const places = JSON.stringify(rows.map(({ part, first_row }) => [part, first_row]));
  await store.transaction(async (tx) => {
    await sql`update segment set digest = null
      where stream = ${stream}
        and (part, first_row) in (select value->>0, value->>1 from json_each(${places}))`.execute(
      tx,
    );
  });
}
