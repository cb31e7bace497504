/**
 * `erp_customer`: what the ERP says of a customer's credit, by account number. It comes from the
 * exchange file and not from the service; a row that did not change costs no write, a changed one
 * leaves an entry in the change feed, by which the decisions about that customer are made anew.
 */
import type { JsonObject } from '../lib/json.ts';
import type { SqlRow } from '../store/bulk.ts';
import type { Tx } from '../store/store.ts';
import { type WriteCounts, writeRows } from './entity.ts';
import { markDeleted } from './list.ts';
import type { Provenance } from './rows/bulk.ts';
import type { EntityDefinition, MirrorRow } from './rows/prepared.ts';

export interface ErpCustomerRow {
  readonly accountNo: string;
  /** In units (lib/money.ts) of `currency`; null: the ERP does not say. */
  readonly creditLimit: number | null;
  /** What the customer owes, in units. */
  readonly balance: number | null;
  /** ISO code such as DKK. */
  readonly currency: string | null;
  readonly overdueDays: number | null;
  readonly blocked: boolean | null;
  /** When the ERP took the figures, in epoch milliseconds. */
  readonly asOf: number | null;
  /** More fields of the ERP; those declared under `customer_fields` become facts. */
  readonly extra: JsonObject;
}

const ERP_CUSTOMER: EntityDefinition = {
  entity: 'erp_customer',
  table: 'erp_customer',
  key: 'account_no',
  columns: [
    'account_no',
    'credit_limit',
    'balance',
    'currency',
    'overdue_days',
    'blocked',
    'as_of',
  ],
};

function toRow(row: ErpCustomerRow): MirrorRow {
  const values: SqlRow = {
    account_no: row.accountNo,
    credit_limit: row.creditLimit,
    balance: row.balance,
    currency: row.currency,
    overdue_days: row.overdueDays,
    blocked: row.blocked === null ? null : Number(row.blocked),
    as_of: row.asOf,
  };
  return { values, extra: row.extra };
}

/** There is one importer, which writes in the order in which it read: no answer is older. */
const READ_SEQ = 0;

function provenanceAt(at: number): Provenance {
  return { source: 'exchange', readSeq: READ_SEQ, at };
}

/** Writes what one import said about some customers. */
export function writeErpCustomers(
  tx: Tx,
  rows: readonly ErpCustomerRow[],
  now: number,
): Promise<WriteCounts> {
  return writeRows(tx, ERP_CUSTOMER, rows.map(toRow), provenanceAt(now));
}

/**
 * The ERP no longer has these customers: nothing is known of them. Gives how many there were;
 * one that comes back is restored by `writeErpCustomers`.
 */
export function removeErpCustomers(
  tx: Tx,
  accountNos: readonly string[],
  now: number,
): Promise<number> {
  return markDeleted(tx, ERP_CUSTOMER, accountNos, provenanceAt(now));
}
