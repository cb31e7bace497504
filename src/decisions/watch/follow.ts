/**
 * Follows the change feed of the mirror: each row that changed makes exactly the decisions old
 * that rest on it. Also finds who changed a delivery's status: what was not our push was somebody
 * in the service (see `external.ts`).
 *
 * Goes by a cursor and in slices, so that a stock pull with a hundred thousand changes delays no
 * decision by more than a few of them. Most slices concern nobody; to see that needs no
 * transaction, which waits for the disk. It is as good as one that found nothing to mark: whoever
 * comes to rest on these rows later reads them as they are by then. So the cursor is in memory,
 * and written down with the marks or when it has come far. A kill repeats the look at those
 * slices, which does no harm: a delivery is not decided twice on the same facts.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { sql } from 'kysely';
import { inKeys } from '../../store/bulk.ts';
import { readState, writeStateAt } from '../../store/state.ts';
import type { Db, Store, Tx } from '../../store/store.ts';
import { ORDER_STATUSES } from '../facts/order.ts';
import { changedRuns } from '../holds/changes.ts';
import { endHolds } from '../holds/holds.ts';
import { resolveReturned, resolveUndecidable } from '../incidents.ts';
import { type ExternalContext, noteExternal } from './external.ts';
import {
  hasAccountsLeft,
  hasConcerned,
  markAccountsLeft,
  markCompetitors,
  markConcerned,
  markReleased,
  markWaiting,
  type Stretch,
} from './mark.ts';
import { type Reads, readsOf } from './reads.ts';

/** Entries of the feed that are looked at, or handled, at once. */
const SLICE_ROWS = 2_000;
/** Entries by which the cursor may be ahead of the one that is written down. */
const AHEAD = 50_000;
/** Changes of a status among them, whose author is looked for one by one. */
const AUTHORS = 50;
/** Slices between two looks at what is due. */
const SLICES = 5;

const CURSOR_KEY = 'decisions_feed_seq';
/** The standing of the streams that was followed last. */
const STANDING_KEY = 'decisions_standing';
/** When the whole read of a stream began that was followed last. */
const READ_KEYS = {
  stock: 'decisions_stock_read_at',
  seasons: 'decisions_seasons_read_at',
} as const;

async function readNumber(tx: Db | Tx, key: string): Promise<number> {
  return Number((await readState(tx, key)) ?? 0);
}

function writeNumber(tx: Tx, key: string, value: number, now: number): Promise<void> {
  return writeStateAt(tx, key, String(value), now);
}

/** What is decided, or gone, is held by nobody and waits for nothing. */
async function forgetDecided(
  tx: Tx,
  deliveries: readonly number[],
  { accepted }: Reads,
  now: number,
): Promise<void> {
  const done = await tx
    .selectFrom('delivery')
    .select(['order_delivery_id', 'status', 'deleted_at'])
    .where(inKeys('order_delivery_id', deliveries))
    .where((eb) => eb.or([eb('status', '!=', 'pending'), eb('deleted_at', 'is not', null)]))
    .execute();
  const ids = done.map((row) => row.order_delivery_id);
  if (ids.length === 0) return;
  await endHolds(tx, ids, now);
  const waits = (row: (typeof done)[number]): boolean =>
    accepted && row.status === 'accepted' && row.deleted_at === null;
  const settled = done.filter((row) => !waits(row));
  const settledIds = settled.map((row) => row.order_delivery_id);
  await resolveUndecidable(tx, settledIds, now);
  await resolveReturned(tx, settledIds, now);
  await tx
    .updateTable('evaluation')
    .set({ due_at: null, due_why: null })
    .where(inKeys('order_delivery_id', settledIds))
    .where('due_at', 'is not', null)
    .execute();
}

interface Slice extends Stretch {
  /** Nothing stands behind it. */
  readonly isLast: boolean;
  readonly entities: ReadonlySet<string>;
}

async function boundsOf(tx: Tx, after: number, rowsMax: number): Promise<Slice> {
  const { rows } = await sql<{
    readonly last: number | null;
    readonly n: number;
    readonly entities: string;
  }>`select max(seq) as last, count(*) as n, group_concat(distinct entity) as entities
    from (select seq, entity from change where seq > ${after} order by seq limit ${rowsMax})
    `.execute(tx);
  const { last, n = 0, entities } = rows[0] ?? {};
  const named = new Set(entities?.split(','));
  return { after, last: last ?? after, isLast: n < rowsMax, entities: named };
}

