/**
 * Binds the data folder to one account. Pointed at another address (a sandbox's data folder at
 * production), the daemon would send open pushes to the wrong account and mark its deliveries as
 * gone.
 *
 * The same address and client id are the same account. Otherwise nothing is requested or sent until
 * the account was compared with the mirror; a contradiction ends the daemon, and a person decides.
 */

import { isNotFound } from '../client/http/answer.ts';
import type { V1Client } from '../client/v1/client.ts';
import type { SalesOrder } from '../client/v1/schemas.ts';
import type { Clock } from '../lib/clock.ts';
import { ConfigError, toError } from '../lib/errors.ts';
import type { Logger } from '../lib/log.ts';
import { type Actor, writeAudit } from '../store/audit.ts';
import { writePause } from '../store/pauses.ts';
import {
  type Account,
  readAccount,
  readSystemKey,
  writeAccount,
  writeAccountHold,
} from '../store/state.ts';
import type { Db, Store } from '../store/store.ts';
import { referenceKey } from './documents.ts';

export interface AccountDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Logger;
  readonly account: Account;
}

export interface AccountGuard {
  readonly name: string;
  /**
   * Returns why nothing may be requested from the service; undefined: the account is that of the
   * mirror.
   */
  hold(): string | undefined;
  onKnown(task: () => void): void;
  /** Compares account and mirror until the account is known; then waits for the signal to abort. */
  run(signal: AbortSignal): Promise<void>;
}

const RETRY_MS = 30_000;
/**
 * Interval of the worker's idle rounds in milliseconds, by which the supervisor sees that it lives.
 */
const IDLE_MS = 60_000;

const IP_ADDRESS = /^(\[.*\]|[\d.]+)$/;

/** Returns the system key of an address such as `https://{systemKey}.{domain}/api/v1`. */
function systemKeyOf(address: string): string | undefined {
  const host = URL.parse(address)?.hostname ?? '';
  const [first, ...domain] = host.split('.');
  return IP_ADDRESS.test(host) || domain.length < 2 ? undefined : first;
}

async function isOtherSystem(db: Db, before: Account, now: Account): Promise<boolean> {
  const learned = await readSystemKey(db);
  if (learned === undefined || systemKeyOf(before.address) !== learned) return false;
  const other = systemKeyOf(now.address);
  return other !== undefined && other !== learned;
}

/** Whether the data folder has documents that could be sent to the wrong account. */
async function hasDocuments(db: Db): Promise<boolean> {
  const row = await db.selectFrom('outbox').select('outbox_id').limit(1).executeTakeFirst();
  return row !== undefined;
}

function nameOf({ address, clientId }: Account): string {
  return clientId === null ? address : `${address} (client ${clientId})`;
}

function another(before: Account, now: Account, why: string): ConfigError {
  const text = `${nameOf(now)} is not the account of this data folder, ${nameOf(before)}: ${why}`;
  return new ConfigError('account.another', text, {
    hint:
      'nothing was sent. For another account set dataDir to a new folder; if it is the same one ' +
      'all the same: selvedge account adopt --reason "…"',
  });
}

async function judge(
  { store: { db }, account }: AccountDeps,
  before: Account,
  v1: Pick<V1Client, 'order' | 'stockVariant'>,
  signal: AbortSignal,
): Promise<Comparison> {
  if (await isOtherSystem(db, before, account)) {
    return { outcome: 'another', why: 'its address names another system key' };
  }
  const compared = await compareWithAccount({ db, v1, signal });
  if (compared.outcome !== 'nothing') return compared;
  if (!(await hasDocuments(db))) return { outcome: 'equal', why: 'there is nothing to be sent' };
  return {
    outcome: 'another',
    why: 'the outbox has documents, and the mirror no order to compare',
  };
}

async function takeOver({ store, clock, account }: AccountDeps): Promise<void> {
  await store.transaction(async (tx) => {
    await writeAccount(tx, account, clock);
    await writeAccountHold(tx, '', clock);
  });
}

