/**
 * Selects all deliveries that fit a filter, as long as they are those that a person saw. Count and
 * digest identify the set, so that no delivery is decided that came into it unseen; a refusal names
 * the deliveries that came and went.
 */
import { RefusedError } from '../../lib/errors.ts';
import { formatDecimal } from '../../lib/money.ts';
import { plural } from '../../lib/strings.ts';
import { formatDuration } from '../../lib/units.ts';
import type { Db } from '../../store/store.ts';
import type { ReviewFilter } from './filter.ts';
import {
  type DecidedSince,
  decidedSince,
  type ReviewSelection,
  selectForReview,
} from './listing.ts';
import { BULK_MAX, type ExpectedSet, markOf } from './mark.ts';

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

/** Whether the filter shows the delivery by its previous decision. */
function wasShown({ shown, rule, rules }: ReviewFilter, { before }: DecidedSince): boolean {
  if (before === null) return false;
  const { outcome } = before;
  const fits = shown === 'held' ? outcome === 'hold' : !['accept', 'reject'].includes(outcome);
  if (!fits) return false;
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
  const isKnown = filter.shown === 'held' || filter.shown === 'waiting';
  if (asOf === undefined || !isKnown) return 'they are not the same';
  const since = await decidedSince(db, filter, asOf, LOOKED_AT_MAX);
  const fitting = new Set(deliveries.map(({ orderDeliveryId }) => orderDeliveryId));
  const isIn = ({ orderDeliveryId }: DecidedSince) => fitting.has(orderDeliveryId);
  const came = since.filter((one) => isIn(one) && !wasShown(filter, one));
  const went = since.filter((one) => !isIn(one) && wasShown(filter, one));
  const texts = [...nameAll('came', came, now), ...nameAll('went', went, now)];
  return texts.join('; ') || 'their lines, or what is known of their orders, changed';
}

/** Says how the deliveries differ from those that the person saw; undefined: they are the same. */
export async function whatChanged(
  db: Db,
  filter: ReviewFilter,
  found: ReviewSelection,
  expect: ExpectedSet,
  now: number,
): Promise<string | undefined> {
  if (found.count === expect.count && found.digest === expect.digest) return undefined;
  const change = await describeChange(db, filter, found, expect, now);
  const fitting = `${found.count} deliveries fit the filter now`;
  return `${fitting}, ${expect.count} did when you looked; ${change}`;
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
  const changed = await whatChanged(db, filter, found, expect, now);
  if (changed === undefined) return found;
  const hint = 'look at the list again';
  throw new RefusedError('console.changed', `nothing was done: ${changed}`, { hint });
}

/** Deliveries that fit a filter as a count and sums, without each one. */
export type Matching = Omit<ReviewSelection, 'deliveries'>;

/** Describes the deliveries that an act on all would take, with the mark that it requires. */
export function describeMatching(found: Matching): string {
  const { count, customers, sums } = found;
  const values = sums.map(({ currency, value }) =>
    value === null ? 'a value that is not known' : `${formatDecimal(value, currency)} ${currency}`,
  );
  const what = `${plural(count, 'delivery', 'deliveries')} of ${plural(customers, 'customer')}`;
  const mark = count > BULK_MAX ? `too many to decide at once` : `mark ${markOf(found)}`;
  return [what, values.join(' + '), mark].filter((text) => text !== '').join(', ');
}
