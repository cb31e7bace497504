/** Reads a delivery with everything that a person needs to decide, and what became of it. */
import { sql } from 'kysely';
import { refundsSince } from '../../decisions/facts/customer.ts';
import { type DeliveryCard, deliveryCard } from '../../decisions/review/card.ts';
import { deliveryIdOf } from '../../decisions/review/deliveries.ts';
import type { DeliveryNote } from '../../decisions/review/note.ts';
import { pastCounterfactuals } from '../../decisions/simulation/replay.ts';
import { decimalOf } from '../../lib/money.ts';
import { byBarcode, sameBarcodes } from '../../mirror/catalog/spelt.ts';
import { statusWord } from '../../mirror/sales-order.ts';
import { type Counterfactual, counterfactualText } from '../../rules/analysis/counterfactuals.ts';
import { inKeys } from '../../store/bulk.ts';
import type { Db } from '../../store/store.ts';

/** The season lists alone have it; the stock list had it before; no list has it. */
export const UNLISTED = ['ahead', 'gone', 'nowhere'] as const;

/** Line of a delivery, with style, color and size for the size grid. */
export interface GridLine {
  readonly barcode: string | null;
  readonly style: string | null;
  readonly styleName: string | null;
  readonly color: string | null;
  readonly size: string | null;
  readonly packed: number | null;
  /** Pieces of the barcode that the order asks for; null: it does not name the barcode. */
  readonly ordered: number | null;
  readonly price: number | null;
  /** Pieces on hand; null where the stock list does not have it, and of a decided delivery. */
  readonly stock: number | null;
  /** Why the stock list does not have it; null: it does, or the delivery is decided. */
  readonly unlisted: (typeof UNLISTED)[number] | null;
}

/** State of the account now, as the ERP and the service know it. */
interface AccountState {
  readonly blocked: boolean;
  /** Amounts in `currency`; null: the ERP tells none. */
  readonly balance: number | null;
  readonly limit: number | null;
  readonly currency: string | null;
  readonly overdueDays: number | null;
  /** Refunds of 90 days. */
  readonly refunds: number;
}

/** Number of the account's deliveries in the last 90 days, by their end. */
interface AccountHistory {
  readonly accepted: number;
  readonly rejected: number;
  readonly held: number;
}

interface Sibling {
  readonly orderDeliveryId: number;
  readonly deliveryNo: string | null;
  readonly status: string;
  /** The status in words; "shipped" of an accepted one with a tracking number. */
  readonly state: string;
}

interface Attempt {
  readonly outboxId: number;
  readonly attempt: number;
  readonly startedAt: number;
  readonly endedAt: number | null;
  readonly class: string | null;
  readonly httpStatus: number | null;
}

export interface DeliveryView {
  readonly card: DeliveryCard;
  readonly value: number | null;
  readonly pieces: number | null;
  readonly grid: readonly GridLine[];
  readonly history: AccountHistory | null;
  readonly account: AccountState | null;
  readonly siblings: readonly Sibling[];
  /** The latest note. */
  readonly note: DeliveryNote | null;
  /** Sentences on the limits that kept the latest decision from accepting. */
  readonly missedBy: readonly string[];
  readonly attempts: readonly Attempt[];
  readonly events: readonly { readonly type: string | null; readonly receivedAt: number }[];
  readonly latestDecisionId: number | null;
  readonly contentHash: string;
  /** Whether the latest decision's push is open, so that nothing else can be decided. */
  readonly openPush: boolean;
  readonly tracking: readonly string[];
  readonly shipment: Shipment;
}

/** Pieces of one tariff number and origin in a delivery. */
interface CustomsRow {
  readonly tariffNo: string | null;
  readonly origin: string | null;
  readonly pieces: number | null;
  readonly weightKg: number | null;
  readonly value: number | null;
}

/** Whether and when a delivery was shipped, and what customs ask of it. */
interface Shipment {
  /** ISO 8601; null: it is not accepted, or nobody here decided so. */
  readonly acceptedAt: string | null;
  /** ISO 8601, of the first tracking number; null: the change feed does not tell. */
  readonly shippedAt: string | null;
  /** Hours since it was accepted; null: it has a tracking number, or is not accepted. */
  readonly waitsHours: number | null;
  readonly weightKg: number | null;
  readonly customs: readonly CustomsRow[];
}

