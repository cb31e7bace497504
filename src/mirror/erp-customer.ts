/**
 * Entity `erp_customer`: a customer's credit according to the ERP, by account number. Rows come
 * from the exchange file, not from the service. What changed is in the change feed, so that waiting
 * deliveries are evaluated again; figures alone are told by their customers' numbers.
 */
import type { JsonObject } from '../lib/json.ts';
import type { SqlRow } from '../store/bulk.ts';
import { readState, writeStateAt } from '../store/state.ts';
import type { Db, Tx } from '../store/store.ts';
import { upsertRows, type WriteCounts } from './entity.ts';
import { markDeleted } from './list.ts';
import type { EntityDefinition, MirrorRow, Provenance } from './rows/prepared.ts';

export interface ErpCustomerRow {
  readonly accountNo: string;
  /** Credit limit in units (lib/money.ts) of `currency`; null: the ERP gave none. */
  readonly creditLimit: number | null;
  /** Amount that the customer owes, in units (lib/money.ts); null: the ERP gave none. */
  readonly balance: number | null;
  /** ISO code of the customer's currency, such as DKK; null: the ERP gave none. */
  readonly currency: string | null;
  readonly overdueDays: number | null;
  readonly blocked: boolean | null;
  /** Time of the ERP's figures, epoch ms; null: the ERP gave none. */
  readonly asOf: number | null;
  /**
   * Other fields of the ERP about the customer; those declared under `customer_fields` become
   * facts.
   */
  readonly extra: JsonObject;
}

export const ERP_CUSTOMER: EntityDefinition = {
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
  figures: ['balance', 'overdue_days', 'as_of'],
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

/**
 * The read number is constant, because one importer writes customers in the order in which it
 * reads.
 */
const READ_SEQ = 0;

function provenanceAt(at: number): Provenance {
  return { source: 'exchange', readSeq: READ_SEQ, at };
}

const RENEWED_STATE = 'customers_renewed';

/** Epoch ms when the ERP last wrote one of its customers; undefined: it never did. */
export async function customersAt(db: Db | Tx): Promise<number | undefined> {
  const at = await readState(db, RENEWED_STATE);
  return at === undefined ? undefined : Number(at);
}

/** Writes the customers of one import to the mirror. */
export async function writeErpCustomers(
  tx: Tx,
  rows: readonly ErpCustomerRow[],
  now: number,
): Promise<WriteCounts> {
  // A row that the ERP writes unchanged shows as well that it still says what it knows.
  if (rows.length > 0) await writeStateAt(tx, RENEWED_STATE, String(now), now);
  return upsertRows(tx, ERP_CUSTOMER, rows.map(toRow), provenanceAt(now));
}

/**
 * Removes customers that the ERP no longer has, and returns how many existed. `writeErpCustomers`
 * restores one that returns.
 */
export function removeErpCustomers(
  tx: Tx,
  accountNos: readonly string[],
  now: number,
): Promise<number> {
  return markDeleted(tx, ERP_CUSTOMER, accountNos, provenanceAt(now));
}
