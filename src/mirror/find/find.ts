/**
 * Finds orders, deliveries, customers, styles and documents of the ERP by what people know them by,
 * whatever has become of them. Numbers are found by an index in all there is; a part of a number or
 * a name in the newest orders and deliveries, so that a search costs no more as the years pass.
 */
import { type RawBuilder, sql } from 'kysely';
import type { z } from 'zod';
import { WORDS, wordFor } from '../../config/words.ts';
import { containing, plural } from '../../lib/strings.ts';
import type { Db } from '../../store/store.ts';
import { list, pageOfAll } from '../../surface/lists.ts';
import { oneOf, text, time } from '../../surface/members.ts';
import { statusWord } from '../sales-order.ts';
import { mirrored } from '../stock/members.ts';
import { styles } from '../stock/styles.ts';
import { deliveriesOf, parcelWords } from './order.ts';

/** Newest orders, and newest deliveries, in which a part of a text is looked for. */
const NEWEST = 10_000;
/** Most that is shown of each kind. */
const EACH_MAX = 20;

const KINDS = ['order', 'delivery', 'customer', 'style', 'push'] as const;

const row = {
  thing: oneOf('Found', KINDS, { words: { ...WORDS.thing, push: 'document of the ERP' } }),
  key: mirrored('Key', { about: 'By which its page and its commands name it' }),
  name: mirrored('Number or name', { opens: ['thing', 'key'] }),
  says: mirrored('What it is'),
  state: mirrored('State').nullable(),
  at: time('Ordered or packed').nullable(),
};
type Row = { readonly [K in keyof typeof row]: z.output<(typeof row)[K]> };

/** Text that is looked for, and whether the reader may know names. */
interface Asked {
  readonly q: string;
  readonly seesNames: boolean;
}

/** SQL: whether one of the columns contains the text. */
function hasIn(q: string, columns: readonly string[]): RawBuilder<boolean> {
  const like = columns.map((one) => sql`${sql.ref(one)} like ${containing(q)} escape '\\'`);
  return sql`(${sql.join(like, sql` or `)})`;
}

function idIn(q: string): number {
  return Number(/^(?:id:)?(\d{1,15})$/.exec(q)?.[1] ?? -1);
}

function known(...parts: readonly (string | null | false)[]): string {
  return parts.filter(Boolean).join(', ');
}

interface OrderFound {
  readonly id: number;
  readonly reference: string | null;
  readonly orderNo: string | null;
  readonly company: string | null;
  readonly accountNo: string | null;
  readonly status: string;
  readonly at: number;
}

async function findOrders(db: Db, { q, seesNames }: Asked): Promise<Row[]> {
  const columns = ['reference', 'order_no', ...(seesNames ? ['company'] : [])];
  const { rows } = await sql<OrderFound>`
    with found(id) AS (
      select order_id from sales_order where order_id = ${idIn(q)}
      union select order_id from sales_order where reference = ${q} collate nocase
      union select order_id from sales_order where order_no = ${q}
      union select order_id from (
        select order_id, reference, order_no, company from sales_order
        order by order_id desc limit ${NEWEST}) where ${hasIn(q, columns)})
    select order_id id, reference, order_no "orderNo", company, account_no "accountNo",
      iif(deleted_at is null, status, 'deleted') status, coalesce(created_at, first_seen_at) at
    from found cross join sales_order on order_id = id
    order by reference = ${q} collate nocase or order_no = ${q} desc, id desc
    limit ${EACH_MAX}`.execute(db);
  const all: Row[] = [];
  for (const { id, reference, orderNo, company, accountNo, status, at } of rows) {
    const parcels = await deliveriesOf(db, id, EACH_MAX);
    const name = reference || orderNo || String(id);
    const of = known(
      orderNo !== name && orderNo,
      seesNames && company,
      accountNo !== null && `customer ${accountNo}`,
      parcels.length === 0 && 'no delivery is known',
    );
    const says = [of, ...parcels.map((one) => `${one.deliveryNo}: ${parcelWords(one)}`)].join('\n');
    all.push({ thing: 'order', key: String(id), name, says, state: wordFor('status', status), at });
  }
  return all;
}

interface DeliveryFound {
  readonly id: number;
  readonly deliveryNo: string;
  readonly order: string;
  readonly company: string | null;
  readonly status: string;
  readonly tracking: string | null;
  readonly at: number;
}

