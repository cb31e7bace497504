/**
 * Maps an account's deviations to the contract, by its settings: status words, time zone, member
 * names. Applied after reading; the received values stay with the row.
 */

import { STATUSES, type StatusOf } from '../../config/statuses.ts';
import { keepAsItCame, tellUnread } from '../../lib/reading/as-it-came.ts';
import { timeIn, timeOfText } from '../../lib/reading/wire-time.ts';
import type {
  CreatedOrder,
  PendingRefund,
  SalesOrder,
  SalesOrderDelivery,
  SalesOrderRefund,
} from './schemas.ts';

// Maps an account's status words to the contract: case, spaces, dashes and `cancelled` make no
// difference, other words are configured (`service.dialect.v1.statuses`). Unknown ones stay as they
// are.

/** A status word of the account, and the contract's word for it. */
interface StatusWord {
  readonly of: StatusOf;
  readonly says: string;
  readonly means: string;
}

function lettersOf(word: string): string {
  const letters = word
    .normalize('NFC')
    .toLowerCase()
    .replaceAll(/[\s_-]+/g, '');
  return letters === 'cancelled' ? 'canceled' : letters;
}

/** Returns the contract's word for an account's word. */
export function statusReader(
  kind: StatusOf,
  words: readonly StatusWord[],
): (status: string) => string {
  const own = words.filter(({ of }) => of === kind);
  const known = new Map([
    ...STATUSES[kind].map((status) => [lettersOf(status), status] as const),
    ...own.map(({ says, means }) => [lettersOf(says), means] as const),
  ]);
  return (status) => known.get(lettersOf(status)) ?? status;
}

/** A member of variants that the account calls by another name. */
export interface MemberName {
  readonly of: 'variant' | 'details';
  readonly ours: string;
  readonly theirs: string;
}

export interface Dialect {
  readonly statuses: readonly StatusWord[];
  readonly members: readonly MemberName[];
  /** IANA time zone of times that name none. */
  readonly timeZone: string;
}

export const CONTRACT: Dialect = { statuses: [], members: [], timeZone: 'UTC' };

interface Row {
  readonly status: string | null;
  readonly createdAt?: unknown;
}

interface SetStatus {
  readonly status: string;
}

interface OfOrder extends Row {
  readonly orderId: number | null;
}

/** Translates rows from the account's dialect into the contract's terms. */
export interface Interpreter {
  order(row: SalesOrder): SalesOrder;
  created(answer: CreatedOrder): CreatedOrder;
  /** Translates a delivery; `orderId` is the order that was requested. */
  delivery(row: SalesOrderDelivery, orderId: number): SalesOrderDelivery;
  refund(row: SalesOrderRefund, orderId: number): SalesOrderRefund;
  pendingRefund(row: PendingRefund, orderId: number): PendingRefund;
  /** Translates the status that the service says it has set. */
  setDelivery(set: SetStatus): SetStatus;
  setRefund(set: SetStatus): SetStatus;
}

function withMember<T extends object>(row: T, name: keyof T & string, value: unknown): T {
  if (value === row[name]) return row;
  const other = { ...row, [name]: value };
  keepAsItCame(other, name, row[name]);
  return other;
}

/**
 * Corrects the order id of a row: rows of an order's list belong to that order, whatever they name.
 */
function withOrder<T extends OfOrder>(row: T, orderId: number): T {
  if (row.orderId === orderId) return row;
  const other = { ...row, orderId };
  if (row.orderId === null) return other;
  keepAsItCame(other, 'orderId', row.orderId);
  tellUnread(other, ['orderId']);
  return other;
}

export function createInterpreter({ statuses, timeZone }: Dialect): Interpreter {
  const timeOf = timeIn(timeZone);
  const rowReader = (of: StatusOf) => {
    const statusOf = statusReader(of, statuses);
    return <T extends Row>(row: T): T => {
      const { status, createdAt } = row;
      const at = timeOf(createdAt);
      const isUtc =
        at === undefined || (typeof createdAt === 'string' && timeOfText(createdAt) === at);
      const timed = isUtc ? row : { ...row, createdAt: new Date(at).toISOString() };
      return status === null ? timed : withMember(timed, 'status', statusOf(status));
    };
  };
  const [order, delivery] = [rowReader('order'), rowReader('delivery')];
  const [refund, pendingRefund] = [rowReader('refund'), rowReader('pendingRefund')];
  const ofDelivery = statusReader('delivery', statuses);
  const ofRefund = statusReader('refund', statuses);
  return {
    order,
    created: ({ deliveries, ...answer }) => ({
      ...answer,
      deliveries: deliveries.map((one) =>
        typeof one.status === 'string' ? { ...one, status: ofDelivery(one.status) } : one,
      ),
    }),
    delivery: (row, orderId) => withOrder(delivery(row), orderId),
    refund: (row, orderId) => withOrder(refund(row), orderId),
    pendingRefund: (row, orderId) => withOrder(pendingRefund(row), orderId),
    setDelivery: ({ status }) => ({ status: ofDelivery(status) }),
    setRefund: ({ status }) => ({ status: ofRefund(status) }),
  };
}
