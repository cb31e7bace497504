/**
 * Deliveries and refunds that events announced and no read has shown yet. A replica of the service
 * may lag behind its events, so the order is read again until it shows them.
 */
import { sql } from 'kysely';
import { insertRow } from '../store/bulk.ts';
import type { Db, Tx } from '../store/store.ts';
import { kept, type Value } from '../store/transaction/kept.ts';
import { quarantinedAmong } from './quarantine.ts';

export interface Announced {
  readonly thing: 'delivery' | 'refund';
  readonly id: number;
  readonly orderId: number;
  /** Announced status; undefined: the event announced only that the delivery or refund exists. */
  readonly status?: string | undefined;
  /** Time at which the event was sent: epoch ms by the relay's clock. */
  readonly sentAt: number;
}

/**
 * Milliseconds for which a read waits for an announced delivery or refund; a sweep finds it later
 * anyway.
 */
export const UNSEEN_MS_MAX = 7_200_000;
/**
 * Milliseconds of waiting for an announced status: somebody may have changed it again before our
 * read.
 */
const STATUS_MS_MAX = 120_000;

const THINGS = {
  delivery: { table: 'delivery', key: 'order_delivery_id', member: 'orderDeliveryId' },
  refund: { table: 'refund', key: 'order_refund_id', member: 'orderRefundId' },
} as const;

const UNLESS_OLDER = `on conflict (order_id, thing, thing_id) do update
  set status = excluded.status, sent_at = excluded.sent_at, since = excluded.since
  where excluded.sent_at >= announced.sent_at`;

/**
 * Keeps the latest announcement of each delivery and refund, and ignores older ones that arrive
 * later.
 */
export async function noteAnnounced(
  tx: Tx,
  announced: readonly Announced[],
  now: number,
): Promise<void> {
  for (const { thing, id, orderId, status = null, sentAt } of announced) {
    const row = { thing, thing_id: id, order_id: orderId, status, sent_at: sentAt, since: now };
    await insertRow(tx, 'announced', row, UNLESS_OLDER);
  }
}

interface Waiting {
  readonly thing: 'delivery' | 'refund';
  readonly thing_id: number;
  readonly status: string | null;
  readonly since: number;
}

const BODY = sql`cast(body as text)`;
const OF_DELIVERY = '$.data.salesOrderDelivery';
/** Id, and number for people, of the delivery that an event is about; null: it is about none. */
const EVENT_ID = sql`iif(json_valid(${BODY}), ${BODY} ->> ${`${OF_DELIVERY}.orderDeliveryId`} + 0)`;
const EVENT_NO = sql`iif(json_valid(${BODY}), ${BODY} ->> ${`${OF_DELIVERY}.deliveryNo`} || '')`;

interface OtherId {
  readonly other: number;
  /** Id and status of the delivery in the mirror. */
  readonly id: number;
  readonly status: string | null;
}

/**
 * Finds deliveries of the order that its events name by other ids than the mirror has: some
 * accounts list deliveries under other ids. The number alone tells, so no other delivery may have
 * it, nor a second id, and no event may name a delivery by its listed id.
 */
async function otherIds(db: Db | Tx, orderId: number): Promise<OtherId[]> {
  const named = sql`(select distinct ${EVENT_ID} other, ${EVENT_NO} number from webhook_event
    where order_id = ${orderId})`;
  const { rows } = await sql<OtherId>`
    select n.other, d.order_delivery_id id, d.status
    from ${named} n join delivery d on d.delivery_no = n.number
    where n.other > 0 and trim(n.number) <> '' and d.order_id = ${orderId}
      and d.deleted_at is null
      and not exists (select 1 from ${named} o where (o.other = n.other) <> (o.number = n.number))
      and not exists (select 1 from ${named} o join delivery x on x.order_delivery_id = o.other)
      and not exists (select 1 from delivery x where x.delivery_no = n.number
        and x.order_delivery_id <> d.order_delivery_id)`.execute(db);
  const ids = rows.map(({ other }) => String(other));
  // A delivery that is listed, and cannot be read, is one of its own.
  const listed = await quarantinedAmong(db, ['delivery'], 'orderDeliveryId', ids);
  return rows.filter(({ other }) => !listed.has(String(other)));
}