const HISTORY_MS = 90 * 86_400_000;
/** Newest orders of a customer whose deliveries are counted. */
const HISTORY_ORDERS = 2_000;

const NAMES = ['barcode', 'style_no', 'style_name', 'color_name', 'size'] as const;

/** Variants of the barcodes; those that the stock list has, if only before, from there. */
async function variantsOf(db: Db, barcodes: readonly string[]) {
  const listed = await byBarcode(db, barcodes, (asked) =>
    db
      .selectFrom('stock_variant_row')
      .select([...NAMES, 'quantity'])
      .where(inKeys('barcode', asked))
      .where('deleted_at', 'is', null)
      .execute(),
  );
  const others = barcodes.filter((barcode) => !listed.has(barcode));
  const before = await byBarcode(db, others, (asked) =>
    db
      .selectFrom('stock_variant_row')
      .select(NAMES)
      .select(sql<null>`null`.as('quantity'))
      .where(inKeys('barcode', asked))
      .execute(),
  );
  const ahead = await byBarcode(
    db,
    others.filter((barcode) => !before.has(barcode)),
    (asked) =>
      db
        .selectFrom('season_variant_row')
        .select(NAMES)
        .select(sql<null>`null`.as('quantity'))
        .where(inKeys('barcode', asked))
        .orderBy(sql`rowid`, 'desc')
        .execute(),
  );
  return (barcode: string) => {
    const variant = listed.get(barcode) ?? before.get(barcode) ?? ahead.get(barcode);
    if (listed.has(barcode)) return { variant, unlisted: null };
    if (before.has(barcode)) return { variant, unlisted: 'gone' } as const;
    return { variant, unlisted: variant ? 'ahead' : 'nowhere' } as const;
  };
}

interface GridOf {
  readonly orderId: number;
  readonly orderDeliveryId: number;
  /** The stock of today says nothing of a delivery that is decided. */
  readonly status: string;
}

async function gridOf(db: Db, { orderId, orderDeliveryId: id, ...of }: GridOf) {
  const isOpen = of.status === 'pending';
  const lines = await db
    .selectFrom('delivery_line')
    .select(['barcode', 'fulfilled_quantity as packed', 'price'])
    .where('order_delivery_id', '=', id)
    .orderBy('line_no')
    .execute();
  const ordered = await db
    .selectFrom('sales_order_line')
    .select(['barcode', 'quantity'])
    .where('order_id', '=', orderId)
    .execute();
  const barcodesOf = (rows: readonly { readonly barcode: string | null }[]) => [
    ...new Set(rows.flatMap(({ barcode }) => barcode ?? [])),
  ];
  const variantOf = await variantsOf(db, barcodesOf(lines));
  const { nameOf } = await sameBarcodes(db, barcodesOf([...lines, ...ordered]));
  const pieces = Map.groupBy(ordered, ({ barcode }) => nameOf(barcode ?? ''));
  return lines.map(({ barcode, packed, price }): GridLine => {
    const { variant, unlisted } = variantOf(barcode ?? '');
    const wanted = barcode === null ? undefined : pieces.get(nameOf(barcode));
    const known = wanted?.flatMap(({ quantity }) => quantity ?? []) ?? [];
    return {
      barcode,
      packed,
      price: price === null ? null : decimalOf(price),
      style: variant?.style_no ?? null,
      styleName: variant?.style_name ?? null,
      color: variant?.color_name ?? null,
      size: variant?.size ?? null,
      ordered: known.length === 0 ? null : known.reduce((sum, one) => sum + one, 0),
      stock: isOpen ? (variant?.quantity ?? null) : null,
      unlisted: isOpen ? unlisted : null,
    };
  });
}

