/** Lists of pushes, and of the orders and pending refunds that the ERP submitted. */
import { z } from 'zod';
import { OUTBOX_KINDS, pushWords, WORDS, wordFor } from '../config/words.ts';
import { absenceNotes, readAnswers } from '../store/answering.ts';
import type { IdPage } from '../store/pages.ts';
import { pauseNote, readPauses } from '../store/pauses.ts';
import { OUTBOX_STATES } from '../store/tables.ts';
import { list, type Made, type Page } from '../surface/lists.ts';
import { as, flag, oneOf, text, time, whole } from '../surface/members.ts';
import type { Reading } from '../surface/reading.ts';
import { documentsOf, type ListFilter, listOutbox, type OutboxRow } from './review/listing.ts';
import { describeLost } from './watch/lost.ts';

const state = oneOf('State', OUTBOX_STATES, {
  words: WORDS.pushState,
  class: (one) => `state s-${one}`,
});
const reference = text('Reference', { about: 'Reference that the ERP gave' });

const filter = {
  state: oneOf('State', OUTBOX_STATES, {
    words: WORDS.pushState,
    about: 'Only in this state',
  }).optional(),
  reference: reference.optional(),
  needsAttention: flag('Needs attention', {
    alias: 'attention',
    about: 'Only rows that need a person',
  }).optional(),
  waiting: flag('Waiting', { about: 'Only what waits for a person' }).optional(),
  open: flag('Not ended', { about: 'Only what has not ended' }).optional(),
};

const row = {
  outboxId: whole('Push', { link: 'push', csv: 'push' }, 1),
  kind: text('Kind', { words: WORDS.push }),
  reference,
  state,
  createdAt: time('Age', { isAge: true }),
  attempts: whole('Tries'),
  blockedReason: as(z.string(), 'Needs', 'text', {
    csv: 'needs',
    about: 'Why it needs a person',
  }).nullable(),
  lastError: as(z.string(), 'Error', 'text', { csv: 'error' }).nullable(),
  orderId: whole('Order', { link: 'order' }, 1).nullable(),
  orderNo: text('Order number').nullable(),
  pendingRefundId: whole('Pending refund', {}, 1).nullable(),
  dueAt: time('Due'),
  endedAt: time('Ended').nullable(),
  lost: z
    .strictObject({
      orderId: z.int().min(1),
      since: time('Since'),
      instead: z
        .strictObject({ reference: z.string().nullable(), orderNo: z.string().nullable() })
        .nullable(),
    })
    .nullable(),
};

/** A push with what the list shows of it. */
export const pushSchema = z.strictObject(row);

/** State of a push in words for people. */
const stateColumn: Made<OutboxRow> = {
  title: 'State',
  text({ state: of, blockedReason, lost }) {
    const word = wordFor('pushState', of);
    if (lost !== null) return `${word} (gone)`;
    return blockedReason === null ? word : `${word} (needs attention)`;
  },
  class: (of) => `state s-${of.state}`,
};

/** Reason why a push stands where it is. */
const whyColumn: Made<OutboxRow> = {
  title: 'Why',
  text: ({ blockedReason, lost, lastError }) =>
    blockedReason ?? (lost && describeLost(lost)) ?? lastError ?? '',
};

/** Rows without the names and addresses of their documents and orders. */
async function hidden({ db, masked }: Reading, rows: readonly OutboxRow[]) {
  const documents = await documentsOf(
    db,
    rows.map(({ outboxId }) => outboxId),
  );
  const orderIds = rows.flatMap(({ orderId }) => orderId ?? []);
  return masked(orderIds, rows, documents);
}

/** Members that all lists of pushes have. */
const common = {
  row,
  sorts: ['createdAt'],
  empty: 'Nothing fits.',
  pageParameter: 'before',
  hide: hidden,
  place: ({ outboxId }: OutboxRow) => String(outboxId),
} as const;

/** Rows in the order of their numbers, which is that of their times. */
function pageOfPushes({ db }: Reading, query: Omit<ListFilter, keyof IdPage>, page: Page) {
  const isOldestFirst = page.sort !== undefined && !page.descending;
  return listOutbox(db, { ...query, ...page, isOldestFirst });
}

export const pushes = list({
  ...common,
  name: 'outbox.list',
  operation: 'listPushes',
  path: '/outbox',
  title: 'Pushes',
  about: 'documents and decisions to send',
  more: 'The newest first unless they are sorted, each with its state and what holds it up.',
  examples: [
    ['outbox list --needs-attention', 'rows that need a person'],
    ['outbox list --kind order --state refused', 'orders that were not taken'],
    ['outbox list --reference PO-4711 --json', 'for programs'],
  ],
  query: {
    kind: oneOf('Kind', OUTBOX_KINDS, { words: WORDS.push, about: 'Only of this kind' }).optional(),
    ...filter,
  },
  shown: [
    'outboxId',
    'kind',
    { title: 'Reference', text: (of) => pushWords(of.kind, of.reference) },
    stateColumn,
    'createdAt',
    'attempts',
    'orderId',
    whyColumn,
  ],
  read: pageOfPushes,
  async notes({ db, now, dataDir }) {
    const pauses = await readPauses(db, dataDir);
    const notes = pauses.filter(({ target }) => target !== 'stream').map(pauseNote);
    return [...absenceNotes(await readAnswers(db), now), ...notes];
  },
});

/** Documents of a kind that the ERP submitted. */
interface Documents {
  readonly kind: 'order' | 'pending_refund';
  readonly noun: 'orders' | 'refunds';
  readonly operation: string;
  readonly title: string;
  readonly about: string;
  /** Title of the column for what the service made of a document. */
  readonly made: string;
  madeOf(row: OutboxRow): string | number | null;
  readonly empty: string;
}

function documentList({ kind, noun, operation, title, about, made, madeOf, empty }: Documents) {
  return list({
    ...common,
    name: `${noun}.list`,
    operation,
    path: `/${noun}`,
    title,
    about,
    more:
      'The newest first unless they are sorted, each with its state, what the service made of ' +
      'it, and why.',
    examples: [
      [`${noun} list --open`, 'what is under way'],
      [`${noun} list --state refused --json`, 'for programs'],
    ],
    query: filter,
    shown: [
      'reference',
      stateColumn,
      { title: made, text: (of) => madeOf(of)?.toString() ?? null },
      'createdAt',
      'outboxId',
      whyColumn,
    ],
    empty,
    limit: 50,
    read: (from, query, page) => pageOfPushes(from, { ...query, kind }, page),
    notes: async ({ db, now }) => absenceNotes(await readAnswers(db), now),
  });
}

export const orders = documentList({
  kind: 'order',
  noun: 'orders',
  operation: 'listOrders',
  title: 'Orders',
  about: 'orders that the ERP submitted',
  made: 'Order',
  madeOf: ({ orderNo, orderId }) => orderNo ?? orderId,
  empty:
    'The ERP has submitted none that fits. Orders that the service took otherwise are not sent ' +
    'from here: the search finds every order ("orders find").',
});

export const refunds = documentList({
  kind: 'pending_refund',
  noun: 'refunds',
  operation: 'listRefunds',
  title: 'Refunds',
  about: 'pending refunds that the ERP submitted',
  made: 'Pending refund',
  madeOf: ({ pendingRefundId }) => pendingRefundId,
  empty: 'The ERP has submitted none that fits.',
});
