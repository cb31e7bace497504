import { sql } from 'kysely';
import type { SqliteStore } from '../../src/store/store.ts';

interface Fault {
  readonly extra_id: number | null;
  readonly said: number | null;
  readonly found: number | null;
}

/** Entries of `variant_extra` that count other rows than refer to them, and rows half shared. */
export async function sharedExtraFaults({ db }: SqliteStore): Promise<readonly Fault[]> {
  const { rows } = await sql<Fault>`
    with row as (
      select extra_id, extra from stock_variant_row
      union all select extra_id, extra from season_variant_row),
    counted as (select extra_id, count(*) as n from row where extra_id is not null group by 1)
    select coalesce(e.extra_id, c.extra_id) as extra_id, e.uses as said, c.n as found
    from variant_extra e full join counted c on c.extra_id = e.extra_id where e.uses is not c.n
    union all select extra_id, null, null from row
    where (extra = '') = (extra_id is null)`.execute(db);
  return rows;
}
