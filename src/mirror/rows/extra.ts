/**
 * Unmodelled members of variants: the sizes of one colour share them, and repeating them made up
 * three quarters of a variant's size. Neighbouring rows that agree refer to one entry of
 * `variant_extra`; views give every row its own. An entry counts its rows and is deleted with the
 * last one (by a trigger). Older rows keep their own copy until they change.
 */
import { sql } from 'kysely';
import { canonicalJson, tryParseJson } from '../../lib/json.ts';
import { type BulkRows, inKeys, insertBulk, type SqlRow, type SqlValue } from '../../store/bulk.ts';
import type { Tx } from '../../store/store.ts';
import type { ListTable, PreparedRow } from './prepared.ts';

/** Compares JSON regardless of member order, which carries no meaning. */
export function isSameExtra(old: SqlValue, now: SqlValue): boolean {
  const text = (value: SqlValue): string => canonicalJson(tryParseJson(String(value)));
  return old === now || text(old) === text(now);
}

async function nextId(tx: Tx): Promise<number> {
  const { last } = await tx
    .selectFrom('variant_extra')
    .select((eb) => eb.fn.max<number | null>('extra_id').as('last'))
    .executeTakeFirstOrThrow();
  return (last ?? 0) + 1;
}

/**
 * Adds entries, a JSON array of `[extra, number of rows]`; returns the first id, the others follow.
 */
export async function addExtras(tx: Tx, extras: BulkRows['rows']): Promise<number> {
  const from = await nextId(tx);
  await insertBulk(tx, {
    table: 'variant_extra',
    columns: ['extra', 'uses'],
    jsonColumns: ['extra'],
    numbered: { column: 'extra_id', from },
    rows: extras,
  });
  return from;
}

/** Entry id of each row: its previous one if the content is the same, else a new one. */
export async function extraIdsOf(
  tx: Tx,
  rows: readonly PreparedRow[],
  before: ReadonlyMap<SqlValue, SqlRow>,
): Promise<readonly SqlValue[]> {
  const kept = rows.map(({ key, extra }) => {
    const old = before.get(key);
    return old && isSameExtra(old.extra ?? null, extra) ? (old.extra_id ?? null) : null;
  });
  const uses = new Map<string, number>();
  for (const [at, { extra }] of rows.entries()) {
    if (kept[at] === null) uses.set(extra, (uses.get(extra) ?? 0) + 1);
  }
  if (uses.size === 0) return kept;
  const entries = [...uses].map(([extra, count]) => `[${extra},${count}]`);
  const first = await addExtras(tx, `[${entries.join(',')}]`);
  const ids = new Map([...uses.keys()].map((extra, at) => [extra, first + at]));
  return rows.map(({ extra }, at) => kept[at] ?? ids.get(extra) ?? null);
}

/** Rows of a variants table by key, with their shared members filled in. */
export async function selectWithExtra(
  tx: Tx,
  { table, key }: ListTable,
  keys: readonly SqlValue[],
): Promise<readonly SqlRow[]> {
  const found = await sql<SqlRow>`select r.*, e.extra as shared from ${sql.table(table)} r
    left join variant_extra e on e.extra_id = r.extra_id
    where ${inKeys(`r.${key}`, keys)}`.execute(tx);
  return found.rows.map(({ shared, ...row }) => ({ ...row, extra: shared ?? row.extra ?? null }));
}