function isSame(a: Account, b: Account): boolean {
  return a.address === b.address && a.clientId === b.clientId;
}

/**
 * Opens the guard.
 * @param v1 client that the comparison uses while all other requests are held.
 */
export async function openAccountGuard(
  deps: AccountDeps,
  v1: () => Pick<V1Client, 'order' | 'stockVariant'>,
): Promise<AccountGuard> {
  const { store, clock, log, account } = deps;
  const before = await readAccount(store.db);
  const tasks: (() => void)[] = [];
  let why: string | undefined;
  if (before === undefined || isSame(before, account)) await takeOver(deps);
  else why = `${nameOf(account)} is not yet known to be ${nameOf(before)}`;

  const compare = async (known: Account, signal: AbortSignal): Promise<void> => {
    const { outcome, why: reason } = await judge(deps, known, v1(), signal);
    if (outcome === 'another') throw another(known, account, reason);
    if (outcome === 'equal') {
      await takeOver(deps);
      why = undefined;
      const subject = nameOf(account);
      const entry = { actor: 'daemon', reason, action: 'account.take_over', subject };
      await writeAudit(store.db, { ...entry, detail: { before: known } }, clock.now());
      log.warn({ before: nameOf(known), now: subject, reason }, 'the account has moved');
      for (const task of tasks) task();
      return;
    }
    const held = `${nameOf(account)} cannot be compared with ${nameOf(known)}: ${reason}`;
    if (held !== why) log.warn({ reason: held }, 'nothing is sent until the account is known');
    why = held;
    await writeAccountHold(store.db, held, clock);
  };
  return {
    name: 'account',
    hold: () => why,
    onKnown: (task) => void tasks.push(task),
    async run(signal) {
      while (!signal.aborted) {
        if (why !== undefined && before !== undefined) await compare(before, signal);
        const ms = why === undefined ? IDLE_MS : RETRY_MS;
        await clock.sleep(ms, signal).catch(() => undefined);
      }
    },
  };
}

export interface Adopted {
  readonly before: Account | null;
  readonly now: Account;
  /** Number of open documents, which wait until pushes are resumed. */
  readonly open: number;
}

/**
 * Records a person's word that the configured account is that of the data folder. Open documents
 * may be meant for the other account, so pushes are paused until a person has looked through them.
 */
export async function adoptAccount(
  { store, clock, account }: Omit<AccountDeps, 'log'>,
  { actor, reason }: Actor,
): Promise<Adopted> {
  const at = clock.now();
  return store.transaction(async (tx) => {
    const before = (await readAccount(tx)) ?? null;
    const row = await tx
      .selectFrom('outbox')
      .select((eb) => eb.fn.countAll<number>().as('n'))
      .where('ended_at', 'is', null)
      .executeTakeFirstOrThrow();
    const open = Number(row.n);
    await writeAccount(tx, account, clock);
    await writeAccountHold(tx, '', clock);
    if (open > 0) {
      const why = `account adopted: ${reason}`;
      await writePause(tx, { target: 'pushes', name: '', reason: why, actor, at });
    }
    const entry = { actor, reason, action: 'account.adopt', subject: nameOf(account) };
    await writeAudit(tx, { ...entry, detail: { before, open } }, at);
    return { before, now: account, open };
  });
}

// Comparison: the newest mirrored orders must all be at the account, with the same reference and
// the same articles. A mirror without orders is compared by its articles.

const COMPARED_MAX = 20;

interface AccountReader {
  readonly db: Db;
  readonly v1: Pick<V1Client, 'order' | 'stockVariant'>;
  readonly signal: AbortSignal;
}

/**
 * Result of comparing account and mirror. `unknown`: the service could not be reached; `nothing`:
 * the mirror has nothing to compare.
 */
interface Comparison {
  readonly outcome: 'equal' | 'another' | 'unknown' | 'nothing';
  readonly why: string;
}

interface MirroredOrder {
  readonly order_id: number;
  readonly reference: string | null;
}

