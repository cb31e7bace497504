/** The facts of the customer: figures of the ERP, and the credit left after accepts by Selvedge. */
import { isJsonObject } from '../../lib/json.ts';
import type { Facts } from '../../rules/facts/plain.ts';
import type { RuleSet } from '../../rules/rule.ts';
import type { Db, Tx } from '../../store/store.ts';
import { kept, type Value } from '../../store/transaction/kept.ts';
import { reservedCredit } from './reserved.ts';

type CustomerFacts = NonNullable<Facts['customer']>;
type ExtraFields = RuleSet['settings']['customer_fields'];
type ExtraValue = string | number | boolean;

export interface Customer {
  readonly facts: CustomerFacts;
  /** Sentences on the ERP's fields of the customer whose values are not of their declared kind. */
  readonly invalidFields: readonly string[];
}

function fits(value: unknown, kind: ExtraFields[string]): value is ExtraValue {
  if (kind === 'text') return typeof value === 'string';
  if (kind === 'true/false') return typeof value === 'boolean';
  if (kind === 'whole number') return Number.isSafeInteger(value);
  return typeof value === 'number' && /^-?\d+(\.\d+)?$/.test(String(value));
}

/**
 * A stand-in of another type than the declared kind, which the CEL engine refuses: the fact is then
 * unknown, not absent.
 */
function oddValue(value: unknown, kind: ExtraFields[string]): ExtraValue {
  if (kind !== 'text') return `no ${kind}: ${shown(value)}`;
  return typeof value === 'number' ? value : value === true;
}

function shown(value: unknown): string {
  return JSON.stringify(value).slice(0, 80);
}

function extraOf(
  text: string,
  fields: ExtraFields,
): Pick<Customer, 'invalidFields'> & {
  readonly extra: Record<string, ExtraValue | null>;
} {
  const parsed: unknown = JSON.parse(text);
  const members = isJsonObject(parsed) ? parsed : {};
  const extra: Record<string, ExtraValue | null> = {};
  const invalidFields: string[] = [];
  for (const [name, kind] of Object.entries(fields)) {
    const value: unknown = Object.hasOwn(members, name) ? members[name] : null;
    extra[name] = value === null || fits(value, kind) ? value : oddValue(value, kind);
    if (value !== null && !fits(value, kind))
      invalidFields.push(`${name} should be a ${kind}, it is ${shown(value)}`);
  }
  return { extra, invalidFields };
}

const goneWith = kept((db: Db, accountNo: Value<string>) =>
  db
    .selectFrom('erp_customer')
    .select('account_no')
    .where('account_no', '=', accountNo)
    .where('deleted_at', 'is not', null),
);

/**
 * Whether the ERP knew the account and has removed it: then it is not known whether it is blocked,
 * which is another thing than that the ERP never said anything about it.
 */
export async function isCustomerGone(tx: Tx, accountNo: string): Promise<boolean> {
  return (await goneWith(tx, accountNo)).length > 0;
}

const customerWith = kept((db: Db, accountNo: Value<string>) =>
  db
    .selectFrom('erp_customer')
    .selectAll()
    .where('account_no', '=', accountNo)
    .where('deleted_at', 'is', null),
);

/** Reads the facts of the customer account; undefined when the ERP does not know the account. */
export async function customerFacts(
  tx: Tx,
  accountNo: string,
  orderDeliveryId: number,
  fields: ExtraFields,
): Promise<Customer | undefined> {
  const [row] = await customerWith(tx, accountNo);
  if (!row) return undefined;
  const { credit_limit: limit, balance, currency, overdue_days: overdue } = row;
  const { extra, invalidFields } = extraOf(row.extra, fields);
  const saysNothing = [limit, balance, overdue].every((value) => value === null);
  // Credit figures are as old as their arrival at least, whatever the clock or the zone of the ERP
  // says.
  const since = Math.min(row.as_of ?? row.changed_at, row.changed_at);
  const account = { accountNo, currency };
  const credit = saysNothing
    ? null
    : {
        limit,
        balance,
        reserved: await reservedCredit(tx, account, orderDeliveryId, since),
        overdue_days: overdue,
        currency,
        as_of: row.as_of,
      };
  const blocked = row.blocked === null ? null : row.blocked === 1;
  return { facts: { account_no: accountNo, blocked, credit, extra }, invalidFields };
}