async function historyOf(db: Db, accountNo: string | null, now: number) {
  if (accountNo === null) return null;
  const { rows } = await sql<{ name: string; count: number }>`
    select iif(d.status = 'pending', iif(n.outcome = 'hold', 'held', 'open'), d.status) name,
      count(*) count
    from (select order_id from sales_order where account_no = ${accountNo}
      order by order_id desc limit ${HISTORY_ORDERS}) o
    cross join delivery d on d.order_id = o.order_id
    left join evaluation e on e.order_delivery_id = d.order_delivery_id
    left join decision n on n.decision_id = e.decision_id
    where d.deleted_at is null
      and coalesce(d.created_at, d.first_seen_at) > ${now - HISTORY_MS}
    group by 1`.execute(db);
  const count = (name: string) => Number(rows.find((row) => row.name === name)?.count ?? 0);
  return { accepted: count('accepted'), rejected: count('rejected'), held: count('held') };
}

async function accountOf(
  db: Db,
  accountNo: string | null,
  now: number,
): Promise<AccountState | null> {
  if (accountNo === null) return null;
  const row = await db
    .selectFrom('erp_customer')
    .select(['blocked', 'balance', 'credit_limit', 'currency', 'overdue_days'])
    .where('account_no', '=', accountNo)
    .where('deleted_at', 'is', null)
    .executeTakeFirst();
  const amount = (value: number | null | undefined) => (value == null ? null : decimalOf(value));
  return {
    blocked: row?.blocked === 1,
    balance: amount(row?.balance),
    limit: amount(row?.credit_limit),
    currency: row?.currency ?? null,
    overdueDays: row?.overdue_days ?? null,
    refunds: await refundsSince(db, { accountNo }, now - HISTORY_MS),
  };
}

async function siblingsOf(db: Db, orderId: number, id: number): Promise<Sibling[]> {
  const rows = await db
    .selectFrom('delivery')
    .select(['order_delivery_id as orderDeliveryId', 'delivery_no as deliveryNo', 'status'])
    .select('tracking_numbers')
    .where('order_id', '=', orderId)
    .where('order_delivery_id', '!=', id)
    .where('deleted_at', 'is', null)
    .orderBy('order_delivery_id')
    .limit(20)
    .execute();
  return rows.map(({ tracking_numbers: tracking, ...row }) => ({
    ...row,
    state: statusWord(row.status, tracking !== '[]'),
  }));
}

/** Pieces of a line that are not on hand; 0: all are, or it is not known. */
export function piecesMissing({ packed, stock }: Pick<GridLine, 'packed' | 'stock'>): number {
  return packed === null || stock === null ? 0 : Math.max(0, packed - Math.max(0, stock));
}

/** Stock of a delivery as far as it gives pause. */
export interface StockLack {
  readonly name: string;
  readonly packed: number;
  readonly missing: number;
  /** Pieces whose stock is not known, by the reason. */
  readonly unlisted: ReadonlyMap<NonNullable<GridLine['unlisted']>, number>;
}

/** Pieces missing on hand, or not known, in each of the deliveries. */
export async function stockLacks(
  db: Db,
  of: readonly (GridOf & Pick<Sibling, 'deliveryNo'>)[],
): Promise<readonly StockLack[]> {
  const all: StockLack[] = [];
  for (const one of of) {
    const lines = await gridOf(db, one);
    const unlisted = new Map<NonNullable<GridLine['unlisted']>, number>();
    for (const { unlisted: why, packed } of lines) {
      if (why !== null) unlisted.set(why, (unlisted.get(why) ?? 0) + (packed ?? 0));
    }
    const sum = (count: (line: GridLine) => number) =>
      lines.reduce((total, line) => total + count(line), 0);
    const [packed, missing] = [sum((line) => line.packed ?? 0), sum(piecesMissing)];
    const name = one.deliveryNo ?? String(one.orderDeliveryId);
    if (missing > 0 || unlisted.size > 0) all.push({ name, packed, missing, unlisted });
  }
  return all;
}

async function attemptsOf(db: Db, id: number): Promise<Attempt[]> {
  const rows = await db
    .selectFrom('outbox_attempt as a')
    .innerJoin('outbox as o', 'o.outbox_id', 'a.outbox_id')
    .select(['a.outbox_id', 'a.attempt', 'a.started_at', 'a.ended_at', 'a.class', 'a.http_status'])
    .where('o.order_delivery_id', '=', id)
    .orderBy('a.started_at')
    .limit(100)
    .execute();
  return rows.map((row) => ({
    outboxId: row.outbox_id,
    attempt: row.attempt,
    startedAt: row.started_at,
    endedAt: row.ended_at,
    class: row.class,
    httpStatus: row.http_status,
  }));
}

