/**
 * Sorts orders of the service by whether a document has become them. `ours`: an order with the
 * document's reference, as sent or as this service is known to show it, that no other document may
 * have become. `perhaps`: an order with similar lines and a reference that does not tell; the
 * document is never sent again while there is one.
 */
import { sql } from 'kysely';
import { parseJsonObject } from '../../lib/json.ts';
import { readRestored } from '../../store/state.ts';
import type { Db } from '../../store/store.ts';
import { readBody, referenceKey } from '../documents.ts';
import type { OutboxItem } from '../item.ts';
import { type Pieces, piecesOf, type Relation, relate } from './compare.ts';
import { type Fit, fitOf, isTested, type KnownSpellings, mayBeShown } from './known-spellings.ts';
import type { SeenOrder } from './mirrored.ts';
import { type Claim, claimsOf, disowned } from './records.ts';
import { foldReference, isPlausible } from './spelling.ts';

const BEARERS_MAX = 10;

export interface Sought {
  readonly item: OutboxItem;
  readonly pieces: Pieces;
  readonly known: KnownSpellings;
}

export interface Candidate {
  readonly orderId: number;
  readonly fit: Fit;
  readonly isBefore: boolean;
  readonly why: string;
}

export interface Survey {
  readonly ours: readonly Candidate[];
  readonly perhaps: readonly Candidate[];
}

/** Lists other documents that may have been sent but whose order at the service is not known. */
async function unplaced(db: Db, { kind, outboxId }: OutboxItem): Promise<Claim[]> {
  const restored = await readRestored(db);
  return db
    .selectFrom('outbox')
    .select(['outbox_id as outboxId', 'reference'])
    .where('kind', '=', kind)
    .where('state', 'in', ['queued', 'sending', 'sent', 'in_doubt', 'dead', 'canceled'])
    .where((eb) => eb.or([eb('attempts', '>', 0), eb('created_at', '<=', restored?.at ?? -1)]))
    .where('outbox_id', '!=', outboxId)
    .execute();
}

/** Lists other documents with this reference, either as sent or as the service showed it. */
async function bearers(db: Db, { kind, outboxId }: OutboxItem, shown: string): Promise<Claim[]> {
  const by = (column: 'reference_key' | 'shown_reference', text: string) =>
    db
      .selectFrom('outbox')
      .select(['outbox_id as outboxId', 'reference'])
      .where('kind', '=', kind)
      .where(column, '=', text)
      .where('outbox_id', '!=', outboxId)
      .where(sql<string>`+state`, '!=', 'refused')
      .limit(BEARERS_MAX)
      .execute();
  return [
    ...(await by('reference_key', referenceKey(shown))),
    ...(await by('shown_reference', shown)),
  ];
}

async function piecesOfRow(db: Db, outboxId: number): Promise<Pieces> {
  const row = await db
    .selectFrom('outbox')
    .select('body')
    .where('outbox_id', '=', outboxId)
    .executeTakeFirst();
  return piecesOf(readBody.order(parseJsonObject(row?.body ?? '{}')).lines);
}

/** Keeps those documents that may have become an order with these pieces. */
async function related(db: Db, rivals: readonly Claim[], pieces: Pieces): Promise<Claim[]> {
  const found: Claim[] = [];
  for (const rival of rivals) {
    const own = await piecesOfRow(db, rival.outboxId);
    if (relate(own, pieces) !== 'other') found.push(rival);
  }
  return found;
}

function named(rivals: readonly Claim[]): string {
  return rivals.map(({ outboxId, reference }) => `outbox ${outboxId} (${reference})`).join(', ');
}

interface Sorted {
  readonly as: 'ours' | 'perhaps';
  readonly why: string;
}

function lettersOf(text: string): string {
  return foldReference(text).replace(/[^\p{L}\p{N}]/gu, '');
}

/**
 * Whether the service may show another document's reference like this; while the spelling is
 * untested, a part of the reference counts as well.
 */
function mayBeTheirs(known: KnownSpellings, { reference }: Claim, shown: string): boolean {
  if (mayBeShown(known, reference, shown)) return true;
  if (isTested(known, reference)) return false;
  const [own, other] = [lettersOf(reference), lettersOf(shown)];
  return own.includes(other) || other.includes(own);
}

/**
 * Whether the service may show our document's reference like this, as far as the spelling is known.
 */
function mayBeOurs({ item, known }: Sought, shown: string): boolean {
  const { reference } = item;
  if (!isTested(known, reference) || mayBeShown(known, reference, shown)) return true;
  return isPlausible({ sent: reference, shown });
}

async function sortFitting(
  db: Db,
  { known }: Sought,
  { shown, pieces, fit, relation }: Weighed,
  neighbours: readonly Claim[],
): Promise<Sorted | undefined> {
  const bearing = neighbours.filter((rival) => mayBeTheirs(known, rival, shown));
  const rivals = await related(db, bearing, pieces);
  // An order with other pieces and a reference that several documents may share is not ours.
  if (relation === 'other' && (fit === 'lossy' || rivals.length > 0)) return undefined;
  if (rivals.length > 0) {
    return { as: 'perhaps', why: `its reference may also be that of ${named(rivals)}` };
  }
  if (fit === 'lossy' && relation !== 'alike') {
    return { as: 'perhaps', why: 'its reference fits, but its pieces do not' };
  }
  return { as: 'ours', why: '' };
}