/** Finds the other id by which events of the order name a mirrored delivery; undefined: none. */
export async function otherAnnouncedId(
  db: Db,
  orderId: number,
  deliveryId: number,
): Promise<number | undefined> {
  return (await otherIds(db, orderId)).find(({ id }) => id === deliveryId)?.other;
}

function shownIn({ table, key }: (typeof THINGS)[Waiting['thing']]) {
  return kept(
    (_db: Db, id: Value<number>, orderId: Value<number>) => sql<Pick<OtherId, 'status'>>`
      select status from ${sql.table(table)}
      where ${sql.ref(key)} = ${id} and order_id = ${orderId}`,
  );
}

const SHOWN = { delivery: shownIn(THINGS.delivery), refund: shownIn(THINGS.refund) };

/** Finds what was announced in the mirror; a delivery also under another id. */
async function shownOf(
  db: Db | Tx,
  orderId: number,
  { thing, thing_id: id }: Waiting,
): Promise<{ readonly status: string | null } | undefined> {
  const rows = await SHOWN[thing](db, id, orderId);
  if (rows.length > 0 || thing !== 'delivery') return rows[0];
  return (await otherIds(db, orderId)).find(({ other }) => other === id);
}

async function isSeen(
  db: Db | Tx,
  orderId: number,
  waiting: Waiting,
  now: number,
): Promise<boolean> {
  const { member } = THINGS[waiting.thing];
  const row = await shownOf(db, orderId, waiting);
  const id = String(waiting.thing_id);
  // A quarantined row proves that the delivery or refund exists.
  if (!row) return (await quarantinedAmong(db, [waiting.thing], member, [id])).has(id);
  const isOver = now - waiting.since > STATUS_MS_MAX;
  return waiting.status === null || waiting.status === row.status || isOver;
}

export interface Unseen {
  readonly thing: string;
  readonly id: number;
  /**
   * Whether the delivery or refund was waited for longer than {@link UNSEEN_MS_MAX}, so that
   * waiting ends.
   */
  readonly isGivenUp: boolean;
}

const announcedOf = kept((db: Db, orderId: Value<number>) =>
  db
    .selectFrom('announced')
    .select(['thing', 'thing_id', 'status', 'since'])
    .where('order_id', '=', orderId),
);

const endAnnounced = kept(
  (
    db: Db,
    orderId: Value<number>,
    thing: Value<Waiting['thing']>,
    id: Value<number>,
    since: Value<number>,
  ) =>
    db
      .deleteFrom('announced')
      .where('order_id', '=', orderId)
      .where('thing', '=', thing)
      .where('thing_id', '=', id)
      .where('since', '=', since),
);

/**
 * Compares the announcements of an order with what a read of it showed, and removes those that were
 * seen.
 */
export async function unseenOf(
  db: Db | Tx,
  orderId: number,
  now: number,
  withRefunds: boolean,
): Promise<readonly Unseen[]> {
  const waiting = await announcedOf(db, orderId);
  const unseen: Unseen[] = [];
  for (const one of waiting) {
    const isSkipped = one.thing === 'refund' && !withRefunds;
    if (!isSkipped && !(await isSeen(db, orderId, one, now))) {
      const isGivenUp = now - one.since > UNSEEN_MS_MAX;
      unseen.push({ thing: one.thing, id: one.thing_id, isGivenUp });
      if (!isGivenUp) continue;
    }
    await endAnnounced(db, orderId, one.thing, one.thing_id, one.since);
  }
  return unseen;
}

/** Removes all announcements of an order that will not be read. */
export async function forgetAnnounced(db: Db | Tx, orderId: number): Promise<void> {
  await db.deleteFrom('announced').where('order_id', '=', orderId).execute();
}
