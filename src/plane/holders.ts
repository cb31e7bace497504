/** Names the sessions that keep a lock of the plane from others, so that somebody can end them. */
import { z } from 'zod';
import { SelvedgeError } from '../lib/errors.ts';
import { formatDuration } from '../lib/units.ts';
import { asPlaneError } from './refusal.ts';

/** Sessions that hold tables or views of the schema, the oldest transaction first. */
const HOLDERS = `
select a.pid, coalesce(a.usename, a.backend_type) AS name, a.application_name AS program,
  a.state, floor(extract(epoch from clock_timestamp() - a.xact_start) * 1000)::float8 AS ms,
  array_to_json((array_agg(distinct c.relname::text))[1:4]) AS relations
from pg_locks l
join pg_class c on c.oid = l.relation and c.relkind in ('r', 'v')
join pg_stat_activity a on a.pid = l.pid
where l.granted and l.pid <> pg_backend_pid()
  and l.database = (select oid from pg_database where datname = current_database())
  and c.relnamespace = to_regnamespace(current_setting('search_path'))
group by a.pid, a.usename, a.backend_type, a.application_name, a.state, a.xact_start
order by a.xact_start nulls last, a.pid
limit 3`;

const HOLDER = z.object({
  pid: z.number(),
  name: z.string().nullable(),
  program: z.string().nullable(),
  // PostgreSQL tells the state of other users' sessions only to those who may see all.
  state: z.string().nullable(),
  ms: z.number().nullable(),
  relations: z.array(z.string()),
});

function describe({ pid, name, program, state, ms, relations }: z.output<typeof HOLDER>): string {
  const since = ms === null ? '' : ` for ${formatDuration(Math.max(0, ms))}`;
  const parts = [name, program, state && `${state}${since}`].filter(Boolean);
  const [first, second, third, more] = relations;
  const names = [first, second, third].filter(Boolean).join(', ');
  return `session ${pid} (${parts.join(', ')}) holds ${names}${more === undefined ? '' : ', …'}`;
}

type Ask = (text: string) => Promise<{ readonly rows: readonly unknown[] }>;

/** The error itself, or where a lock was not given one that names who has it. */
export async function namingHolders(thrown: unknown, ask: Ask): Promise<unknown> {
  if (!(thrown instanceof SelvedgeError) || thrown.code !== 'plane.locked') return thrown;
  try {
    const { rows } = await ask(HOLDERS);
    const found = z.array(HOLDER).parse(rows);
    if (found.length === 0) return thrown;
    return asPlaneError(thrown.cause, `a lock is not free: ${found.map(describe).join('; ')}`);
  } catch {
    // The lock is what is told; who has it may be asked again next time.
    return thrown;
  }
}