/** Lists other documents that have the order's reference, as far as the spelling is known. */
async function ownersOf(
  db: Db,
  { item, known }: Sought,
  { shown }: Weighed,
  neighbours: readonly Claim[],
): Promise<Claim[]> {
  const bearing = (await bearers(db, item, shown)).filter(({ reference }) =>
    ['equal', 'spelt'].includes(fitOf(known, reference, shown)),
  );
  return [...bearing, ...neighbours.filter(({ reference }) => mayBeShown(known, reference, shown))];
}

/** Sorts an order that has another reference, or one that tells nothing. */
async function sortOther(
  db: Db,
  sought: Sought,
  weighed: Weighed,
  neighbours: readonly Claim[],
): Promise<Sorted | undefined> {
  const { shown, pieces, fit, relation } = weighed;
  if (relation === 'other') return undefined;
  if (fit === 'blank') {
    const what = shown === '' ? 'it has no reference' : `its reference ${shown} tells nothing`;
    return { as: 'perhaps', why: what };
  }
  // When the spelling is known, an order with other pieces and another reference is not ours.
  if (relation === 'related' && isTested(sought.known, sought.item.reference)) return undefined;
  if (!mayBeOurs(sought, shown)) {
    const owners = await ownersOf(db, sought, weighed, neighbours);
    if ((await related(db, owners, pieces)).length > 0) return undefined;
  }
  return { as: 'perhaps', why: `its reference ${shown} is not known to be another's` };
}

interface Weighed {
  /** Reference that the service shows for the order; empty: it has none. */
  readonly shown: string;
  readonly pieces: Pieces;
  readonly fit: Fit;
  readonly relation: Relation;
}

export function isFitting(fit: Fit): boolean {
  return fit !== 'no' && fit !== 'blank';
}

/** Whether a walk over the orders has to keep this order for {@link sortOut}. */
export function isWanted(
  { item, pieces, known }: Sought,
  reference: string | null | undefined,
  theirs: Pieces,
): boolean {
  if (relate(pieces, theirs) !== 'other') return true;
  return isFitting(fitOf(known, item.reference, reference ?? null));
}

/**
 * Sorts the orders that were seen; the document cannot have become one with an id up to `floor`.
 */
export async function sortOut(
  db: Db,
  sought: Sought,
  seen: readonly SeenOrder[],
  floor: number,
): Promise<Survey> {
  const { item, known } = sought;
  const orders = [...new Map(seen.map((one) => [one.orderId, one])).values()];
  if (orders.length === 0) return { ours: [], perhaps: [] };
  const notOurs = await disowned(db, item.outboxId);
  const claimed = await claimsOf(
    db,
    orders.map(({ orderId }) => orderId),
    item.outboxId,
  );
  const neighbours = await unplaced(db, item);
  const ours: Candidate[] = [];
  const perhaps: Candidate[] = [];
  for (const { orderId, reference, orderLineItems } of orders) {
    if (notOurs.has(orderId) || claimed.has(orderId)) continue;
    const fit = fitOf(known, item.reference, reference ?? null);
    const isBefore = orderId <= floor;
    if (isBefore && fit !== 'equal') continue;
    const pieces = piecesOf(orderLineItems);
    const relation = relate(sought.pieces, pieces);
    const weighed = { shown: reference ?? '', pieces, fit, relation };
    const sort = isFitting(fit) ? sortFitting : sortOther;
    const sorted = await sort(db, sought, weighed, neighbours);
    if (!sorted) continue;
    const list = sorted.as === 'ours' ? ours : perhaps;
    list.push({ orderId, fit, isBefore, why: sorted.why });
  }
  return { ours, perhaps };
}

/**
 * Finds another document that this order belongs to, although the service answered ours with it.
 */
export async function otherOwner(
  db: Db,
  { item, known }: Sought,
  { orderId, reference }: SeenOrder,
): Promise<Claim | undefined> {
  const claim = (await claimsOf(db, [orderId], item.outboxId)).get(orderId);
  if (claim) return claim;
  const shown = reference ?? '';
  if (fitOf(known, item.reference, shown) !== 'no') return undefined;
  // A document that has certainly become another order is no owner of this one.
  const open = await db
    .selectFrom('outbox')
    .select(['outbox_id as outboxId', 'reference'])
    .where('kind', '=', item.kind)
    .where('outbox_id', '!=', item.outboxId)
    .where('reference_key', '=', referenceKey(shown))
    .where('state', 'not in', ['confirmed', 'refused'])
    .executeTakeFirst();
  const rivals = open ? [open] : await unplaced(db, item);
  return rivals.find((rival) => mayBeShown(known, rival.reference, shown));
}
