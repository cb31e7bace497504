/**
 * The loss of most of the ERP's customers at once: a table that is emptied and filled again, cut in
 * half, or whose blocks and credits are blanked for a moment. Nothing of it is taken over, and
 * rules that read customers wait (decisions/holds/changes.ts), until the ERP has filled the table
 * again or a person has accepted the loss. Counts both sides by the same expressions.
 */
import { sql } from 'kysely';
import { z } from 'zod';
import { tryParseJson } from '../lib/json.ts';
import { type Actor, writeAudit } from '../store/audit.ts';
import { endIncidents, updateIncident } from '../store/incidents.ts';
import { deleteState, readStateSince, writeStateAt } from '../store/state.ts';
import type { Db, Tx } from '../store/store.ts';

/**
 * Losses, as conditions that hold in both tables; the exchange and the mirror have the
 * same columns.
 */
const KNOWN = {
  customers: 'true',
  blocks: 'blocked = 1',
  'blocked or not': 'blocked is not null',
  'credit limits': 'credit_limit is not null',
  balances: 'balance is not null',
  'overdue days': 'overdue_days is not null',
  'further fields': "extra <> '{}'",
} as const;

type CustomerTotals = Readonly<Record<string, number>>;

/** SQL: the number of rows for which each condition holds, by its name. */
export const CUSTOMER_TOTALS = Object.entries(KNOWN)
  .map(([name, holds]) => `count(*) filter (where ${holds}) as "${name}"`)
  .join(', ');

/** Number of customers that may be lost at once in any case. */
const LOST_MAX = 10;
/** Share of the customers from which on a loss is none that is meant: a list cut in half has it. */
const SHARE_MIN = 0.5;
/** Customers that went one by one in this time count together. */
const WINDOW_MS = 86_400_000;

const STATE = 'customers_lost';
/** Time of the last loss that a person accepted; deletions before it were intended. */
const ACCEPTED_STATE = 'customers_loss_accepted';
const LOST = { kind: 'customers_lost', entity: 'erp_customer', key: 'erp_customer' } as const;

const LOSS = z.object({
  /** Describes what was lost, for people. */
  what: z.string(),
  /** Number of customers that are gone. */
  gone: z.int(),
  isAccepted: z.boolean(),
});
export type CustomerLoss = z.output<typeof LOSS>;

/** Reads the loss that is not over; undefined: there is none. */
export async function readCustomerLoss(db: Db | Tx): Promise<CustomerLoss | undefined> {
  const state = await readStateSince(db, STATE);
  return state && LOSS.parse(tryParseJson(state.value));
}

interface Mirrored {
  readonly totals: CustomerTotals;
  /** Number of customers that went lately, and that nobody has accepted as gone. */
  readonly lately: number;
}

async function mirrored(db: Db | Tx, now: number): Promise<Mirrored> {
  const accepted = await readStateSince(db, ACCEPTED_STATE);
  const since = Math.max(now - WINDOW_MS, accepted?.at ?? 0);
  const live = await sql<CustomerTotals>`select ${sql.raw(CUSTOMER_TOTALS)} from erp_customer
    where deleted_at is null`.execute(db);
  const went = await sql<{ readonly lately: number }>`select count(*) lately from erp_customer
    where deleted_at > ${since} and deleted_at <= ${now}`.execute(db);
  return { totals: live.rows[0] ?? {}, lately: went.rows[0]?.lately ?? 0 };
}

/** Numbers of the ERP's table: rows by what they know, and changed customers that have no row. */
export interface CustomersNow {
  readonly totals: CustomerTotals;
  readonly gone: number;
}

/** Judges what the ERP's table has lost against the mirror; undefined: no more than may be. */
export async function customerLoss(
  db: Db | Tx,
  found: CustomersNow,
  now: number,
): Promise<Omit<CustomerLoss, 'isAccepted'> | undefined> {
  const { totals, lately } = await mirrored(db, now);
  const parts = Object.entries(totals).flatMap(([name, known]) => {
    const isAll = name === 'customers';
    const went = isAll ? lately : 0;
    const left = Math.max(known - (found.totals[name] ?? 0), isAll ? found.gone : 0);
    const [lost, of] = [left + went, known + went];
    const isTooMuch = left > 0 && lost > LOST_MAX && lost >= of * SHARE_MIN;
    return isTooMuch ? [`${lost} of ${of} ${name}`] : [];
  });
  return parts.length === 0 ? undefined : { what: parts.join(', '), gone: found.gone };
}

/** Notes that most customers are lost, until {@link endCustomerLoss}. */
export async function noteCustomerLoss(
  tx: Tx,
  { what, gone }: Pick<CustomerLoss, 'what' | 'gone'>,
  now: number,
): Promise<void> {
  await writeStateAt(tx, STATE, JSON.stringify({ what, gone, isAccepted: false }), now);
  const reason =
    `erp_customer has lost ${what} at once: what was known stays, and rules that read customers ` +
    'wait; if it is meant: "selvedge sync release customers"';
  await updateIncident(tx, { ...LOST, detail: { reason } }, now);
}

/** Ends the loss, because nothing of it is left or all of it was taken over. */
export async function endCustomerLoss(tx: Tx, loss: CustomerLoss, now: number): Promise<void> {
  await deleteState(tx, STATE);
  // The customers that went by an accepted loss do not count among those that went lately.
  if (loss.isAccepted) await writeStateAt(tx, ACCEPTED_STATE, 'yes', now);
  await endIncidents(tx, LOST, [LOST.key], now);
}

/** Accepts the loss for a person: the next import takes it over. */
export async function acceptCustomerLoss(
  tx: Tx,
  loss: CustomerLoss,
  asker: Actor,
  now: number,
): Promise<void> {
  await writeStateAt(tx, STATE, JSON.stringify({ ...loss, isAccepted: true }), now);
  const act = { action: 'sync.accept_loss', subject: 'erp_customer', detail: loss };
  await writeAudit(tx, { ...asker, ...act }, now);
}
