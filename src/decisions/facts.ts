/**
 * The facts of one delivery, from the mirror and the ERP's customers, in the transaction that
 * decides on them. Arithmetic that needs other rows (free stock, credit that is reserved, other
 * deliveries of the order) is done here, in SQL; what follows from the facts alone is computed by
 * the rules. What is not known is null, and never a zero or a false.
 */
import { unreadPaths } from '../mirror/rows/unread.ts';
import { othersWith } from '../mirror/shared-number.ts';
import type { Facts } from '../rules/facts/plain.ts';
import type { RuleSet } from '../rules/rule.ts';
import type { Tx } from '../store/store.ts';
import { clockFacts } from './calendar.ts';
import { customerFacts } from './facts/customer.ts';
import { lineFacts, orderLines } from './facts/lines.ts';
import { knownStatus, orderFacts, seasonFacts } from './facts/order.ts';

const DELIVERY_STATUSES = ['pending', 'accepted', 'rejected', 'canceled'] as const;

export interface Subject {
  readonly delivery: {
    readonly order_delivery_id: number;
    readonly order_id: number;
    readonly content_hash: string;
    readonly status: string;
    readonly changed_at: number;
    /** A JSON list. */
    readonly tracking_numbers: string;
  };
  readonly orderHash: string;
  /** The service no longer has the order. */
  readonly orderIsGone: boolean;
  readonly facts: Facts;
  /** Fields of the ERP's customer that are not of their declared kind. */
  readonly invalidFields: readonly string[];
}

/** Sums are unknown where the lines could not be read. */
const NO_SUMS = { quantity: null, size_quantity: null, amount: null };

/** Inputs of the facts besides the database. */
export interface FactsContext {
  /** Epoch milliseconds. */
  readonly now: number;
  /** Settings of the rule set: the calendar, and the fields that the ERP adds to its customers. */
  readonly settings: RuleSet['settings'];
}

/** Facts of a delivery, or undefined while its order is not mirrored yet. */
export async function readSubject(
  tx: Tx,
  orderDeliveryId: number,
  { now, settings }: FactsContext,
): Promise<Subject | undefined> {
  const delivery = await tx
    .selectFrom('delivery')
    .selectAll()
    .where('order_delivery_id', '=', orderDeliveryId)
    .executeTakeFirst();
  if (!delivery) return undefined;
  const lines = await orderLines(tx, delivery.order_id);
  const order = await orderFacts(tx, delivery.order_id, orderDeliveryId, lines);
  if (!order) return undefined;
  const { currency = null, season = null, account_no: accountNo = null } = order.facts;
  const customer =
    accountNo === null
      ? undefined
      : await customerFacts(tx, accountNo, orderDeliveryId, settings.customer_fields);
  const others = await othersWith(tx, 'delivery', orderDeliveryId);
  const unread = [
    ...unreadPaths(delivery.unread),
    ...others.map((orderId) => `orderDeliveryId (order ${orderId} has it as well)`),
    ...order.unread.map((path) => `order.${path}`),
  ];
  const facts: Facts = {
    delivery: {
      id: delivery.order_delivery_id,
      number: delivery.delivery_no ?? '',
      status: knownStatus(DELIVERY_STATUSES, delivery.status),
      created_at: delivery.created_at ?? delivery.first_seen_at,
      currency,
      lines: await lineFacts(tx, orderDeliveryId, { lines, currency, season }),
      ...(unread.length > 0 ? { unread } : {}),
      ...(unread.includes('fulfilledLineItems') ? NO_SUMS : {}),
    },
    order: order.facts,
    customer: customer?.facts ?? null,
    season: season === null ? null : await seasonFacts(tx, season),
    clock: clockFacts(now, settings),
  };
  const { hash, isGone } = order;
  const invalidFields = customer?.invalidFields ?? [];
  return { delivery, orderHash: hash, orderIsGone: isGone, facts, invalidFields };
}
