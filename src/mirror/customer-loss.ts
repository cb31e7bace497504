/**
 * The loss of most of the ERP's customers at once: a table that is emptied and filled again, cut in
 * half, or whose blocks and credits are blanked for a moment. Nothing of it is taken over, and
 * rules that read customers wait (decisions/accept/freshness.ts), until the ERP has filled it again
 * or a person has accepted the loss.
 */
import { sql } from 'kysely';
import { z } from 'zod';
import { tryParseJson } from '../lib/json.ts';
import { type Actor, writeAudit } from '../store/audit.ts';
import { inKeys } from '../store/bulk.ts';
import { endIncidents, updateIncident } from '../store/incidents.ts';
import { deleteState, readState, writeStateAt } from '../store/state.ts';
import type { Db, Tx } from '../store/store.ts';
import type { ErpCustomerRow } from './erp-customer.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 86_400_000;

interface Part {
  /** SQL on the mirror: whether this of a customer is known. */
  readonly known: string;
  /** Whether the ERP's row still says it. */
  readonly isSaid: (row: ErpCustomerRow) => boolean;
  /** Time within which losses of it count together. */
  readonly within: number;
}
const part = (known: string, isSaid: Part['isSaid'], within: number): Part => {
  return { known, isSaid, within };
};

/** Parts of the list that may be lost. Customers pay and are unblocked every day. */
const PARTS: Readonly<Record<string, Part>> = {
  customers: part('true', () => true, DAY_MS),
  blocks: part('blocked = 1', ({ blocked }) => blocked === true, HOUR_MS),
  'blocked or not': part('blocked is not null', ({ blocked }) => blocked !== null, HOUR_MS),
  'credit limits': part('credit_limit is not null', (row) => row.creditLimit !== null, DAY_MS),
  balances: part('balance is not null', ({ balance }) => balance !== null, DAY_MS),
  'overdue days': part('overdue_days is not null', (row) => row.overdueDays !== null, HOUR_MS),
  'further fields': part("extra <> '{}'", ({ extra }) => Object.keys(extra).length > 0, DAY_MS),
};
/** Parts that half of a few customers may lose in an hour. */
const ENDS_DAILY: readonly string[] = ['blocks', 'overdue days'];

type Numbers = Readonly<Record<string, number>>;

const TOTALS = Object.entries(PARTS)
  .map(([name, { known }]) => `count(*) filter (where ${known}) as "${name}"`)
  .join(', ');
const FLAGS = Object.entries(PARTS)
  .map(([name, { known }]) => `ifnull(${known}, 0) as "${name}"`)
  .join(', ');

/** Number of customers or parts of them that may be lost in any case. */
const LOST_MAX = 10;
/** The same within an hour where it is half of all customers: a house may have a few. */
const FEW_MAX = 2;
/** Share from which on a loss is none that is meant: a list cut in half has it. */
const SHARE_MIN = 0.5;
/** Losses within this time share an entry of what was known. */
const ENTRY_MS = 900_000;

const STATE = 'customers_lost';
/** Customers known before the losses of the last 24 hours. */
const KNOWN_STATE = 'customers_known';
const LOST = { kind: 'customers_lost', entity: 'erp_customer', key: 'erp_customer' } as const;

const LOSS = z.object({
  /** Describes what was lost, for people. */
  what: z.string(),
  /** Number of customers that are gone. */
  gone: z.int(),
  /** Numbers of all that is lost, by name. */
  lost: z.record(z.string(), z.int()).default({}),
  /** Numbers of what there was: what is new since makes the loss no smaller. */
  of: z.record(z.string(), z.int()).default({}),
  /** Time of the loss: what counted together with it then does so until it is over. */
  since: z.int().default(0),
  isAccepted: z.boolean(),
});
export type CustomerLoss = z.output<typeof LOSS>;

/** Reads the loss that is not over; undefined: there is none. */
export async function readCustomerLoss(db: Db | Tx): Promise<CustomerLoss | undefined> {
  const state = await readState(db, STATE);
  return state === undefined ? undefined : LOSS.parse(tryParseJson(state));
}

/** The ERP's present word on a customer; no row: the customer is gone. */
export interface CustomerNow {
  readonly accountNo: string;
  readonly row: ErpCustomerRow | undefined;
}

/** Finds the customers of which something is known that the ERP says no more, and what it is. */
export async function findLosing(
  db: Db | Tx,
  changed: readonly CustomerNow[],
): Promise<ReadonlyMap<string, readonly string[]>> {
  const rowOf = new Map(changed.map(({ accountNo, row }) => [accountNo, row]));
  const known = await sql<{ readonly account: string } & Numbers>`
    select account_no account, ${sql.raw(FLAGS)} from erp_customer
    where deleted_at is null and ${inKeys('account_no', [...rowOf.keys()])}`.execute(db);
  const losing = known.rows.map(({ account, ...flags }) => {
    const row = rowOf.get(account);
    const names = Object.entries(PARTS).flatMap(([name, { isSaid }]) => {
      return flags[name] === 1 && !(row && isSaid(row)) ? [name] : [];
    });
    return [account, names] as const;
  });
  return new Map(losing.filter(([, names]) => names.length > 0));
}

