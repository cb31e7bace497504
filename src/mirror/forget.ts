/**
 * Removes personal data of an order from the mirror, its change feed and the quarantine. The rows
 * stay with their numbers, so that nothing is missing to those who count; hashes stay, because
 * decisions name them.
 */
import { sql } from 'kysely';
import { isJsonObject, tryParseJson } from '../lib/json.ts';
import { caseKey, caseSpellings } from '../lib/strings.ts';
import { inKeys } from '../store/bulk.ts';
import type { Db, Tx } from '../store/store.ts';
import { forgetPeople, keysOfWords, peopleIn } from '../store/tables/people.ts';
import { OF_ORDERS } from './catalog/entities.ts';
import { appendChanges } from './entity.ts';
import type { EntityDefinition } from './rows/prepared.ts';
import { SALES_ORDER } from './sales-order.ts';

interface MirroredOrder {
  readonly orderId: number;
  readonly reference: string | null;
}

/** Orders with this reference, compared without regard to case; `id:7` names one by its id. */
export async function ordersNamed(db: Db, name: string): Promise<MirroredOrder[]> {
  const id = /^id:(\d{1,15})$/.exec(name)?.[1];
  const rows = await db
    .selectFrom('sales_order')
    .select(['order_id as orderId', 'reference'])
    .where(
      id === undefined
        ? sql<boolean>`reference collate nocase in (${sql.join(caseSpellings(name))})`
        : sql<boolean>`order_id = ${Number(id)}`,
    )
    .orderBy('order_id')
    .execute();
  const key = caseKey(name);
  return rows.filter(({ reference }) => id !== undefined || caseKey(reference ?? '') === key);
}

/** Keys of the rows that belong to an order, by the name of the entity. */
export type OrderKeys = ReadonlyMap<string, readonly number[]>;

/** Keys of the order and of its deliveries, refunds and pending refunds. */
export async function keysOfOrder(db: Db | Tx, orderId: number): Promise<OrderKeys> {
  const keys = new Map<string, readonly number[]>();
  for (const { entity, table, key } of OF_ORDERS) {
    const { rows } = await sql<{ readonly key: number }>`
      select ${sql.ref(key)} as key from ${sql.table(table)} where order_id = ${orderId}`.execute(
      db,
    );
    keys.set(
      entity,
      rows.map((row) => row.key),
    );
  }
  return keys;
}

/**
 * Describes in words each part of an order that the service has not finished; empty: the order is
 * over.
 */
export async function unfinishedParts(db: Db | Tx, orderId: number): Promise<string[]> {
  const { rows } = await sql<{ readonly what: string }>`
    select 'order ' || order_id || ' is ' || status as what from sales_order
      where order_id = ${orderId} and completed = 0 and deleted_at is null
        and status not in ('fulfilled', 'canceled')
    union all
    select 'delivery ' || order_delivery_id || ' is ' || status from delivery
      where order_id = ${orderId} and deleted_at is null
        and status not in ('accepted', 'rejected', 'canceled')
    union all
    select 'refund ' || order_refund_id || ' is ' || status from refund
      where order_id = ${orderId} and deleted_at is null
        and status not in ('accepted', 'rejected', 'canceled')
    union all
    select 'pending refund ' || pending_refund_id || ' is ' || status from pending_refund
      where order_id = ${orderId} and deleted_at is null
        and status not in ('confirmed', 'canceled')
    union all
    select 'order ' || order_id || ' is about to be read again' from refresh
      where order_id = ${orderId}`.execute(db);
  return rows.map(({ what }) => what);
}

/**
 * Removes personal data from the diff of a feed entry: whole columns, and the unmodelled members of
 * lines.
 */
function blankedDiff({ table }: EntityDefinition, text: string): string {
  const diff = tryParseJson(text);
  if (!isJsonObject(diff)) return '{}';
  const { lines, ...rest } = diff;
  const kept = Object.entries(rest).filter(([member]) => !Object.hasOwn(peopleIn(table), member));
  const bare = (list: unknown): unknown =>
    Array.isArray(list)
      ? list.map((line) =>
          isJsonObject(line) && 'extra' in line ? { ...line, extra: '{}' } : line,
        )
      : list;
  const ofLines = Array.isArray(lines) ? { lines: lines.map(bare) } : {};
  return JSON.stringify({ ...Object.fromEntries(kept), ...ofLines });
}

