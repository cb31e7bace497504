/**
 * The kind `pending_refund` asks for a refund of an order. A refund is found again in the order's
 * short list: by its reference or, where the service does not keep that, by its lines and the
 * number of equal refunds before. No more is asked for than was delivered, or ordered
 * (`outbox.refundsUpTo`), less what is refunded or asked for already.
 */
import { sql } from 'kysely';
import { NO_SUCH_PAGE } from '../../client/http/answer.ts';
import type { V1Client } from '../../client/v1/client.ts';
import { type NewPendingRefund, pendingRefundBody } from '../../client/v1/refunds.ts';
import type { PendingRefund, SalesOrderRefund } from '../../client/v1/schemas.ts';
import { doubtOfLevel } from '../../config/level.ts';
import type { Config } from '../../config/schema.ts';
import { RefusedError, RetryLaterError } from '../../lib/errors.ts';
import { unreadIn } from '../../lib/reading/as-it-came.ts';
import type { Store } from '../../store/store.ts';
import { readResult } from '../document-state.ts';
import { newPendingRefundOf, readBody, referenceKey } from '../documents.ts';
import { comparePendingRefund } from '../evidence/compare.ts';
import {
  type Fit,
  isRefundReference,
  knownSpellings,
  orderReferences,
  type RefundReferences,
  refundFit,
} from '../evidence/known-spellings.ts';
import { mirroredPendingRefund, orderIdOf } from '../evidence/mirrored.ts';
import { type Claim, disowned, knownBefore } from '../evidence/records.ts';
import type { Clearance, LookupResult, OutboxItem, OutboxKind } from '../item.ts';
import {
  acceptedPieces,
  refundableProblems,
  refundPriceProblems,
} from '../preflight/refundable.ts';
import { refundAsSpelt } from '../preflight/spelling.ts';
import { isRefunded, type Levels, type ReadOrder, turnedOff, unlessGone } from '../service.ts';

export interface PendingRefundKindDeps {
  readonly store: Store;
  readonly v1: Pick<
    V1Client,
    'order' | 'refunds' | 'pendingRefunds' | 'pendingRefund' | 'createPendingRefund'
  >;
  readonly readOrder: ReadOrder;
  readonly levels: Levels;
  readonly refundsUpTo: Config['outbox']['refundsUpTo'];
  /** Times that a price may be above or below the list price; null: as far as it wants. */
  readonly priceFactor: number | null;
}

function refundOf(item: OutboxItem, ordered: readonly string[] = []) {
  const document = refundAsSpelt(readBody.pendingRefund(item.body), ordered);
  return { document, refund: newPendingRefundOf(item.reference, document) };
}

async function orderedIn({ db }: Store, orderId: number): Promise<readonly string[]> {
  const rows = await db
    .selectFrom('sales_order_line')
    .select('barcode')
    .where('order_id', '=', orderId)
    .execute();
  return rows.flatMap(({ barcode }) => barcode ?? []);
}

/**
 * Returns the id of the refund's order: the given one, or that of the order submitted or mirrored
 * under the given reference. The id is kept once it is found, because a later order with the same
 * reference is another one.
 */
async function orderOf({ db }: Store, item: OutboxItem): Promise<number | undefined> {
  const { orderId, orderReference } = readBody.pendingRefund(item.body);
  if (orderId !== undefined) return orderId;
  const found = await db
    .selectFrom('outbox')
    .select('order_id')
    .where('outbox_id', '=', item.outboxId)
    .executeTakeFirst();
  return found?.order_id ?? orderIdOf(db, orderReference ?? '');
}

interface Listed {
  /** Whether the account has no list of pending refunds at all. */
  readonly isNone: boolean;
  /** Whether a row cannot be read: a refund that is not found may be that row. */
  readonly isPartial: boolean;
  readonly pending: readonly PendingRefund[];
  readonly refunds: readonly SalesOrderRefund[];
}

/**
 * Reads the order's lists of pending refunds and of refunds, one after the other: a refund that is
 * confirmed meanwhile is in at least one of them.
 */
