/** Members that decide and cannot be read (the column `unread`), by what they are. */
import { sql } from 'kysely';
import { isJsonObject, tryParseJson } from '../../lib/json.ts';
import type { Db } from '../../store/store.ts';
import type { Cause } from './cause.ts';
import { THINGS, type Thing } from './things.ts';

/** Different lists of members that are looked at: lines make many of them. */
const LISTS_MAX = 500;
const MEMBERS_MAX = 20;
const EXAMPLE_CHARS_MAX = 60;

interface Unread {
  readonly unread: string;
  readonly rows: number;
  readonly example: string | number;
}

interface Found {
  rows: number;
  readonly path: string;
  readonly example: string | number;
}

/** `fulfilledLineItems.3.price` is the same cause in whichever line. */
function memberOf(path: string): string {
  return path.replaceAll(/\.\d+(?=\.|$)/g, '');
}

async function foundIn(db: Db, { table, key }: Thing): Promise<ReadonlyMap<string, Found>> {
  const { rows: lists } = await sql<Unread>`
    select unread, count(*) rows, max(${sql.ref(key)}) example from ${sql.table(table)}
    where unread is not null and deleted_at is null
    group by unread order by rows desc limit ${LISTS_MAX}`.execute(db);
  const found = new Map<string, Found>();
  for (const { unread, rows, example } of lists) {
    const paths = tryParseJson(unread);
    const own = new Map((Array.isArray(paths) ? paths : []).map((p) => [memberOf(String(p)), p]));
    for (const [member, path] of own) {
      const known = found.get(member);
      if (known) known.rows += rows;
      else found.set(member, { rows, path: String(path), example });
    }
  }
  return found;
}

function at(value: unknown, path: readonly string[]): unknown {
  const [name, ...below] = path;
  if (name === undefined) return value;
  return isJsonObject(value) ? at(value[name], below) : undefined;
}

async function keptOf(db: Db, thing: Thing, { path, example }: Found): Promise<unknown> {
  const [head = '', index, ...below] = path.split('.');
  const lines = thing.lines?.[head];
  const isLine = lines !== undefined && index !== undefined;
  const table = isLine ? lines : thing.entity;
  const line = isLine ? sql`and line_no = ${Number(index) + 1}` : sql``;
  const column = sql.ref(head === 'shippingAddress' && index ? 'shipping_address' : 'extra');
  const { rows } = await sql<{ readonly kept: string }>`select ${column} kept
    from ${sql.table(table)} where ${sql.ref(thing.key)} = ${example} ${line}`.execute(db);
  const kept = tryParseJson(rows[0]?.kept ?? '');
  if (isLine) return at(kept, below);
  return at(kept, head === 'shippingAddress' && index ? [index, ...below] : path.split('.'));
}

async function orderOf(db: Db, { table, key }: Thing, example: string | number): Promise<unknown> {
  const { rows } = await sql<{ readonly id: number }>`select order_id id from ${sql.table(table)}
    where ${sql.ref(key)} = ${example}`.execute(db);
  return rows[0]?.id;
}

async function adviceFor(db: Db, thing: Thing, { example }: Found): Promise<string> {
  const isOfOrder = thing.path.includes('{order}');
  const order = isOfOrder ? String(await orderOf(db, thing, example)) : '';
  const name = encodeURIComponent(String(example));
  const path = thing.path.replace('{order}', order).replace('{key}', name);
  const look = `"selvedge api GET ${path}" shows it as it comes`;
  return isOfOrder ? look : `${look}; under another name: service.v1.members`;
}

export async function unreadableMembers(db: Db): Promise<readonly Cause[]> {
  const causes: Cause[] = [];
  for (const thing of THINGS) {
    const { entity, words } = thing;
    const found = [...(await foundIn(db, thing))].sort(([, a], [, b]) => b.rows - a.rows);
    for (const [member, one] of found.slice(0, MEMBERS_MAX)) {
      const raw = await keptOf(db, thing, one);
      const came = raw === undefined ? 'is missing' : `came as ${JSON.stringify(raw)}`;
      const example = `${came.slice(0, EXAMPLE_CHARS_MAX)}, for example in ${one.example}`;
      const says = `${member} of ${one.rows} ${words} cannot be read (${example}): it is unknown`;
      const advice = await adviceFor(db, thing, one);
      const detail = { says, advice, rows: one.rows };
      causes.push({ kind: 'unreadable_member', entity, key: member, detail });
    }
  }
  return causes;
}
