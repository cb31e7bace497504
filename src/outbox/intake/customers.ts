/**
 * Imports the ERP's customers from the exchange database into the mirror. A row that cannot be
 * understood is quarantined and reported to the ERP; the last known values of its customer stay.
 * Changes that are part of a loss of most customers wait (mirror/customer-loss.ts).
 */

import { z } from 'zod';
import { isJsonObject, isTooDeep, tryParseJson } from '../../lib/json.ts';
import { amountUnits } from '../../lib/money.ts';
import {
  type CustomerNow,
  endCustomerLoss,
  findLosing,
  type JudgedCustomers,
  judgeLosing,
  keepKnown,
  noteCustomerLoss,
  readCustomerLoss,
} from '../../mirror/customer-loss.ts';
import {
  type ErpCustomerRow,
  removeErpCustomers,
  writeErpCustomers,
} from '../../mirror/erp-customer.ts';
import { quarantineRows, releaseRows } from '../../mirror/quarantine.ts';
import type { Exchange } from '../../store/exchange/exchange.ts';
import type {
  CustomerChange,
  CustomerProblem,
  DoneCustomer,
} from '../../store/exchange/statements.ts';
import type { Store } from '../../store/store.ts';
import { DAMAGED, isDamaged } from './envelope.ts';

const AMOUNT_MAX = 900_000_000_000;
const DAYS_MAX = 100_000;

const AMOUNT_WANTED = `must be a number from -${AMOUNT_MAX} to ${AMOUNT_MAX}`;
const DECIMALS_WANTED = 'must have at most four decimals; round it where it is worked out';
const DAYS_WANTED = `must be a whole number from 0 to ${DAYS_MAX}`;
const TIME_WANTED = 'must be a time such as 2026-11-21T08:00:00Z or, in UTC, 2026-11-21 08:00:00';

const money = z
  .number(AMOUNT_WANTED)
  .min(-AMOUNT_MAX, AMOUNT_WANTED)
  .max(AMOUNT_MAX, AMOUNT_WANTED)
  .refine((amount) => amountUnits(amount) !== null, DECIMALS_WANTED)
  .nullable()
  .transform((amount) => amountUnits(amount));

const text = z.string().refine((written) => !isDamaged(written), DAMAGED);

/** A time without a zone, as SQLite's own `datetime('now')` writes it, means UTC. */
const time = z
  .string()
  .transform((written) => written.trim().replace(/^(\d{4}-\d\d-\d\d) (\d\d:.*[^Zz])$/, '$1T$2Z'))
  .pipe(z.union([z.iso.datetime({ offset: true }), z.iso.date()], TIME_WANTED))
  .transform((iso) => Date.parse(iso))
  .nullable();

const extra = text
  .transform((written) => tryParseJson(written))
  .refine(isJsonObject, 'must be a JSON object')
  .refine((value) => !isTooDeep(value), 'is nested too deep')
  .pipe(z.record(z.string(), z.json()));

const rowSchema = z
  .object({
    account_no: text.trim().min(1, 'must not be empty'),
    credit_limit: money,
    balance: money,
    currency: z
      .string()
      .regex(/^[A-Z]{3}$/, 'must be three capital letters')
      .nullable(),
    overdue_days: z.int(DAYS_WANTED).min(0, DAYS_WANTED).max(DAYS_MAX, DAYS_WANTED).nullable(),
    blocked: z.int().min(0).max(1).nullable(),
    as_of: time,
    extra,
  })
  .transform(
    (row): ErpCustomerRow => ({
      accountNo: row.account_no,
      creditLimit: row.credit_limit,
      balance: row.balance,
      currency: row.currency,
      overdueDays: row.overdue_days,
      blocked: row.blocked === null ? null : row.blocked === 1,
      asOf: row.as_of,
      extra: row.extra,
    }),
  );

interface Judged {
  readonly change: CustomerChange;
  readonly customer: ErpCustomerRow | undefined;
  readonly problem: CustomerProblem | null;
}

function judge(change: CustomerChange): Judged {
  const parsed = rowSchema.safeParse(change.row);
  if (parsed.success) return { change, customer: parsed.data, problem: null };
  const [issue] = parsed.error.issues;
  const path = issue?.path.join('.') ?? '';
  return { change, customer: undefined, problem: { path, message: issue?.message ?? '' } };
}

/** Rank of a spelling of an account number: without spaces first, with leading spaces last. */
function rankOf({ accountNo }: CustomerChange): number {
  return [accountNo.trim(), accountNo.trimStart(), accountNo].indexOf(accountNo);
}

/**
 * Judges all rows of an account number: a fixed-width column pads it with spaces, an order does
 * not. Of several rows the one without spaces counts, else the first: always the same one,
 * whichever row has changed.
 */
function judgeAll(change: CustomerChange): Judged[] {
  const rows = [change.row ?? [], change.others].flat().map((row) => {
    return { ...change, accountNo: String(row.account_no), row };
  });
  const [first, ...others] = rows.toSorted(
    (a, b) => rankOf(a) - rankOf(b) || (a.accountNo < b.accountNo ? -1 : 1),
  );
  const gone = { change, customer: undefined, problem: null };
  if (!first) return [gone];
  const message = `is ${JSON.stringify(first.accountNo)} but for spaces, and that row counts`;
  const doubles = others.map((double): Judged => {
    return { change: double, customer: undefined, problem: { path: 'account_no', message } };
  });
  return [...(change.row === null ? [gone] : []), judge(first), ...doubles];
}

