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

/** Number of blocks, credits or customers that may be lost at once in any case. */
const LOST_MAX = 10;
/** The same where it is half of all customers: a house may have a few. */
const LOST_MAX_OF_ALL = 2;
/** Share of the customers from which on a loss is none that is meant: a list cut in half has it. */
const SHARE_MIN = 0.5;
/** Customers and members that went one by one in this time count together. */
const WINDOW_MS = 86_400_000;

const STATE = 'customers_lost';
/** Time of the last loss that a person accepted; deletions before it were intended. */
const ACCEPTED_STATE = 'customers_loss_accepted';
/** The most that was known since the first loss of the last 24 hours, and the time of that loss. */
const KNOWN_STATE = 'customers_known';
const LOST = { kind: 'customers_lost', entity: 'erp_customer', key: 'erp_customer' } as const;

const LOSS = z.object({
  /** Describes what was lost, for people. */
  what: z.string(),
  /** Number of customers that are gone. */
  gone: z.int(),
  /** Numbers of all that is lost, by name. */
  lost: z.record(z.string(), z.int()),
  isAccepted: z.boolean(),
});
export type CustomerLoss = z.output<typeof LOSS>;

/** Reads the loss that is not over; undefined: there is none. */
export async function readCustomerLoss(db: Db | Tx): Promise<CustomerLoss | undefined> {
  const state = await readStateSince(db, STATE);
  return state && LOSS.parse(tryParseJson(state.value));
}

/** What was known of customers at most, and since when. */
export interface KnownLately {
  readonly totals: CustomerTotals;
  readonly since: number;
}

interface Mirrored {
  readonly totals: CustomerTotals;
  readonly known: KnownLately;
  /** Number of customers that went lately, and that nobody has accepted as gone. */
  readonly lately: number;
}

const TOTALS = z.record(z.string(), z.int());

async function mirrored(db: Db | Tx, now: number): Promise<Mirrored> {
  const accepted = await readStateSince(db, ACCEPTED_STATE);
  const since = Math.max(now - WINDOW_MS, accepted?.at ?? 0);
  const live = await sql<CustomerTotals>`select ${sql.raw(CUSTOMER_TOTALS)} from erp_customer
    where deleted_at is null`.execute(db);
  const went = await sql<{ readonly lately: number }>`select count(*) lately from erp_customer
    where deleted_at > ${since} and deleted_at <= ${now}`.execute(db);
  const totals = live.rows[0] ?? {};
  const kept = await readStateSince(db, KNOWN_STATE);
  const isLate = kept !== undefined && kept.at > since && kept.at <= now;
  const before = isLate ? TOTALS.parse(tryParseJson(kept.value)) : {};
  const most = Object.entries(totals).map(([name, count]) => {
    return [name, Math.max(count, before[name] ?? 0)] as const;
  });
  const known = { totals: Object.fromEntries(most), since: isLate ? kept.at : now };
  return { totals, known, lately: went.rows[0]?.lately ?? 0 };
}

/** Keeps what was known before a loss, however small, so that later ones count together with it. */
export async function keepKnown(tx: Tx, { totals, since }: KnownLately): Promise<void> {
  await writeStateAt(tx, KNOWN_STATE, JSON.stringify(totals), since);
}

/** Numbers of the ERP's table: rows by what they know, and changed customers that have no row. */
export interface CustomersNow {
  readonly totals: CustomerTotals;
  readonly gone: number;
}

/** Whether so many go at once that hardly anybody means it. */
function isTooMuch(lost: number, of: number, customers: number): boolean {
  if (lost > LOST_MAX && lost >= of * SHARE_MIN) return true;
  return lost > LOST_MAX_OF_ALL && lost >= customers * SHARE_MIN;
}

export interface JudgedCustomers {
  readonly known: KnownLately;
  /** Undefined: no more is lost than may be. */
  readonly loss: Omit<CustomerLoss, 'isAccepted'> | undefined;
}

/**
 * Judges what the ERP's table has lost against the mirror. What a person has accepted is no loss,
 * and what went beyond it is judged by itself.
 */
export async function judgeCustomers(
  db: Db | Tx,
  found: CustomersNow,
  now: number,
): Promise<JudgedCustomers> {
  const { totals, known, lately } = await mirrored(db, now);
  const before = await readCustomerLoss(db);
  const accepted = before?.isAccepted ? before.lost : {};
  const everyone = Math.max(known.totals.customers ?? 0, (totals.customers ?? 0) + lately);
  const lost: Record<string, number> = {};
  const parts = Object.entries(totals).flatMap(([name, live]) => {
    const isAll = name === 'customers';
    const [now = 0, most = 0, meant = 0] = [found.totals[name], known.totals[name], accepted[name]];
    const left = Math.max(live - now, isAll ? found.gone : 0);
    const count = isAll ? Math.max(most - now, left + lately) : most - now;
    const of = isAll ? everyone : most;
    if (left <= 0 || !isTooMuch(count - meant, of - meant, everyone - meant)) return [];
    lost[name] = count;
    return [`${count} of ${of} ${name}`];
  });
  const loss = { what: parts.join(', '), gone: found.gone, lost };
  return { known, loss: parts.length === 0 ? undefined : loss };
}

/** Notes that most customers are lost, until {@link endCustomerLoss}. */
export async function noteCustomerLoss(
  tx: Tx,
  { what, gone, lost }: Omit<CustomerLoss, 'isAccepted'>,
  now: number,
): Promise<void> {
  await writeStateAt(tx, STATE, JSON.stringify({ what, gone, lost, isAccepted: false }), now);
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