async function newestOrders(db: Db): Promise<readonly MirroredOrder[]> {
  return db
    .selectFrom('sales_order')
    .select(['order_id', 'reference'])
    .where('deleted_at', 'is', null)
    .orderBy('order_id', 'desc')
    .limit(COMPARED_MAX)
    .execute();
}

/** Joins the barcodes of an order into one text; undefined when one of them cannot be read. */
function articlesOf(lines: readonly { readonly barcode: string | null }[] | null) {
  const barcodes = (lines ?? []).flatMap(({ barcode }) => barcode ?? []);
  const isRead = lines !== null && barcodes.length === lines.length;
  return isRead ? [...new Set(barcodes)].sort().join('\n') : undefined;
}

/**
 * Returns how the order at the service differs from the mirrored one; undefined: they are equal.
 */
async function differenceOf(
  db: Db,
  { order_id: id, reference }: MirroredOrder,
  shown: SalesOrder,
): Promise<string | undefined> {
  if (referenceKey(shown.reference ?? '') !== referenceKey(reference ?? '')) {
    return `order ${id} is "${shown.reference ?? ''}" there, and "${reference ?? ''}" here`;
  }
  const lines = await db
    .selectFrom('sales_order_line')
    .select('barcode')
    .where('order_id', '=', id)
    .execute();
  const here = articlesOf(lines);
  const there = articlesOf(shown.orderLineItems);
  if (here === undefined || there === undefined) return undefined;
  return here === there ? undefined : `order ${id} has other articles there`;
}

async function compareOrders(
  { db, v1, signal }: AccountReader,
  orders: readonly MirroredOrder[],
): Promise<Comparison> {
  let failures = 0;
  for (const order of orders) {
    try {
      const { value } = await v1.order(order.order_id, { priority: 'read', signal });
      const difference = await differenceOf(db, order, value);
      if (difference !== undefined) return { outcome: 'another', why: difference };
    } catch (error) {
      if (signal.aborted) throw error;
      if (isNotFound(error)) {
        return { outcome: 'another', why: `order ${order.order_id} is not there` };
      }
      // Some that always fail keep nothing from being sent, where the others are equal.
      failures += 1;
      const isMost = failures * 2 > orders.length;
      if (isMost) return { outcome: 'unknown', why: toError(error).message };
    }
  }
  const of = failures === 0 ? '' : `${orders.length - failures} of `;
  return { outcome: 'equal', why: `${of}the ${orders.length} newest orders are there` };
}

/**
 * Compares account and mirror by their articles; articles come and go, so more than half must
 * exist.
 */
async function compareArticles(
  { v1, signal }: AccountReader,
  barcodes: readonly string[],
): Promise<Comparison> {
  let there = 0;
  let failed = '';
  let failures = 0;
  for (const barcode of barcodes) {
    try {
      await v1.stockVariant(barcode, {}, { priority: 'read', signal });
      there += 1;
    } catch (error) {
      if (signal.aborted) throw error;
      if (isNotFound(error)) continue;
      failed = toError(error).message;
      failures += 1;
      if (failures * 2 > barcodes.length) break;
    }
  }
  const why = `${there} of ${barcodes.length} articles of the stock are there`;
  if (there * 2 > barcodes.length) return { outcome: 'equal', why };
  // With those that could not be asked for, most may be there.
  const mayBeThere = failures > 0 && (there + failures) * 2 > barcodes.length;
  return mayBeThere ? { outcome: 'unknown', why: failed } : { outcome: 'another', why };
}

async function compareWithAccount(reader: AccountReader): Promise<Comparison> {
  const orders = await newestOrders(reader.db);
  if (orders.length > 0) return compareOrders(reader, orders);
  const stock = await reader.db
    .selectFrom('stock_variant')
    .select('barcode')
    .where('deleted_at', 'is', null)
    .limit(COMPARED_MAX)
    .execute();
  if (stock.length === 0) return { outcome: 'nothing', why: 'the mirror has no order' };
  return compareArticles(
    reader,
    stock.map(({ barcode }) => barcode),
  );
}