/** Words of the changes on their customers; a row that cannot be read says nothing. */
function saidBy({ change, customer, problem }: Judged): CustomerNow[] {
  if (problem !== null) return [];
  if (customer) return [{ accountNo: customer.accountNo, row: customer }];
  const isGone = change.row === null && change.others.length === 0;
  return isGone ? [{ accountNo: change.accountNo.trim(), row: undefined }] : [];
}

interface Batch {
  /** Number of the last change that was read. */
  readonly last: number;
  readonly judged: readonly Judged[];
  /** Number of changes up to there that wait, because they are part of a loss of most customers. */
  readonly waiting: number;
  /** Undefined: no change loses anything. */
  readonly lost?: JudgedCustomers;
}

const NONE: ReadonlySet<number> = new Set();

export interface CustomersAsked {
  /** Number of changes to read at most. */
  readonly rows: number;
  /** Number of the last change that was read. */
  readonly after?: number;
  readonly now: number;
  /** Numbers of changes that were taken over, which the exchange database does not know yet. */
  readonly done?: ReadonlySet<number>;
}

/** Reads changed customers, and judges whether they are part of a loss that nobody accepted. */
async function readBatch(
  { db }: Store,
  exchange: Exchange,
  { rows, after = 0, now, done = NONE }: CustomersAsked,
): Promise<Batch | undefined> {
  const judgeNew = (changes: readonly CustomerChange[]): Judged[] =>
    changes.filter(({ seq }) => !done.has(seq)).flatMap(judgeAll);
  const read = exchange.changedCustomers(rows, after);
  if (read.length === 0) return undefined;
  const first = judgeNew(read);
  const calm = { last: read.at(-1)?.seq ?? after, judged: first, waiting: 0 };
  if ((await findLosing(db, first.flatMap(saidBy))).size === 0) return calm;
  // All that changed is read at one moment: the ERP may fill its table again between two reads.
  const all = exchange.changedCustomers();
  const judged = judgeNew(all);
  const losing = await findLosing(db, judged.flatMap(saidBy));
  const lost = await judgeLosing(db, [...losing.values()], now);
  const losers = new Set(
    judged
      .filter((one) => saidBy(one).some(({ accountNo }) => losing.has(accountNo)))
      .map(({ change }) => change.seq),
  );
  // Losses are taken over first, or none of them: hardly any round has to read all again.
  const isHeld = lost.loss !== undefined;
  const open = all.filter(({ seq }) =>
    isHeld ? seq > after && !losers.has(seq) : losers.has(seq),
  );
  const next = open.slice(0, rows);
  const end = (open.length > rows ? next : all).at(-1)?.seq ?? after;
  const last = isHeld ? end : after;
  const waiting = isHeld ? [...losers].filter((seq) => seq > after && seq <= last).length : 0;
  return { last, judged: judgeNew(next), waiting, lost };
}

export interface ImportedCustomers {
  /** Number of the last change that was read; undefined: there is none behind `after`. */
  readonly last: number | undefined;
  /** Changes that were taken over; the exchange database is still to be told. */
  readonly done: readonly DoneCustomer[];
  /** Number of changes that wait, because most customers are lost. */
  readonly waiting: number;
}

/** Imports at most `rows` customers that changed, of those with a higher number than `after`. */
export async function importCustomers(
  store: Store,
  exchange: Exchange,
  asked: CustomersAsked,
): Promise<ImportedCustomers> {
  const { now } = asked;
  const batch = await readBatch(store, exchange, asked);
  if (!batch) return { last: undefined, done: [], waiting: 0 };
  const { last, judged, waiting, lost } = batch;
  const rejected = judged.flatMap(({ change, problem }) =>
    problem === null ? [] : [{ raw: change.row, path: problem.path, reason: problem.message }],
  );
  await store.transaction(async (tx) => {
    if (lost?.loss) await noteCustomerLoss(tx, lost.loss, now);
    if (lost) await keepKnown(tx, lost.known, now);
    const known = judged.flatMap(({ customer }) => customer ?? []);
    await writeErpCustomers(tx, known, now);
    const accounts = judged.flatMap(({ change: { accountNo, row, others } }) =>
      row === null && others.length === 0 ? [accountNo.trim()] : [],
    );
    await removeErpCustomers(tx, accounts, now);
    const sound = judged.filter(({ problem }) => problem === null);
    const released = sound.map(({ change }) => change.accountNo);
    await releaseRows(tx, 'erp_customer', 'account_no', released);
    const provenance = { source: 'exchange', readSeq: 0, at: now };
    await quarantineRows(tx, 'erp_customer', rejected, provenance);
  });
  const done = judged.map(({ change: { seq, accountNo }, problem }) => ({
    change: { seq, accountNo },
    problem,
  }));
  return { last, done, waiting };
}

/** Takes note that all changes were read, and none of them waits: a loss is over. */
export async function endLossOfCustomers(store: Store, now: number): Promise<void> {
  const loss = await readCustomerLoss(store.db);
  if (loss) await store.transaction((tx) => endCustomerLoss(tx, loss, now));
}
