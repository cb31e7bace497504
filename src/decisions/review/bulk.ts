/**
 * Decides all deliveries that fit a filter, as long as they are those that a person saw. Count and
 * digest identify the set, so that no delivery is decided that came into it unseen; a refusal names
 * the deliveries that came and went.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { z } from 'zod';
import { RefusedError } from '../../lib/errors.ts';
import { formatDuration } from '../../lib/units.ts';
import type { Db } from '../../store/store.ts';
import {
  type DecidedSince,
  decidedSince,
  type ReviewFilter,
  type ReviewSelection,
  type SelectedDelivery,
  selectForReview,
} from './listing.ts';
import type { Review, ReviewAnswer, ReviewRequest } from './review.ts';

/** Maximum of deliveries in one bulk act; nobody looks at more. */
export const BULK_MAX = 500;
/** Maximum of rejects in one bulk act, because each reject is final. */
export const REJECTS_MAX = 20;

/** The set of deliveries that a person saw, by its count and digest. */
export const expectedSet = z.object({
  count: z.coerce.number().int().min(1),
  digest: z.string().max(64),
  /**
   * Latest decision that the person saw ({@link ReviewSelection.asOf}); with it a refusal can name
   * the deliveries that came and went.
   */
  asOf: z.coerce.number().int().min(0).optional(),
});
export type ExpectedSet = z.output<typeof expectedSet>;

const MARK = /^(\d{1,9})-([\da-f]{16})-(\d{1,15})$/;

/** The set of deliveries as one word, which a person copies from the list to the act. */
export function markOf({
  count,
  digest,
  asOf,
}: Pick<ReviewSelection, 'count' | 'digest' | 'asOf'>): string {
  return `${count}-${digest}-${asOf}`;
}

/** Reads the text of a {@link markOf}; undefined when it is none. */
export function parseMark(mark: string): ExpectedSet | undefined {
  const [, count, digest, asOf] = MARK.exec(mark) ?? [];
  return digest === undefined ? undefined : { count: Number(count), digest, asOf: Number(asOf) };
}

const NAMED_MAX = 10;
const LOOKED_AT_MAX = 1_000;

function nameOf({ deliveryNo, orderDeliveryId }: DecidedSince): string {
  return deliveryNo ?? String(orderDeliveryId);
}

function nameAll(word: string, found: readonly DecidedSince[], now: number): string[] {
  if (found.length === 0) return [];
  const named = found.slice(0, NAMED_MAX).map((one) => {
    const by = one.actor.replace(/^person:/, '').replace(/^daemon$/, 'the rules');
    const ago = formatDuration(Math.max(0, now - one.at));
    return `${nameOf(one)} (${by} decided "${one.outcome}" ${ago} ago)`;
  });
  const more = found.length > NAMED_MAX ? [`and ${found.length - NAMED_MAX} more`] : [];
  return [`${word}: ${[...named, ...more].join(', ')}`];
}

/** Whether the delivery's previous decision was a hold that this filter shows. */
function wasHeld({ rule, rules }: ReviewFilter, { before }: DecidedSince): boolean {
  if (before?.outcome !== 'hold') return false;
  const has = (id: string) => before.rules.includes(id);
  return (rule === undefined || has(rule)) && (rules === undefined || rules.some(has));
}

async function describeChange(
  db: Db,
  filter: ReviewFilter,
  { deliveries }: ReviewSelection,
  { asOf }: ExpectedSet,
  now: number,
): Promise<string> {
  if (asOf === undefined || filter.shown !== 'held') return 'they are not the same';
  const since = await decidedSince(db, filter, asOf, LOOKED_AT_MAX);
  const fitting = new Set(deliveries.map(({ orderDeliveryId }) => orderDeliveryId));
  const isIn = ({ orderDeliveryId }: DecidedSince) => fitting.has(orderDeliveryId);
  const came = since.filter((one) => isIn(one) && !wasHeld(filter, one));
  const went = since.filter((one) => !isIn(one) && wasHeld(filter, one));
  const texts = [...nameAll('came', came, now), ...nameAll('went', went, now)];
  return texts.join('; ') || 'their lines, or what is known of their orders, changed';
}

/**
 * Selects all deliveries that fit the filter, if they are the ones that the person saw.
 * @throws RefusedError `console.changed`, which says what came and went
 */
export async function selectExpected(
  db: Db,
  filter: ReviewFilter,
  expect: ExpectedSet,
  now: number,
): Promise<ReviewSelection> {
  const found = await selectForReview(db, filter);
  if (found.count === expect.count && found.digest === expect.digest) return found;
  const message =
    `nothing was done: ${found.count} deliveries fit the filter now, ${expect.count} did when ` +
    `you looked; ${await describeChange(db, filter, found, expect, now)}`;
  throw new RefusedError('console.changed', message, { hint: 'look at the list again' });
}

/** Number of deliveries that are decided before other work of the daemon gets its turn. */
const SLICE = 10;

/**
 * Decides the selected deliveries, one after the other.
 * @throws RefusedError when they are more than one act may decide
 */
export async function actOnSelected(
  review: Review,
  request: Omit<ReviewRequest, 'delivery' | 'seen'>,
  deliveries: readonly SelectedDelivery[],
): Promise<readonly ReviewAnswer[]> {
  requireFew(request.action, deliveries.length);
  const answers: ReviewAnswer[] = [];
  for (let start = 0; start < deliveries.length; start += SLICE) {
    const part = deliveries.slice(start, start + SLICE);
    const ids = part.map(({ orderDeliveryId }) => `id:${orderDeliveryId}`);
    const seen = part.map(({ decisionId, contentHash }) => ({ decisionId, contentHash }));
    answers.push(...(await review.actOnAll(request, ids, seen)));
    await nextTurn();
  }
  return answers;
}

/**
 * Checks that one act may decide so many deliveries.
 * @throws RefusedError when it may not
 */
export function requireFew(action: ReviewRequest['action'], count: number): void {
  const max = action === 'reject' ? REJECTS_MAX : BULK_MAX;
  if (count <= max) return;
  const message = `${count} deliveries at once are more than ${max}`;
  throw new RefusedError('console.too_many', message, { hint: 'narrow the filter' });
}