async function listed(
  { v1 }: PendingRefundKindDeps,
  orderId: number,
  signal: AbortSignal,
): Promise<Listed | undefined> {
  const call = { priority: 'push', signal } as const;
  const pending = await unlessGone(v1.pendingRefunds(orderId, call));
  const refunds = pending && (await unlessGone(v1.refunds(orderId, call)));
  if (!refunds) return undefined;
  const isUnread = [...pending.rows, ...refunds.rows].some((row) => unreadIn(row).length > 0);
  const isPartial = pending.rejects.length + refunds.rejects.length > 0 || isUnread;
  // An order without refunds has an empty list, so a 404 means that the account has no such list.
  const isNone = pending.isUnknown === true && !refunds.isUnknown && refunds.rows.length === 0;
  return { pending: pending.rows, refunds: refunds.rows, isPartial, isNone };
}

async function candidates(
  { store }: PendingRefundKindDeps,
  item: OutboxItem,
  pending: readonly PendingRefund[],
): Promise<readonly PendingRefund[]> {
  const others = await disowned(store.db, item.outboxId);
  return pending.filter(({ pendingRefundId }) => !others.has(pendingRefundId));
}

interface Around {
  readonly references: RefundReferences;
  /** Other documents that own refunds of the order, by their result or by their reference. */
  readonly others: ReadonlyMap<unknown, Claim>;
}

async function aroundOf(
  { store }: PendingRefundKindDeps,
  item: OutboxItem,
  orderId: number,
  pending: readonly PendingRefund[],
): Promise<Around> {
  const known = await knownSpellings(store.db, item.kind);
  const references = { known, ofOrder: await orderReferences(store.db, orderId) };
  const others = new Map(await claimed(store, item));
  for (const { pendingRefundId, reference } of pending) {
    if (refundFit(references, item.reference, reference) !== 'no') continue;
    const owner = await ownerOf(store, item, reference);
    if (owner) others.set(pendingRefundId, owner);
  }
  return { references, others };
}

/** Whether the fit of a reference decides; a cut reference may be that of another refund. */
function tells(fit: Fit): boolean {
  return fit === 'equal' || fit === 'spelt' || fit === 'no';
}

/**
 * Lists refunds with the document's reference; undefined when no shown reference tells anything.
 */
function byReference(
  pending: readonly PendingRefund[],
  item: OutboxItem,
  { references, others }: Around,
) {
  const fits = pending.map((one) => refundFit(references, item.reference, one.reference));
  if (fits.length > 0 && !fits.some(tells)) return undefined;
  return pending.filter(({ pendingRefundId }, index) => {
    const fit = fits[index];
    return (fit === 'equal' || fit === 'spelt') && !others.has(pendingRefundId);
  });
}

function alike(pending: readonly PendingRefund[], refund: NewPendingRefund): PendingRefund[] {
  return pending.filter((one) => comparePendingRefund(refund, one).length === 0);
}

function judge(item: OutboxItem, found: PendingRefund, references: RefundReferences): LookupResult {
  const { pendingRefundId, orderId, reference } = found;
  const isOurs = isRefundReference(references, item.reference, reference);
  const lines = comparePendingRefund(refundOf(item).refund, found);
  const differences = [...(isOurs ? [] : [`reference: shown ${reference}`]), ...lines];
  const detail = { pendingRefundId, orderId, differences };
  if (differences.length > 0 && item.result === null) {
    const reason = `pending refund ${pendingRefundId} has this reference, but other lines`;
    return { outcome: 'ambiguous', reason, detail };
  }
  // A refund that is shown with the order's reference does not show the document's.
  const isBlank = refundFit(references, item.reference, reference) === 'blank';
  const shownReference = isBlank ? '' : (reference ?? '');
  const teaches = lines.length === 0 ? { shownReference } : {};
  return {
    outcome: 'matched',
    detail,
    differences,
    result: { orderId, pendingRefundId },
    ...teaches,
  };
}

function ofAnother(pendingRefundId: number, { outboxId, reference }: Claim): LookupResult {
  const whose = `that of outbox ${outboxId} (${reference})`;
  const reason = `the service answered with pending refund ${pendingRefundId}, which is ${whose}`;
  return { outcome: 'ambiguous', reason, detail: { pendingRefundId } };
}

