/**
 * Outbox rows for people and programs: lists of rows, and one row with everything known about it.
 */

import { sql } from 'kysely';
import { type JsonObject, parseJsonObject, tryParseJson } from '../../lib/json.ts';
import { decimalOf } from '../../lib/money.ts';
import { nearestName } from '../../lib/nearest.ts';
import { inKeys } from '../../store/bulk.ts';
import { type IdPage, newestFirst } from '../../store/pages.ts';
import type { Db } from '../../store/store.ts';
import { WAITING_DOCUMENTS } from '../../store/waiting.ts';
import { type Revision, revisionsOf } from '../corrections.ts';
import { type DocumentState, readResult, stateOf } from '../document-state.ts';
import { newOrderOf, readBody, referenceKey } from '../documents.ts';
import { compareOrder, describeOrder } from '../evidence/compare.ts';
import { type Fit, fitOf, knownSpellings } from '../evidence/known-spellings.ts';
import { mirroredOrder } from '../evidence/mirrored.ts';
import { candidatesIn } from '../evidence/records.ts';
import { seasonsShown } from '../evidence/seasons.ts';
import { readLost } from '../watch/lost.ts';
import { isNotable } from './noting.ts';
import { fits, isOpenState, type RowFilter } from './selection.ts';

export interface ListFilter extends RowFilter, IdPage {
  readonly open?: boolean | undefined;
  /** Only documents that wait for a person, whatever their state. */
  readonly waiting?: boolean | undefined;
  readonly reference?: string | undefined;
  readonly outboxId?: number | undefined;
}

type NotListed = 'ended' | 'deliveries' | 'orderRefundId' | 'styleId' | 'problems' | 'nextAction';

export interface OutboxRow extends Omit<DocumentState, NotListed> {
  readonly dueAt: number;
}

export async function listOutbox(db: Db, filter: ListFilter): Promise<OutboxRow[]> {
  let query = db
    .selectFrom('outbox')
    .select(['outbox_id as outboxId', 'kind', 'reference', 'state', 'created_at as createdAt'])
    .select(['attempts', 'order_id as orderId', 'due_at as dueAt', 'last_error as lastError'])
    .select(['blocked_reason as blockedReason', 'ended_at as endedAt', 'result'])
    .where(fits(filter));
  const { reference, outboxId } = filter;
  // What is open is found by its own index and sorted: by the number SQLite would step over all
  // that was ever confirmed.
  const isOpen = filter.open === true || filter.waiting === true || isOpenState(filter.state);
  if (outboxId !== undefined) query = query.where('outbox_id', '=', outboxId);
  if (filter.waiting === true) {
    query = query.where(sql<boolean>`outbox_id in (select id from (${WAITING_DOCUMENTS}))`);
  }
  if (filter.open === true) query = query.where('ended_at', 'is', null);
  if (reference !== undefined) {
    query = query.where((eb) =>
      eb.or([eb('reference_key', '=', referenceKey(reference)), eb('reference', '=', reference)]),
    );
  }
  const rows = await newestFirst(query, isOpen ? sql<number>`+outbox_id` : 'outbox_id', filter);
  const ids = rows.map((row) => row.outboxId);
  const lost = await readLost(db, ids);
  return rows.map(({ result, ...row }) => {
    const { orderNo = null, pendingRefundId = null } = readResult(result);
    return { ...row, orderNo, pendingRefundId, lost: lost.get(row.outboxId) ?? null };
  });
}

/** Documents of pushes, as they were submitted. */
export async function documentsOf(db: Db, outboxIds: readonly number[]): Promise<unknown[]> {
  const rows = await db
    .selectFrom('outbox')
    .select('body')
    .where(inKeys('outbox_id', outboxIds))
    .execute();
  return rows.map(({ body }) => tryParseJson(body));
}

const NAMES_MAX = 1_000;

/** Finds the document with a reference; if there is none, one with a similar reference. */
export async function findDocument(
  db: Db,
  kind: string,
  reference: string,
): Promise<{ readonly outboxId: number } | { readonly near: string | undefined }> {
  const [found] = await listOutbox(db, { kind, reference, limit: 1 });
  if (found) return { outboxId: found.outboxId };
  const newest = await db
    .selectFrom('outbox')
    .select('reference')
    .where('kind', '=', kind)
    .orderBy('outbox_id', 'desc')
    .limit(NAMES_MAX)
    .execute();
  return {
    near: nearestName(
      reference,
      newest.map((row) => row.reference),
    ),
  };
}

interface Evidence {
  readonly at: number;
  readonly source: string;
  readonly outcome: string;
  readonly complete: boolean;
  readonly detail: unknown;
}

/** An order of the service that may be what the document became. */
export interface Candidate {
  readonly orderId: number;
  readonly orderNo: string | null;
  readonly reference: string | null;
  readonly createdAt: number | null;
  readonly currency: string | null;
  readonly lines: readonly {
    readonly barcode: string | null;
    readonly quantity: number | null;
    readonly price: number | null;
    readonly deliveryName: string | null;
  }[];
  readonly seasonName: string | null;
  readonly shippingAddress: JsonObject;
  /**
   * Differences between the submitted document and the candidate; empty for documents that are no
   * orders.
   */
  readonly differences: readonly string[];
}