async function forgetChanges(
  tx: Tx,
  definition: EntityDefinition,
  keys: readonly number[],
): Promise<void> {
  const rows = await tx
    .selectFrom('change')
    .select(['seq', 'diff'])
    .where('entity', '=', definition.entity)
    .where(inKeys('key', keys.map(String)))
    .where('diff', '!=', '{}')
    .execute();
  for (const { seq, diff } of rows) {
    const blank = blankedDiff(definition, diff);
    await tx.updateTable('change').set({ diff: blank }).where('seq', '=', seq).execute();
  }
}

async function forgetRows(
  tx: Tx,
  { table, key, lines }: EntityDefinition,
  keys: readonly number[],
): Promise<void> {
  await forgetPeople(tx, table, inKeys(key, keys));
  if (lines) await forgetPeople(tx, lines.table, inKeys(key, keys));
}

/** Words of an address that name its people; shorter ones are in too many others. */
const WORD_CHARS_MIN = 4;
const NAMING = ['lastName', 'company', 'email', 'phone', 'mobile', 'address'];

/** Words by which texts name the people of an order, as far as an address or a name has them. */
export function namingWords(address: unknown, ...names: readonly unknown[]): readonly string[] {
  const own = isJsonObject(address) ? NAMING.map((name) => address[name]) : [];
  return [...names, ...own]
    .filter((word) => typeof word === 'string' && word.trim().length >= WORD_CHARS_MIN)
    .map((word) => String(word).trim());
}

/**
 * Words by which texts name the people of an order of the mirror; undefined: it tells of nobody, as
 * one that was forgotten before.
 */
export async function wordsOfOrder(tx: Tx, orderId: number) {
  const order = await tx
    .selectFrom('sales_order')
    .select(['comment', 'company', 'shipping_address', 'extra'])
    .where('order_id', '=', orderId)
    .executeTakeFirst();
  const blank = peopleIn('sales_order');
  if (Object.entries(order ?? {}).every(([name, value]) => value === blank[name])) return undefined;
  return namingWords(tryParseJson(order?.shipping_address ?? ''), order?.company);
}

/** Blanks quarantined rows that name people of the order, whose number cannot be read there. */
async function forgetUnread(tx: Tx, orderId: number): Promise<void> {
  const words = (await wordsOfOrder(tx, orderId)) ?? [];
  if (words.length === 0) return;
  const theirs = sql<boolean>`exists (select 1 from json_each(${keysOfWords(words)}) w
    where instr(case_key(raw), w.value) > 0)`;
  const entities = OF_ORDERS.map(({ entity }) => sql.lit(entity));
  // A row with the number of another order is that one's.
  const number = sql`case when json_valid(raw) then raw->>'orderId' end`;
  const isUnread = sql`(${number} is null or ${number} glob '*[^0-9]*')`;
  const all = sql<boolean>`entity in (${sql.join(entities)}) and ${isUnread} and ${theirs}`;
  await forgetPeople(tx, 'quarantine', all);
}

/** Blanks the personal data that the mirror has of an order and of all that belongs to it. */
export async function forgetMirrored(
  tx: Tx,
  orderId: number,
  keys: OrderKeys,
  at: number,
): Promise<void> {
  await forgetUnread(tx, orderId);
  for (const definition of OF_ORDERS) {
    const own = keys.get(definition.entity) ?? [];
    await forgetRows(tx, definition, own);
    await forgetChanges(tx, definition, own);
    await tx
      .deleteFrom('quarantine')
      .where('entity', '=', definition.entity)
      .where(sql<boolean>`case when json_valid(raw) then raw->>'orderId' end = ${orderId}`)
      .execute();
  }
  await tx
    .updateTable('sales_order')
    .set({ forgotten_at: at })
    .where('order_id', '=', orderId)
    .execute();
  const diff = JSON.stringify({ forgotten_at: [null, at] });
  const entry = { key: String(orderId), op: 'update', diff } as const;
  await appendChanges(tx, [entry], { at, entity: SALES_ORDER.entity, cause: 'forget' });
}