function mayBeOurs(
  item: OutboxItem,
  { reference, pendingRefundId }: PendingRefund,
  { references, others }: Around,
): boolean {
  if (others.has(pendingRefundId)) return false;
  const fit = refundFit(references, item.reference, reference);
  return fit !== 'no' || references.known.now === undefined;
}

/** Searches the list of pending refunds; without `countBefore`, only a reference can tell. */
function findIn(
  item: OutboxItem,
  pending: readonly PendingRefund[],
  countBefore: number | undefined,
  around: Around,
): LookupResult {
  const { references } = around;
  const named = byReference(pending, item, around);
  const [first] = named ?? [];
  if (named && named.length > 1) {
    const ids = named.map(({ pendingRefundId }) => pendingRefundId);
    const reason = `${named.length} pending refunds have this reference: ${ids.join(', ')}`;
    return { outcome: 'ambiguous', reason, detail: { pendingRefundIds: ids } };
  }
  if (first) return judge(item, first, references);
  const detail = { listed: pending.length, countBefore: countBefore ?? null };
  const like = alike(pending, refundOf(item).refund);
  const more = like.length - (countBefore ?? 0);
  if (named) {
    const ids = like
      .filter((one) => mayBeOurs(item, one, around))
      .map(({ pendingRefundId }) => pendingRefundId);
    if (countBefore === undefined || more <= 0 || ids.length === 0)
      return { outcome: 'not_found', detail };
    const reason = `it may be one whose reference does not tell: ${ids.join(', ')}`;
    return { outcome: 'ambiguous', reason, detail: { ...detail, pendingRefundIds: ids } };
  }
  const newest = like.toSorted((a, b) => b.pendingRefundId - a.pendingRefundId)[0];
  if (countBefore === undefined || more <= 0 || !newest) {
    return { outcome: 'not_found', complete: countBefore !== undefined, detail };
  }
  if (more === 1) return judge(item, newest, references);
  const ids = like.map(({ pendingRefundId }) => pendingRefundId);
  const reason = `${more} more like it are there than before: ${ids.join(', ')}`;
  return { outcome: 'ambiguous', reason, detail: { ...detail, pendingRefundIds: ids } };
}

/** Rebuilds pending refunds that were confirmed and left the list, as far as their refunds tell. */
function unlisted({ pending, refunds }: Listed): PendingRefund[] {
  const shown = new Set(pending.map(({ pendingRefundId }) => pendingRefundId));
  return refunds.flatMap(({ pendingRefundId, orderId, refundedLineItems: lines }) =>
    typeof pendingRefundId !== 'number' || shown.has(pendingRefundId)
      ? []
      : {
          pendingRefundId,
          orderId,
          status: 'confirmed',
          // The refund's prices and kinds may be the service's own by now, so they are left out.
          refundLineItems: (lines ?? []).map(({ barcode, refundedQuantity: quantity }) => {
            return { barcode, quantity };
          }),
        },
  );
}

/**
 * Whether an equal pending refund in the mirror has left the list; a canceled one leaves no refund.
 */
async function hasLeft(
  { store }: PendingRefundKindDeps,
  orderId: number,
  { pending }: Listed,
  refund: NewPendingRefund,
): Promise<boolean> {
  const shown = new Set(pending.map(({ pendingRefundId }) => pendingRefundId));
  const mirrored = await store.db
    .selectFrom('pending_refund')
    .select('pending_refund_id as id')
    .where('order_id', '=', orderId)
    .execute();
  for (const { id } of mirrored.filter((one) => !shown.has(one.id))) {
    const known = await mirroredPendingRefund(store.db, id);
    if (comparePendingRefund(refund, known).length === 0) return true;
  }
  return false;
}