export interface OutboxCard extends DocumentState {
  readonly cause: string;
  readonly orderingKey: string;
  readonly dueAt: number;
  readonly inDoubtSince: number | null;
  readonly document: JsonObject;
  readonly attemptLog: Awaited<ReturnType<typeof attemptsOf>>;
  readonly evidence: readonly Evidence[];
  /** Orders in the mirror that the document may have become. */
  readonly candidates: readonly Candidate[];
  /** Whether a difference, a loss or a refusal waits until a person takes note of it. */
  readonly isNotable: boolean;
  /** Contents of the document from before it was corrected. */
  readonly revisions: readonly Revision[];
}

function attemptsOf(db: Db, outboxId: number) {
  return db
    .selectFrom('outbox_attempt')
    .select(['attempt', 'started_at as startedAt', 'ended_at as endedAt', 'class', 'answer'])
    .select(['http_status as httpStatus', 'error_code as errorCode'])
    .select(['max_order_id_before as maxOrderIdBefore', 'count_before as countBefore'])
    .where('outbox_id', '=', outboxId)
    .orderBy('attempt')
    .execute();
}

const FITS: Readonly<Record<Fit, string | undefined>> = {
  equal: undefined,
  spelt: undefined,
  lossy: 'reference: of ours a part is lost, as the service is known to do',
  blank: 'reference: shown none that tells',
  no: 'reference: not known to be how the service shows ours',
};

async function differencesOf(
  db: Db,
  { kind, reference, body }: { kind: string; reference: string; body: string },
  orderId: number,
): Promise<string[]> {
  const shown = kind === 'order' ? await mirroredOrder(db, orderId) : undefined;
  if (!shown) return [];
  const sent = newOrderOf(reference, readBody.order(parseJsonObject(body)));
  const fit = FITS[fitOf(await knownSpellings(db, kind), reference, shown.reference ?? null)];
  const { differences } = describeOrder(compareOrder(sent, shown), sent, await seasonsShown(db));
  return [...(fit === undefined ? [] : [fit]), ...differences];
}

async function candidatesOf(
  db: Db,
  row: { kind: string; reference: string; body: string },
  ids: readonly number[],
): Promise<Candidate[]> {
  const orders = await db
    .selectFrom('sales_order')
    .select(['order_id', 'order_no', 'reference', 'created_at', 'currency', 'season_name'])
    .select('shipping_address')
    .where(inKeys('order_id', ids))
    .orderBy('order_id')
    .execute();
  const lines = await db
    .selectFrom('sales_order_line')
    .select(['order_id', 'barcode', 'quantity', 'price', 'delivery_name'])
    .where(inKeys('order_id', ids))
    .orderBy('line_no')
    .execute();
  const candidates: Candidate[] = [];
  for (const order of orders) {
    const own = lines.filter((line) => line.order_id === order.order_id);
    candidates.push({
      orderId: order.order_id,
      orderNo: order.order_no,
      reference: order.reference,
      createdAt: order.created_at,
      currency: order.currency,
      lines: own.map(({ barcode, quantity, price, delivery_name: deliveryName }) => ({
        barcode,
        quantity,
        deliveryName,
        price: price === null ? null : decimalOf(price),
      })),
      seasonName: order.season_name,
      shippingAddress: parseJsonObject(order.shipping_address),
      differences: await differencesOf(db, row, order.order_id),
    });
  }
  return candidates;
}

/** Reads everything known about an outbox row; undefined when there is none. */
export async function showOutbox(db: Db, outboxId: number): Promise<OutboxCard | undefined> {
  const row = await db
    .selectFrom('outbox')
    .selectAll()
    .where('outbox_id', '=', outboxId)
    .executeTakeFirst();
  if (!row) return undefined;
  const state = await stateOf(db, row);
  const found = await db
    .selectFrom('outbox_evidence')
    .selectAll()
    .where('outbox_id', '=', outboxId)
    .orderBy('id')
    .execute();
  const ids = candidatesIn(found.map(({ detail }) => detail));
  const orderIds = state.orderId === null ? ids.orderIds : [...ids.orderIds, state.orderId];
  return {
    ...state,
    cause: row.cause,
    orderingKey: row.ordering_key,
    dueAt: row.due_at,
    inDoubtSince: row.in_doubt_since,
    document: parseJsonObject(row.body),
    attemptLog: await attemptsOf(db, outboxId),
    evidence: found.map(({ at, source, outcome, complete, detail }) => {
      return { at, source, outcome, complete: complete === 1, detail: tryParseJson(detail) };
    }),
    candidates: await candidatesOf(db, row, [...new Set(orderIds)]),
    isNotable: await isNotable(db, outboxId),
    revisions: await revisionsOf(db, outboxId),
  };
}