/** Deliveries whose status changed. */
async function movedIn(tx: Tx, { after, last }: Stretch) {
  const moved = await sql<{ readonly seq: number; readonly id: number }>`
    select seq, cast(key as integer) as id from change
    where seq > ${after} and seq <= ${last} and +entity = 'delivery' and op = 'update'
      and diff->>'$.status[1]' is not null
    order by seq limit ${AUTHORS + 1}`.execute(tx);
  return moved.rows;
}

/** All that is left, while there are no deliveries: a first pull concerns nobody. */
async function restForNobody(tx: Tx, after: number): Promise<Slice | undefined> {
  const one = tx.selectFrom('delivery').select('order_delivery_id').limit(1);
  if (await one.executeTakeFirst()) return undefined;
  const end = tx.selectFrom('change').select((eb) => eb.fn.max('seq').as('last'));
  const { last } = await end.executeTakeFirstOrThrow();
  return { after, last: Math.max(after, last ?? 0), isLast: true, entities: new Set() };
}

/** As much as can be handled at once without keeping others waiting. */
async function nextSlice(tx: Tx, after: number): Promise<Slice> {
  const rest = await restForNobody(tx, after);
  if (rest) return rest;
  const slice = await boundsOf(tx, after, SLICE_ROWS);
  if (!slice.entities.has('delivery')) return slice;
  const tooMany = (await movedIn(tx, slice))[AUTHORS];
  return tooMany ? { ...slice, last: tooMany.seq - 1, isLast: false } : slice;
}

/** Whether {@link followSlice} would have anything to do. */
async function concernsAnybody(tx: Tx, slice: Slice, reads: Reads, now: number): Promise<boolean> {
  if (slice.entities.has('delivery')) return true;
  for (const entity of reads.entities) {
    if (!slice.entities.has(entity)) continue;
    if (await hasConcerned(tx, entity, slice, reads, now)) return true;
  }
  if (!slice.entities.has('sales_order')) return false;
  if ((await understoodIn(tx, slice)).length > 0) return true;
  return reads.credit && hasAccountsLeft(tx, slice);
}

/**
 * Deliveries of orders that had a status which nobody knows, and to which something was done that
 * is not told yet: now it can be. There may be thousands of such orders at once.
 */
async function understoodIn(tx: Tx, { after, last }: Stretch): Promise<readonly number[]> {
  const { rows } = await sql<{ readonly id: number }>`
    select distinct d.order_delivery_id id from change c
    join delivery d on d.order_id = cast(c.key AS integer)
    where c.seq > ${after} and c.seq <= ${last} and +c.entity = 'sales_order'
      and c.diff->>'$.status[0]' not in (${sql.join(ORDER_STATUSES)})
      and exists (select 1 from change s where s.entity = 'delivery'
        and s.key = cast(d.order_delivery_id AS text) and s.op = 'update'
        and s.seq > coalesce((select e.feed_seq from evaluation e
          where e.order_delivery_id = d.order_delivery_id), 0)
        and s.diff->>'$.status[1]' is not null)`.execute(tx);
  return rows.map(({ id }) => id);
}

async function deliveriesIn(tx: Tx, { after, last }: Stretch): Promise<readonly number[]> {
  const { rows } = await sql<{ readonly id: number }>`
    select distinct cast(key as integer) as id from change
    where seq > ${after} and seq <= ${last} and +entity = 'delivery'`.execute(tx);
  return rows.map(({ id }) => id);
}

async function followSlice(
  tx: Tx,
  context: ExternalContext,
  reads: Reads,
  slice: Slice,
): Promise<void> {
  const { now } = context;
  for (const entity of reads.entities) {
    if (slice.entities.has(entity)) await markConcerned(tx, entity, slice, reads, now);
  }
  if (slice.entities.has('delivery')) {
    const deliveries = await deliveriesIn(tx, slice);
    await forgetDecided(tx, deliveries, reads, now);
    const moved = await movedIn(tx, slice);
    for (const id of new Set(moved.map((one) => one.id))) await noteExternal(tx, context, id);
    await markCompetitors(tx, deliveries, reads, { now, seq: slice.last });
    await markReleased(tx, slice, reads, now);
  }
  if (slice.entities.has('sales_order')) {
    for (const id of await understoodIn(tx, slice)) await noteExternal(tx, context, id);
    await markAccountsLeft(tx, slice, reads, now);
  }
  await writeNumber(tx, CURSOR_KEY, slice.last, now);
}

/** A whole read of the stream that was not followed yet, and the one before it. */
async function newRead(db: Db | Tx, stream: keyof typeof READ_KEYS) {
  const state = await db
    .selectFrom('stream_state')
    .select('complete_at')
    .where('stream', '=', stream)
    .executeTakeFirst();
  const [readAt, seen] = [state?.complete_at ?? 0, await readNumber(db, READ_KEYS[stream])];
  return readAt === seen ? undefined : { readAt, seen };
}