/** Searches both lists: a refund that was confirmed since may be among the refunds only. */
async function findInBoth(
  deps: PendingRefundKindDeps,
  item: OutboxItem,
  orderId: number,
  lists: Listed,
): Promise<LookupResult> {
  const { count } = await knownBefore(deps.store.db, item);
  const { refund } = refundOf(item);
  const pending = await candidates(deps, item, lists.pending);
  const around = await aroundOf(deps, item, orderId, pending);
  const lookup = findIn(item, pending, count, around);
  if (lookup.outcome !== 'not_found') return lookup;
  const { others } = around;
  const gone = alike(await candidates(deps, item, unlisted(lists)), refund);
  if (gone.length === 0 && !(await hasLeft(deps, orderId, lists, refund))) return lookup;
  const idsOf = (rows: readonly PendingRefund[]): number[] =>
    rows.map((one) => one.pendingRefundId).filter((id) => !others.has(id));
  const goneIds = idsOf(gone);
  // A pending refund that was counted before may have left the list: then the number tells nothing.
  const left = alike(pending, refund).filter((one) => mayBeOurs(item, one, around));
  const ids = [...goneIds, ...idsOf(left)];
  if (ids.length === 0) return lookup;
  const reason =
    goneIds.length === 0
      ? `it may be there, where another one like it has left the list: ${ids.join(', ')}`
      : `it may be confirmed already: like it, but not listed any more: ${goneIds.join(', ')}`;
  return { outcome: 'ambiguous', reason, detail: { ...lookup.detail, pendingRefundIds: ids } };
}

async function lookUp(
  deps: PendingRefundKindDeps,
  item: OutboxItem,
  signal: AbortSignal,
): Promise<LookupResult> {
  const orderId = await orderOf(deps.store, item);
  if (orderId === undefined) return { outcome: 'not_found', complete: false, detail: {} };
  const { pendingRefundId } = readResult(item.result);
  const lookup = await (async (): Promise<LookupResult> => {
    if (typeof pendingRefundId === 'number') {
      const call = { priority: 'read', signal } as const;
      const read = await unlessGone(deps.v1.pendingRefund(orderId, pendingRefundId, call));
      const shown = read ? [read.value] : [];
      const { references, others } = await aroundOf(deps, item, orderId, shown);
      const other = others.get(pendingRefundId);
      if (other) return ofAnother(pendingRefundId, other);
      if (read) return judge(item, read.value, references);
      if (await isRefunded(deps.v1, orderId, pendingRefundId, signal)) {
        return { outcome: 'matched', detail: { pendingRefundId, orderId, shown: false } };
      }
      return { outcome: 'not_found', complete: false, detail: { pendingRefundId, shown: false } };
    }
    const lists = await listed(deps, orderId, signal);
    if (!lists) return { outcome: 'not_found', complete: false, detail: { orderId, shown: false } };
    if (lists.isPartial)
      return { outcome: 'not_found', complete: false, detail: { orderId, partial: true } };
    return findInBoth(deps, item, orderId, lists);
  })();
  if (lookup.outcome === 'matched') {
    const cause = `outbox:${item.outboxId}`;
    await deps.readOrder(orderId, { cause, priority: 'read', refunds: true, signal });
  }
  return lookup;
}

function unfit(path: string, message: string): Clearance {
  const problems = [{ path, message, severity: 'error' as const }];
  return { send: false, lookup: { outcome: 'invalid', problems } };
}

/**
 * Handles a web page as the answer instead of the lists: undefined once it is certain that the
 * account has no such lists; until then the push is retried.
 */
async function noLists(
  { levels }: PendingRefundKindDeps,
  orderId: number,
  error: unknown,
): Promise<undefined> {
  if (!(error instanceof RefusedError) || error.code !== NO_SUCH_PAGE) throw error;
  await levels.missing('pendingRefunds', error, String(orderId));
  if (levels.whyNot('pendingRefunds') !== undefined) return undefined;
  throw new RetryLaterError(error.code, error.message, { cause: error });
}

