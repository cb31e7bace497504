/**
 * The own views of the plane. A new release replaces them in place, which PostgreSQL does as long
 * as columns are only added at the end. Where it refuses, all views are dropped and made again,
 * and roles may read them as before.
 */
import { z } from 'zod';
import { RefusedError, toError } from '../lib/errors.ts';
import type { PlaneClient } from './postgres.ts';

/** A view would lose, rename or retype a column. */
const OTHER_COLUMNS = '42P16';
const IN_USE = '2BP01';

const REFUSAL = z.object({ code: z.string(), detail: z.string().optional() });

/** Code and detail of the error by which PostgreSQL refused a statement. */
function refusalOf(thrown: unknown): z.output<typeof REFUSAL> | undefined {
  const error = toError(thrown);
  return REFUSAL.safeParse(error.cause ?? error).data;
}

function namesIn(text: string): readonly string[] {
  return [...text.matchAll(/^CREATE OR REPLACE VIEW (\w+)/gm)].map(([, name = '']) => name);
}

/** Views of these names in the plane's schema, a name each for `$1`, a JSON array. */
const PRESENT = `pg_class c where c.relkind = 'v'
  and c.relnamespace = to_regnamespace(current_setting('search_path'))
  and c.relname in (select json_array_elements_text($1::json))`;

/** Statements that grant again what is granted on these views, by the name of the view. */
async function grantsOf(client: PlaneClient, names: string) {
  const { rows } = await client.query(
    `select c.relname AS name, format('grant %s on %I to %s%s', a.privilege_type, c.relname,
       case a.grantee when 0 then 'public' else quote_ident(pg_get_userbyid(a.grantee)) end,
       case when a.is_grantable then ' with grant option' else '' end) AS again
     from (select c.* from ${PRESENT}) AS c, aclexplode(c.relacl) AS a
     where a.grantee <> c.relowner`,
    [names],
  );
  return rows.map(({ name, again }) => ({ name: String(name), again: String(again) }));
}

async function dropViews(client: PlaneClient, names: string): Promise<void> {
  const { rows } = await client.query(
    `select string_agg(quote_ident(c.relname), ', ') AS names from ${PRESENT}`,
    [names],
  );
  try {
    // Together, because they depend on each other.
    await client.query(`drop view ${rows[0]?.names}`);
  } catch (thrown) {
    const refusal = refusalOf(thrown);
    if (refusal?.code !== IN_USE) throw thrown;
    const what = refusal.detail?.replaceAll('\n', '; ') ?? toError(thrown).message;
    throw new RefusedError('plane.view_in_use', `a view of the plane must be replaced: ${what}`, {
      hint: 'drop what depends on it, run "selvedge plane init", and make it again',
      cause: thrown,
    });
  }
}

/**
 * Makes the views of `text`, in the transaction of the caller. `before`: those of the release
 * before. Gives the views that are there now.
 */
export async function makeViews(
  client: PlaneClient,
  text: string,
  before: readonly string[],
): Promise<readonly string[]> {
  const made = namesIn(text);
  const all = [...new Set([...before, ...made])];
  await client.query('savepoint views');
  try {
    await client.query(text);
    return all;
  } catch (thrown) {
    if (refusalOf(thrown)?.code !== OTHER_COLUMNS) throw thrown;
  }
  await client.query('rollback to savepoint views');
  const names = JSON.stringify(all);
  const grants = await grantsOf(client, names);
  await dropViews(client, names);
  await client.query(text);
  for (const { name, again } of grants) if (made.includes(name)) await client.query(again);
  return made;
}