const ENTRIES = z.array(z.object({ at: z.int(), totals: z.record(z.string(), z.int()) }));
/** Customers known at times of the last 24 hours, the oldest first. */
export type KnownLately = z.output<typeof ENTRIES>;

function most(...numbers: readonly Numbers[]): Record<string, number> {
  const of = (name: string) => Math.max(0, ...numbers.map((one) => one[name] ?? 0));
  return Object.fromEntries(Object.keys(PARTS).map((name) => [name, of(name)]));
}

/** Keeps what was known before a loss, however small, so that later ones count together with it. */
export async function keepKnown(tx: Tx, known: KnownLately, now: number): Promise<void> {
  await writeStateAt(tx, KNOWN_STATE, JSON.stringify(known), now);
}

async function knownLately(
  db: Db | Tx,
  totals: Numbers,
  { since, now }: { readonly since: number; readonly now: number },
): Promise<KnownLately> {
  const kept = ENTRIES.safeParse(tryParseJson((await readState(db, KNOWN_STATE)) ?? '[]'));
  const late = (kept.data ?? []).filter(({ at }) => at > since - DAY_MS && at <= now);
  const last = late.at(-1);
  if (!last || last.at <= now - ENTRY_MS) return [...late, { at: now, totals: most(totals) }];
  return [...late.slice(0, -1), { at: last.at, totals: most(last.totals, totals) }];
}

export interface JudgedCustomers {
  readonly known: KnownLately;
  /** Undefined: no more is lost than may be. */
  readonly loss: Omit<CustomerLoss, 'isAccepted'> | undefined;
}

/**
 * Judges all that the ERP's table has lost against the mirror, together with what was taken over
 * lately. What a person has accepted is no loss, and what went beyond it is judged by itself.
 */
export async function judgeLosing(
  db: Db | Tx,
  losing: readonly (readonly string[])[],
  now: number,
): Promise<JudgedCustomers> {
  const counted = await sql<Numbers>`select ${sql.raw(TOTALS)} from erp_customer
    where deleted_at is null`.execute(db);
  const live = most(counted.rows[0] ?? {});
  const before = await readCustomerLoss(db);
  const since = before?.since ?? now;
  const known = await knownLately(db, live, { since, now });
  const within = (ms: number): Numbers =>
    most(live, ...known.filter(({ at }) => at > since - ms).map(({ totals }) => totals));
  const [day, hour] = [within(DAY_MS), within(HOUR_MS)];
  const accepted: Numbers = before?.isAccepted ? before.lost : {};
  const of: Record<string, number> = {};
  const lost: Record<string, number> = { ...accepted };
  const parts = Object.entries(PARTS).flatMap(([name, { within: ms }]) => {
    const lately = (ms === DAY_MS ? day : hour)[name] ?? 0;
    of[name] = Math.min(lately, before?.of[name] ?? lately);
    const left = losing.filter((names) => names.includes(name)).length;
    const [there = 0, meant = 0, all = 0] = [live[name], accepted[name], of[name]];
    const count = left + lately - there;
    const few = left + (hour[name] ?? 0) - there - meant;
    const isMost = count - meant > LOST_MAX && count - meant >= (all - meant) * SHARE_MIN;
    const everyone = (of.customers ?? 0) - meant;
    const isMostOfFew = !ENDS_DAILY.includes(name) && few > FEW_MAX && few >= everyone * SHARE_MIN;
    if (left === 0 || !(isMost || isMostOfFew)) return [];
    lost[name] = count;
    return [`${count} of ${all} ${name}`];
  });
  const gone = losing.filter((names) => names.includes('customers')).length;
  const loss = { what: parts.join(', '), gone, lost, of, since };
  return { known, loss: parts.length === 0 ? undefined : loss };
}

/** Notes that most customers are lost, until {@link endCustomerLoss}. */
export async function noteCustomerLoss(
  tx: Tx,
  loss: Omit<CustomerLoss, 'isAccepted'>,
  now: number,
): Promise<void> {
  await writeStateAt(tx, STATE, JSON.stringify({ ...loss, isAccepted: false }), now);
  const reason =
    `erp_customer has lost ${loss.what} at once: what was known stays, and rules that read ` +
    'customers wait; if it is meant: "selvedge sync release customers"';
  await updateIncident(tx, { ...LOST, detail: { reason } }, now);
}

/** Ends the loss, because nothing of it is left or all of it was taken over. */
export async function endCustomerLoss(tx: Tx, loss: CustomerLoss, now: number): Promise<void> {
  await deleteState(tx, STATE);
  // An accepted loss does not count among what went lately.
  if (loss.isAccepted) await deleteState(tx, KNOWN_STATE);
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
