/**
 * Follows the change feed of the mirror: each row that changed makes exactly the decisions old
 * that rest on it. Also finds who changed a delivery's status: what was not our push was somebody
 * in the service (see `external.ts`).
 *
 * Goes by a cursor in the database and in slices, so that a stock pull with a hundred thousand
 * changes delays no decision by more than a slice or two, and a kill repeats one slice at most.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { sql } from 'kysely';
import { inKeys } from '../../store/bulk.ts';
import type { Store, Tx } from '../../store/store.ts';
import { endHolds } from '../holds/holds.ts';
import { type ExternalContext, noteExternal } from './external.ts';
import { markCompetitors, markConcerned } from './mark.ts';
import { type Reads, readsOf } from './reads.ts';

/** Entries of the feed that are handled in one transaction. */
const SLICE_ROWS = 2_000;
/** Changes of a status among them, whose author is looked for one by one. */
const AUTHORS = 50;
/** Slices between two looks at what is due. */
const SLICES = 5;

const CURSOR_KEY = 'decisions_feed_seq';
const STOCK_KEY = 'decisions_stock_read_at';

async function readNumber(tx: Tx, key: string): Promise<number> {
  const row = await tx
    .selectFrom('daemon_state')
    .select('value')
    .where('key', '=', key)
    .executeTakeFirst();
  return Number(row?.value ?? 0);
}

async function writeNumber(tx: Tx, key: string, value: number, now: number): Promise<void> {
  const row = { value: String(value), updated_at: now };
  await tx
    .insertInto('daemon_state')
    .values({ key, ...row })
    .onConflict((conflict) => conflict.column('key').doUpdateSet(row))
    .execute();
}

/** The keys of a slice, by entity. */
function byEntity(rows: readonly { readonly entity: string; readonly key: string }[]) {
  const keys = new Map<string, string[]>();
  for (const { entity, key } of rows) {
    const known = keys.get(entity);
    if (known) known.push(key);
    else keys.set(entity, [key]);
  }
  return keys;
}

/** What is decided is held by nobody and waits for nothing. */
async function forgetDecided(
  tx: Tx,
  deliveries: readonly number[],
  { accepted }: Reads,
  now: number,
): Promise<void> {
  const done = await tx
    .selectFrom('delivery')
    .select(['order_delivery_id', 'status'])
    .where(inKeys('order_delivery_id', deliveries))
    .where('status', '!=', 'pending')
    .execute();
  const ids = done.map((row) => row.order_delivery_id);
  if (ids.length === 0) return;
  await endHolds(tx, ids, now);
  const settled = done.filter(({ status }) => !(accepted && status === 'accepted'));
  const settledIds = settled.map((row) => row.order_delivery_id);
  await tx
    .updateTable('evaluation')
    .set({ due_at: null, due_why: null })
    .where(inKeys('order_delivery_id', settledIds))
    .where('due_at', 'is not', null)
    .execute();
}

/** Entries of the feed that one transaction can handle without keeping others waiting. */
async function nextEntries(tx: Tx) {
  const rows = await tx
    .selectFrom('change')
    .select(['seq', 'entity', 'key'])
    .select(
      sql<string | null>`case when entity = 'delivery' and op = 'update'
      then diff->>'$.status[1]' end`.as('status'),
    )
    .where('seq', '>', await readNumber(tx, CURSOR_KEY))
    .orderBy('seq')
    .limit(SLICE_ROWS)
    .execute();
  let authors = 0;
  const tooMany = rows.findIndex(({ status }) => {
    authors += status === null ? 0 : 1;
    return authors > AUTHORS;
  });
  return tooMany < 0
    ? { rows, isLast: rows.length < SLICE_ROWS }
    : { rows: rows.slice(0, tooMany), isLast: false };
}

/** Whether that was the end of the feed. */
async function followSlice(tx: Tx, context: ExternalContext, reads: Reads): Promise<boolean> {
  const { now } = context;
  const { rows, isLast } = await nextEntries(tx);
  const last = rows.at(-1);
  if (!last) return true;
  const keys = byEntity(rows);
  const happened = { now, seq: last.seq };
  for (const entity of reads.entities) {
    await markConcerned(tx, entity, keys.get(entity) ?? [], reads, happened);
  }
  const deliveries = [...new Set(keys.get('delivery'))].map(Number);
  await forgetDecided(tx, deliveries, reads, now);
  const moved = rows.flatMap(({ key, status }) => (status === null ? [] : [Number(key)]));
  for (const id of new Set(moved)) await noteExternal(tx, context, id);
  await markCompetitors(tx, deliveries, reads, happened);
  await writeNumber(tx, CURSOR_KEY, last.seq, now);
  return isLast;
}

/** A stock that was read anew includes what was shipped before: it counts no more against it. */
async function followStockRead(tx: Tx, reads: Reads, now: number): Promise<void> {
  if (!reads.pieces) return;
  const state = await tx
    .selectFrom('stream_state')
    .select('complete_at')
    .where('stream', '=', 'stock')
    .executeTakeFirst();
  const [readAt, seen] = [state?.complete_at ?? 0, await readNumber(tx, STOCK_KEY)];
  if (readAt === seen) return;
  const claims = await tx
    .selectFrom('delivery')
    .select('order_delivery_id')
    .where('status', '=', 'accepted')
    .where('changed_at', '>=', seen)
    .where('deleted_at', 'is', null)
    .execute();
  const ids = claims.map((row) => row.order_delivery_id);
  await markCompetitors(tx, ids, reads, { now });
  await writeNumber(tx, STOCK_KEY, readAt, now);
}

/** Handles some of what is new; false when the feed has more. */
export async function followChanges(
  store: Store,
  contextNow: () => ExternalContext,
): Promise<boolean> {
  for (let slice = 0; slice < SLICES; slice += 1) {
    const isLast = await store.transaction((tx) => {
      const context = contextNow();
      return followSlice(tx, context, readsOf(context.rules.ruleSet));
    });
    // The driver is synchronous: others have their turn between two slices.
    await nextTurn();
    if (!isLast) continue;
    await store.transaction((tx) => {
      const { rules, now } = contextNow();
      return followStockRead(tx, readsOf(rules.ruleSet), now);
    });
    return true;
  }
  return false;
}