async function eventsOf(db: Db, orderId: number) {
  const rows = await db
    .selectFrom('webhook_event')
    .select(['type', 'received_at as receivedAt'])
    .where('order_id', '=', orderId)
    .orderBy('received_at')
    .limit(100)
    .execute();
  return rows;
}

async function shipmentOf(db: Db, id: number): Promise<Shipment> {
  const { rows } = await sql<Omit<Shipment, 'customs'>>`select accepted_at as "acceptedAt",
      shipped_at as "shippedAt", age_hours as "waitsHours", weight_kg as "weightKg"
    from v_shipment where order_delivery_id = ${id}`.execute(db);
  const customs = await sql<CustomsRow>`select tariff_no as "tariffNo", origin,
      iif(count(*) = count(pieces), sum(pieces), null) as "pieces",
      iif(count(*) = count(pieces * weight), sum(pieces * weight) / 1000.0, null) as "weightKg",
      iif(count(*) = count(amount), sum(amount), null) as "value"
    from v_delivery_line where order_delivery_id = ${id}
    group by tariff_no, origin order by tariff_no nulls last, origin nulls last`.execute(db);
  const [found] = rows;
  const none = { acceptedAt: null, shippedAt: null, waitsHours: null, weightKg: null };
  return { ...(found ?? none), customs: customs.rows };
}

const OPEN_PUSHES = new Set(['queued', 'sending', 'sent', 'in_doubt']);

function textsOf(found: readonly Counterfactual[] | undefined): readonly string[] {
  return (found ?? []).map(counterfactualText);
}

function trackingOf(text: string): string[] {
  const numbers: unknown = JSON.parse(text);
  return Array.isArray(numbers) ? numbers.map(String) : [];
}

/** Most decisions of a delivery for which programs are told the limits that prevented an accept. */
const EXPLAINED_MAX = 20;

/** Limits that would have let the delivery pass, for each of its latest decisions. */
export async function counterfactualsIn(
  db: Db,
  { card }: DeliveryView,
): Promise<Readonly<Record<string, readonly Counterfactual[]>>> {
  const ids = card.decisions.slice(0, EXPLAINED_MAX).map(({ decisionId }) => decisionId);
  return Object.fromEntries(await pastCounterfactuals(db, ids));
}

/** Reads the delivery that is named by id or number; throws when there is none. */
export async function deliveryView(db: Db, named: string, now: number): Promise<DeliveryView> {
  const id = await deliveryIdOf(db, named);
  const card = await deliveryCard(db, `id:${id}`);
  const row = await db
    .selectFrom('delivery')
    .select(['content_hash', 'tracking_numbers'])
    .where('order_delivery_id', '=', id)
    .executeTakeFirstOrThrow();
  const [latest] = card.decisions;
  const ids = latest ? [latest.decisionId] : [];
  const missed = latest?.outcome === 'accept' ? new Map() : await pastCounterfactuals(db, ids);
  const grid = await gridOf(db, { orderId: card.order.orderId, ...card });
  const isWhole = grid.every(({ packed, price }) => packed !== null && price !== null);
  const sum = (of: (line: GridLine) => number) => grid.reduce((all, line) => all + of(line), 0);
  return {
    card,
    value: isWhole ? sum(({ packed, price }) => (packed ?? 0) * (price ?? 0)) : null,
    pieces: grid.every(({ packed }) => packed !== null) ? sum(({ packed }) => packed ?? 0) : null,
    grid,
    history: await historyOf(db, card.customer.accountNo, now),
    account: await accountOf(db, card.customer.accountNo, now),
    siblings: await siblingsOf(db, card.order.orderId, id),
    note: card.notes.at(-1) ?? null,
    missedBy: textsOf(latest && missed.get(latest.decisionId)),
    attempts: await attemptsOf(db, id),
    events: await eventsOf(db, card.order.orderId),
    latestDecisionId: latest?.decisionId ?? null,
    contentHash: row.content_hash,
    openPush: latest?.push ? OPEN_PUSHES.has(latest.push.state) : false,
    tracking: trackingOf(row.tracking_numbers),
    shipment: await shipmentOf(db, id),
  };
}
