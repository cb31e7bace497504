/** The list that people decide by, for people and programs. */
import { z } from 'zod';
import { formatDecimal } from '../../lib/money.ts';
import { formatDuration } from '../../lib/units.ts';
import { absenceNotes, readAnswers } from '../../store/answering.ts';
import { type Given, readGiven } from '../../surface/given.ts';
import { list, pageOfAll } from '../../surface/lists.ts';
import type { Reading } from '../../surface/reading.ts';
import { filterOf, listFilter, ownersOf, type ReviewFilter, type ReviewQuery } from './filter.ts';
import { listForReview, type ReviewRow, reviewRow, SORTS } from './listing.ts';
import { SAVED_VIEW, savedViews } from './views.ts';

async function filterIn(from: Reading, query: ReviewQuery): Promise<ReviewFilter> {
  const inForce = query.owner === undefined ? undefined : await from.rules.inForce();
  return filterOf(query, from.now, ownersOf(inForce?.rules ?? []), from);
}

const listQuery = z.strictObject(listFilter);

/**
 * The filter of a list that was asked for.
 * @throws UsageError `request.invalid`
 */
export function filterFor(from: Reading, given: Given): Promise<ReviewFilter> {
  return filterIn(from, readGiven(listQuery, given, from.now));
}

function byText({ rules, decidedBy }: ReviewRow): string | null {
  if (rules.length > 0) return rules.join(' ');
  return decidedBy === 'daemon' ? null : decidedBy;
}

function valueText({ value, currency }: ReviewRow): string {
  if (value === null) return '?';
  return `${formatDecimal(value, currency)} ${currency ?? ''}`.trim();
}

function untilText({ deadline, overdue }: ReviewRow, now: number): string | null {
  if (overdue) return 'overdue';
  return deadline === null ? null : `in ${formatDuration(Math.max(0, deadline - now))}`;
}

function whyText({ reason, refusal, note, noteBy, assignedTo }: ReviewRow): string {
  const text = refusal === null ? (reason ?? '') : `${refusal} (${reason})`;
  const noted = note === null ? '' : ` [note: ${note}${noteBy === null ? '' : `, ${noteBy}`}]`;
  return `${text}${assignedTo === null ? '' : ` [${assignedTo} sees to it]`}${noted}`;
}

export const deliveries = list({
  name: 'deliveries.list',
  operation: 'listDeliveries',
  path: '/review',
  title: 'Deliveries',
  about: 'packed deliveries with their latest decision',
  more:
    'The newest first; with --waiting and --held those that have waited longest. Filters are\n' +
    'those of the console. The last line is about all that fit, also beyond --limit; its\n' +
    'mark is for "deliveries accept --all-matching" and its like.',
  examples: [
    ['deliveries list --waiting', 'what waits for a person'],
    ['deliveries list --held', 'what is held'],
    ['deliveries list --held --rule hold-large --country DK --sort value', 'a part of it'],
    ['deliveries list --status accepted --json', 'for programs'],
  ],
  query: listFilter,
  row: reviewRow,
  shown: [
    'orderDeliveryId',
    { title: 'Delivery', sort: 'number', text: ({ deliveryNo }) => deliveryNo },
    {
      title: 'Customer',
      sort: 'customer',
      text: ({ customer, accountNo }) => customer ?? accountNo ?? '?',
    },
    { title: 'Country', text: ({ country }) => country ?? '?' },
    'season',
    {
      title: 'Pieces',
      kind: 'whole',
      sort: 'pieces',
      text: ({ pieces }) => String(pieces ?? '?'),
    },
    { title: 'Value', kind: 'money', sort: 'value', text: valueText },
    'state',
    {
      title: 'Waiting',
      kind: 'duration',
      sort: 'waiting',
      isTurned: true,
      text: ({ packedAt }, now) => formatDuration(Math.max(0, now - packedAt)),
    },
    { title: 'Hold ends', kind: 'duration', sort: 'deadline', text: untilText },
    { title: 'By', text: byText },
    { title: 'Why', text: whyText },
  ],
  terminal: [
    'ID',
    'Delivery',
    'Customer',
    'Country',
    'Pieces',
    'Value',
    'State',
    'Waiting',
    'Hold ends',
    'By',
    'Why',
  ],
  sorts: SORTS,
  notes: async ({ db, now }) => absenceNotes(await readAnswers(db), now),
  empty: 'No delivery fits.',
  async readPage(from, query, { sort: named, ...place }) {
    const filter = await filterIn(from, query);
    const sort = SORTS.find((one) => one === named) ?? 'waiting';
    return listForReview(from.db, filter, { ...place, sort, rates: from.rates });
  },
  hide: (from, rows) => from.maskedEach(rows, ({ orderId }) => orderId),
});

export const views = list({
  name: 'deliveries.views',
  operation: 'listViews',
  path: '/review/views',
  title: 'Saved views',
  about: 'filters of the list that are kept under a name, for all of the house',
  examples: [['deliveries views', 'what each of them shows']],
  query: {},
  row: SAVED_VIEW,
  shown: ['name', 'filter', 'default', 'author', 'at'],
  sorts: ['name', 'at'],
  empty: 'No view is saved.',
  read: async (from, _query, page) =>
    pageOfAll(await savedViews(from.db, from), page, ({ name }) => name),
  place: ({ name }) => name,
});

/** All that fit a filter, as an act on them expects them. */
export const selectionSchema = z
  .strictObject({
    count: z.int(),
    digest: z.string(),
    asOf: z.int().meta({ description: 'By which a refusal can name what came and went' }),
    sums: z.array(
      z.strictObject({ currency: z.string().nullable(), value: z.number().nullable() }),
    ),
    customers: z.int(),
    ids: z.array(z.int()),
  })
  .meta({ id: 'Selection', description: 'All that fit a filter: what a bulk act expects.' });