/**
 * What decisions rest on that stands in no row of a list, if it is another than was followed last:
 * the runs that they wait for, and whether what the stock does not list is none.
 */
async function newStanding(db: Db | Tx): Promise<string | undefined> {
  const runs = (await changedRuns(db)).map((run) => run.run_id).join();
  const stock = await db
    .selectFrom('stream_state')
    .select(['unlisted', 'complete_at'])
    .where('stream', '=', 'stock')
    .executeTakeFirst();
  const unlisted = stock?.complete_at ? stock.unlisted : null;
  const standing = `${runs} ${unlisted ?? 'unknown'}`;
  const followed = (await readState(db, STANDING_KEY)) ?? ' unknown';
  return standing === followed ? undefined : standing;
}

async function newReads(db: Db | Tx, reads: Reads) {
  const stock = reads.pieces ? await newRead(db, 'stock') : undefined;
  const seasons = reads.entities.has('season') ? await newRead(db, 'seasons') : undefined;
  // That a season is not listed is known from the first one on; the feed says it of none.
  const first = seasons?.seen === 0 ? seasons : undefined;
  return { stock, seasons: first, standing: await newStanding(db) };
}

function isNews({ stock, seasons, standing }: Awaited<ReturnType<typeof newReads>>): boolean {
  return stock !== undefined || seasons !== undefined || standing !== undefined;
}

/** What a whole read has told that stands in no entry of the feed. */
async function followReads(tx: Tx, reads: Reads, now: number): Promise<void> {
  const { stock, seasons, standing } = await newReads(tx, reads);
  if (standing !== undefined) {
    await markWaiting(tx, reads, now);
    await writeStateAt(tx, STANDING_KEY, standing, now);
  }
  if (seasons) {
    await markWaiting(tx, reads, now);
    await writeNumber(tx, READ_KEYS.seasons, seasons.readAt, now);
  }
  if (!stock) return;
  // A stock that was read anew includes what was shipped before, or completed without a parcel: it
  // counts no more against it.
  const claims = await tx
    .selectFrom('delivery')
    .select('order_delivery_id')
    .where('status', '=', 'accepted')
    .where(
      sql<boolean>`(changed_at >= ${stock.seen} or tracking_numbers = '[]' and exists (
        select 1 from sales_order o where o.order_id = delivery.order_id and o.completed = 1
          and o.changed_at >= ${stock.seen}))`,
    )
    .where('deleted_at', 'is', null)
    .execute();
  const ids = claims.map((row) => row.order_delivery_id);
  await markCompetitors(tx, ids, reads, { now });
  await writeNumber(tx, READ_KEYS.stock, stock.readAt, now);
}

export interface Follower {
  /** Handles some of what is new; false when the feed has more. */
  follow(): Promise<boolean>;
}

/** Goes on behind the cursor in the database. */
export function createFollower(store: Store, contextNow: () => ExternalContext): Follower {
  let at: number | undefined;
  let written = 0;
  /** Whether that was the end of the feed. */
  const goOn = async (): Promise<boolean> => {
    if (at === undefined) at = written = await readNumber(store.db, CURSOR_KEY);
    const from = at;
    const { now, rules } = contextNow();
    const reads = readsOf(rules.ruleSet);
    const { slice, isOf } = await store.snapshot(async (tx) => {
      const slice = await nextSlice(tx, from);
      return { slice, isOf: await concernsAnybody(tx, slice, reads, now) };
    });
    if (isOf) {
      await store.transaction((tx) => {
        const context = contextNow();
        return followSlice(tx, context, readsOf(context.rules.ruleSet), slice);
      });
      written = slice.last;
    } else if (slice.last - written >= AHEAD) {
      await store.transaction((tx) => writeNumber(tx, CURSOR_KEY, slice.last, now));
      written = slice.last;
    }
    at = slice.last;
    return slice.isLast;
  };
  return {
    async follow() {
      for (let slice = 0; slice < SLICES; slice += 1) {
        const isLast = await goOn();
        // The driver is synchronous: others have their turn between two slices.
        await nextTurn();
        if (!isLast) continue;
        const reads = readsOf(contextNow().rules.ruleSet);
        if (!isNews(await newReads(store.db, reads))) return true;
        await store.transaction((tx) => {
          const { rules, now } = contextNow();
          return followReads(tx, readsOf(rules.ruleSet), now);
        });
        return true;
      }
      return false;
    },
  };
}