async function findDeliveries(db: Db, { q, seesNames }: Asked): Promise<Row[]> {
  const { rows } = await sql<DeliveryFound>`
    with found(id) AS (
      select order_delivery_id from delivery where order_delivery_id = ${idIn(q)}
      union select order_delivery_id from delivery where delivery_no = ${q}
      union select order_delivery_id from (
        select order_delivery_id, delivery_no, tracking_numbers from delivery
        order by order_delivery_id desc limit ${NEWEST})
      where ${hasIn(q, ['delivery_no', 'tracking_numbers'])})
    select d.order_delivery_id id, coalesce(d.delivery_no, d.order_delivery_id) "deliveryNo",
      coalesce(nullif(o.reference, ''), d.order_no, d.order_id) "order", o.company,
      iif(d.deleted_at is null, d.status, 'deleted') status,
      nullif((select group_concat(t.value, ', ') from json_each(d.tracking_numbers) t), '')
        tracking,
      coalesce(d.created_at, d.first_seen_at) at
    from found cross join delivery d on d.order_delivery_id = found.id
    left join sales_order o on o.order_id = d.order_id
    order by d.delivery_no = ${q} desc, 1 desc limit ${EACH_MAX}`.execute(db);
  return rows.map(({ id, deliveryNo, order, company, status, tracking, at }) => ({
    thing: 'delivery',
    key: String(id),
    name: String(deliveryNo),
    says: known(`of order ${order}`, seesNames && company, parcelWords({ status, tracking })),
    state: statusWord(status, tracking !== null),
    at,
  }));
}

async function findCustomers(db: Db, { q, seesNames }: Asked): Promise<Row[]> {
  const columns = ['account_no', ...(seesNames ? ['company'] : [])];
  const { rows } = await sql<{ accountNo: string; company: string | null; count: number }>`
    with found(no) AS (
      select account_no from sales_order where account_no = ${q}
      union select account_no from erp_customer where account_no = ${q} and deleted_at is null
      union select account_no from (select account_no, company from sales_order
        order by order_id desc limit ${NEWEST}) where ${hasIn(q, columns)})
    select no "accountNo", (select o.company from sales_order o where o.account_no = no
        order by o.order_id desc limit 1) company,
      (select count(*) from sales_order o where o.account_no = no) count
    from found where no <> '' order by no = ${q} desc, no limit ${EACH_MAX}`.execute(db);
  return rows.map(({ accountNo, company, count }) => ({
    thing: 'customer',
    key: accountNo,
    name: (seesNames && company) || accountNo,
    says: `customer ${accountNo}, ${plural(count, 'order')}`,
    state: null,
    at: null,
  }));
}

/** Orders of the ERP that the service does not have yet, or never will. */
async function findDocuments(db: Db, q: string): Promise<Row[]> {
  const { rows } = await sql<{ id: number; reference: string; state: string; at: number }>`
    select outbox_id id, reference, state, created_at at from (
      select * from outbox where kind = 'order' order by outbox_id desc limit ${NEWEST})
    where ${hasIn(q, ['reference'])}
      and (order_id is null or order_id not in (select order_id from sales_order))
    order by id desc limit ${EACH_MAX}`.execute(db);
  return rows.map(({ id, reference, state, at }) => ({
    thing: 'push',
    key: String(id),
    name: reference,
    says: 'an order of the ERP',
    state: wordFor('pushState', state),
    at,
  }));
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

export const found = list({
  name: 'orders.find',
  operation: 'find',
  path: '/find',
  title: 'Find',
  about: 'orders, deliveries, customers and styles by what people know them by',
  more:
    'Order reference or number, delivery number, tracking number, customer number or name, style ' +
    'number or name, barcode; whatever has become of it.',
  examples: [['orders find --search PO-4711', 'the order, and where its parcels are']],
  query: {
    q: text(
      'Number or name',
      { option: 'search <text>', about: 'What to look for' },
      200,
    ).optional(),
  },
  row,
  shown: ['thing', 'name', 'says', 'state', 'at'],
  empty:
    'Nothing is found. A whole number or reference was looked for in all that there is; a part ' +
    `of one, or of a name, in the newest ${NEWEST} orders and deliveries and in all styles. Try ` +
    'a shorter part of it, the number without its letters, or the name of the customer.',
  async read(from, { q = '' }, page) {
    const asked = { q: q.trim(), seesNames: from.seesAddresses };
    if (asked.q === '') return [];
    const { rows: goods } = await styles.read(from, { q: asked.q, limit: EACH_MAX });
    const all: Row[] = [
      ...(await findCustomers(from.db, asked)),
      ...goods.map(
        ({ style, styleName, brand }): Row => ({
          thing: 'style',
          key: textOf(style),
          name: textOf(style),
          says: known(textOf(styleName), textOf(brand)),
          state: null,
          at: null,
        }),
      ),
      ...(await findOrders(from.db, asked)),
      ...(await findDocuments(from.db, asked.q)),
      ...(await findDeliveries(from.db, asked)),
    ];
    const isMeant = ({ name, key }: Row) => [name, key].some((one) => one === asked.q);
    const [meant, others] = [all.filter(isMeant), all.filter((one) => !isMeant(one))];
    return pageOfAll([...meant, ...others], page, placeOf);
  },
  place: placeOf,
});

function placeOf({ thing, key }: Pick<Row, 'thing' | 'key'>): string {
  return `${thing} ${key}`;
}
