/** Lists of the orders and pending refunds that the ERP submitted. */
import { z } from 'zod';
import { OUTBOX_STATES } from '../store/tables.ts';
import { list } from '../surface/lists.ts';
import { as, flag, oneOf, text, time, whole } from '../surface/members.ts';
import type { Reading } from '../surface/reading.ts';
import { documentsOf, listOutbox, type OutboxRow } from './review/listing.ts';
import { describeLost } from './watch/lost.ts';

const state = oneOf('State', OUTBOX_STATES, { class: (one) => `state s-${one}` });
const reference = text('Reference', { about: 'Reference that the ERP gave' });

const filter = {
  state: state.optional(),
  reference: reference.optional(),
  needsAttention: flag('Needs attention', {
    alias: 'attention',
    about: 'Only rows that need a person',
  }).optional(),
  open: flag('Not ended', { about: 'Only what has not ended' }).optional(),
};

const row = {
  outboxId: whole('Push', { link: 'push', csv: 'push' }),
  kind: text('Kind'),
  reference,
  state,
  createdAt: time('Age', { isAge: true }),
  attempts: whole('Tries'),
  blockedReason: text('Needs', { csv: 'needs' }).nullable(),
  lastError: as(z.string(), 'Error', 'text', { csv: 'error' }).nullable(),
  orderId: whole('Order').nullable(),
  orderNo: text('Order number').nullable(),
  pendingRefundId: whole('Pending refund').nullable(),
  dueAt: time('Due'),
  endedAt: time('Ended').nullable(),
  lost: z
    .strictObject({
      orderId: z.int(),
      since: time('Since'),
      instead: z
        .strictObject({ reference: z.string().nullable(), orderNo: z.string().nullable() })
        .nullable(),
    })
    .nullable(),
};

/** State of a push in words for people. */
function stateText({ state: of, blockedReason, lost }: OutboxRow): string {
  const word = of === 'in_doubt' ? 'outcome unknown' : of;
  if (lost !== null) return `${word} (gone)`;
  return blockedReason === null ? word : `${word} (needs attention)`;
}

/** Reason why a push stands where it is. */
function whyText({ blockedReason, lost, lastError }: OutboxRow): string {
  return blockedReason ?? (lost && describeLost(lost)) ?? lastError ?? '';
}

/** Rows without the names and addresses of their documents and orders. */
async function hidden({ db, masked }: Reading, rows: readonly OutboxRow[]) {
  const documents = await documentsOf(
    db,
    rows.map(({ outboxId }) => outboxId),
  );
  const orderIds = rows.flatMap(({ orderId }) => orderId ?? []);
  return masked(orderIds, rows, documents);
}

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
}

function documentList({ kind, noun, operation, title, about, made, madeOf }: Documents) {
  return list({
    name: `${noun}.list`,
    operation,
    path: `/${noun}`,
    title,
    about,
    more: 'Each with its state, what the service made of it, and why.',
    examples: [
      [`${noun} list --open`, 'what is under way'],
      [`${noun} list --state refused --json`, 'for programs'],
    ],
    query: filter,
    row,
    shown: [
      'reference',
      { title: 'State', text: stateText, class: (of) => `state s-${of.state}` },
      { title: made, text: (of) => madeOf(of)?.toString() ?? null },
      'createdAt',
      'outboxId',
      { title: 'Why', text: whyText },
    ],
    empty: 'Nothing fits.',
    pageParameter: 'before',
    limit: 50,
    read: ({ db }, query, page) => listOutbox(db, { ...query, ...page, kind }),
    hide: hidden,
    place: ({ outboxId }) => String(outboxId),
  });
}

export const orders = documentList({
  kind: 'order',
  noun: 'orders',
  operation: 'listOrders',
  title: 'Orders',
  about: 'orders that the ERP submitted, the newest first',
  made: 'Order',
  madeOf: ({ orderNo, orderId }) => orderNo ?? orderId,
});

export const refunds = documentList({
  kind: 'pending_refund',
  noun: 'refunds',
  operation: 'listRefunds',
  title: 'Refunds',
  about: 'pending refunds that the ERP submitted, the newest first',
  made: 'Pending refund',
  madeOf: ({ pendingRefundId }) => pendingRefundId,
});