async function clear(
  deps: PendingRefundKindDeps,
  item: OutboxItem,
  signal: AbortSignal,
): Promise<Clearance> {
  const { document, refund } = refundOf(item);
  const orderId = await orderOf(deps.store, item);
  const path = document.orderId === undefined ? 'orderReference' : 'orderId';
  if (orderId === undefined)
    return unfit(path, `no order with the reference ${document.orderReference} is known`);
  const call = { priority: 'push', signal } as const;
  const order = await unlessGone(deps.v1.order(orderId, call));
  if (!order) return unfit(path, `the service has no order ${orderId}`);
  const lists = await listed(deps, orderId, signal).catch((error: unknown) =>
    noLists(deps, orderId, error),
  );
  if (lists?.isNone) {
    const error = new Error('HTTP 404 in place of the pending refunds');
    await deps.levels.missing('pendingRefunds', error, String(orderId));
  }
  if (!lists || lists.isNone) {
    const { hint } = doubtOfLevel(deps.levels.level, 'pendingRefunds');
    return unfit('', `the service has order ${orderId}, and no pending refunds below it: ${hint}`);
  }
  if (lists.isPartial || unreadIn(order.value).length > 0) {
    const text = `the refunds of order ${orderId} cannot all be read, or the order itself`;
    throw new RetryLaterError('outbox.refunds_unreadable', text);
  }
  const pending = await candidates(deps, item, lists.pending);
  const around = await aroundOf(deps, item, orderId, pending);
  const named = byReference(pending, item, around) ?? [];
  if (named.length > 0) return { send: false, lookup: findIn(item, pending, undefined, around) };
  const isByDelivered = deps.refundsUpTo === 'delivered';
  const accepted = isByDelivered ? await acceptedPieces(deps.store, orderId) : undefined;
  const problems = [
    ...refundableProblems(document, order.value, lists, accepted),
    ...(await refundPriceProblems(deps.store.db, document, order.value, deps.priceFactor)),
  ];
  if (problems.some(({ severity }) => severity === 'error')) {
    return { send: false, lookup: { outcome: 'invalid', problems } };
  }
  const countBefore = alike(pending, refund).length;
  return { send: true, baseline: { countBefore }, warnings: problems, orderId };
}

export function createPendingRefundKind(deps: PendingRefundKindDeps): OutboxKind {
  return {
    kind: 'pending_refund',
    off: () => turnedOff(deps.levels.whyNot('pendingRefunds')),
    creates: () => true,
    clear: (item, signal) => clear(deps, item, signal),
    lookUp: (item, signal) => lookUp(deps, item, signal),
    async send(item, request) {
      const orderId = await orderOf(deps.store, item);
      if (orderId === undefined) {
        throw new RetryLaterError('outbox.order_unknown', 'its order is not known any more');
      }
      const { refund } = refundOf(item, await orderedIn(deps.store, orderId));
      const body = pendingRefundBody(refund);
      const call = { priority: 'push', ...request } as const;
      const { value } = await deps.v1.createPendingRefund(orderId, body, call);
      return { orderId, pendingRefundId: value.pendingRefundId };
    },
  };
}

// Owners: other documents of ours to which pending refunds of the order belong.

async function ownerOf(
  { db }: Store,
  { kind, outboxId }: OutboxItem,
  reference: string | null | undefined,
): Promise<Claim | undefined> {
  return db
    .selectFrom('outbox')
    .select(['outbox_id as outboxId', 'reference'])
    .where('kind', '=', kind)
    .where('reference_key', '=', referenceKey(reference ?? ''))
    .where('outbox_id', '!=', outboxId)
    .executeTakeFirst();
}

/** Maps pending refunds of the order to the other documents that have become them. */
async function claimed(
  { db }: Store,
  { outboxId, orderingKey }: OutboxItem,
): Promise<ReadonlyMap<unknown, Claim>> {
  const others = await db
    .selectFrom('outbox')
    .select(['outbox_id as outboxId', 'reference', 'result'])
    .where('ordering_key', '=', orderingKey)
    // As the text of its index, which a parameter would not be.
    .where('kind', '=', sql.lit('pending_refund'))
    .where('outbox_id', '!=', outboxId)
    .where('state', '!=', 'canceled')
    .execute();
  return new Map(others.map((one) => [readResult(one.result).pendingRefundId, one]));
}
