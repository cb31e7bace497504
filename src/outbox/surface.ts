/** Acts of people and programs on pushes, and on the orders that were sent. */
import { z } from 'zod';
import { OUTBOX_KINDS, pushWords, WORDS, wordFor } from '../config/words.ts';
import { RefusedError } from '../lib/errors.ts';
import { plural } from '../lib/strings.ts';
import type { Actor } from '../store/audit.ts';
import { OUTBOX_STATES } from '../store/tables.ts';
import { act } from '../surface/acts.ts';
import { many } from '../surface/many.ts';
import { flag, oneOf, text, whole } from '../surface/members.ts';
import type { ManyAct, OutboxReview } from './review/operations.ts';
import type { Done, ReviewRow, RowFilter } from './review/selection.ts';

const push = whole('Push', { about: 'Number of the row (selvedge outbox list)' }, 1);

const filter = {
  kind: oneOf('Kind', OUTBOX_KINDS, { words: WORDS.push, about: 'Only of this kind' }).optional(),
  state: oneOf('State', OUTBOX_STATES, {
    words: WORDS.pushState,
    about: 'Only in this state',
  }).optional(),
  needsAttention: flag('Needs a person', { about: 'Only rows that need a person' }).optional(),
};

const moved = z
  .strictObject({
    rows: z.int(),
    left: z.array(
      z.strictObject({
        outboxId: z.int().min(1).min(1),
        reference: z.string(),
        state: z.enum(OUTBOX_STATES),
      }),
    ),
  })
  .meta({ id: 'Moved', description: '`left`: somebody moved it meanwhile.' });

const resolved = z
  .strictObject({ outboxId: z.int().min(1).min(1), state: z.enum(OUTBOX_STATES) })
  .meta({ id: 'Resolved' });

/** Number of rows that were acted on, and each that has changed in the meantime. */
function movedText({ rows, left }: z.output<typeof moved>, did: string): string {
  const others = left.map(
    ({ outboxId, reference, state }) =>
      `outbox ${outboxId} (${reference}) was left: it is ${wordFor('pushState', state)} by now`,
  );
  return [`${plural(rows, 'row')} ${did}`, ...others].join('\n');
}

function isWhole({ left }: z.output<typeof moved>): boolean {
  return left.length === 0;
}

function resolvedText({ outboxId, state }: z.output<typeof resolved>): string {
  return `outbox ${outboxId} is ${wordFor('pushState', state)}`;
}

function wouldBe(did: string, ...rows: readonly ReviewRow[]) {
  const lines = rows.map(
    ({ outboxId, kind, reference, state }) =>
      `outbox ${outboxId} (${wordFor('push', kind)} ${pushWords(kind, reference)}, ` +
      `${wordFor('pushState', state)}) would be ${did}`,
  );
  return { lines };
}

/** The act on all rows that fit a filter; if one row refuses, no row is changed. */
function onAll(
  name: ManyAct,
  did: string,
  all: (review: OutboxReview, filter: RowFilter, expect: number, who: Actor) => Promise<Done>,
) {
  return many({
    did,
    max: 10_000,
    isNamed: false,
    mark: 'with a filter: how many rows it must fit',
    filter,
    expect: whole('Rows', { about: 'How many rows the filter must fit' }),
    async find(review: OutboxReview, which, expect) {
      const rows = await review.would(name, { filter: which, expect });
      return { lines: [`${plural(rows.length, 'row')} would be ${did}`], expect: rows.length };
    },
    all,
  });
}

const RETRIED = 'taken up again';

export const retryPush = act({
  name: 'outbox.retry',
  operation: 'retryPush',
  path: '/outbox/{id}/retry',
  about: 'send or look up again at once',
  more:
    'What gave up is sent again, what waits is sent now, what is in doubt is looked for now.\n' +
    'Nothing in doubt is sent by this: that takes proof, or "outbox resolve --as absent".',
  button: 'Try again',
  role: 'operator',
  reason: 'stated',
  thing: 'push',
  args: ['push'],
  input: { push },
  output: moved,
  many: onAll('retry', RETRIED, (review, which, expect, who) =>
    review.retry({ filter: which, expect }, who),
  ),
  examples: [
    ['outbox retry 17 --reason "the service is back"', 'one row'],
    ['outbox retry --state dead --expect 12 --reason "key renewed"', 'exactly these twelve'],
  ],
  async preview(review: OutboxReview, { push: outboxId }) {
    return wouldBe(RETRIED, ...(await review.would('retry', { outboxId })));
  },
  run: (review, { push: outboxId }, who) => review.retry({ outboxId }, who),
  done: (answer) => movedText(answer, RETRIED),
  isWhole,
});

const CANCELED = 'canceled';

export const cancelPush = act({
  name: 'outbox.cancel',
  operation: 'cancelPush',
  path: '/outbox/{id}/cancel',
  about: 'cancel what has not been sent',
  more:
    'Only what has not left, has given up or waits for a person. What is in doubt may be at\n' +
    'the service already; to cancel does not call it back.',
  button: 'Cancel',
  role: 'operator',
  reason: 'stated',
  thing: 'push',
  args: ['push'],
  input: { push },
  output: moved,
  many: onAll('cancel', CANCELED, (review, which, expect, who) =>
    review.cancel({ filter: which, expect }, who),
  ),
  examples: [['outbox cancel 17 --reason "ordered twice"', 'one row']],
  async preview(review: OutboxReview, { push: outboxId }) {
    return wouldBe(CANCELED, ...(await review.would('cancel', { outboxId })));
  },
  run: (review, { push: outboxId }, who) => review.cancel({ outboxId }, who),
  done: (answer) => movedText(answer, CANCELED),
  isWhole,
});

const RESOLVE = {
  option: 'as',
  about: 'resolve a row with an unknown outcome',
  more:
    'After a look at both sides ("outbox show"): it is this one at the service, or it is not\n' +
    'there and is to be sent again under the same reference. "noted" is for a document that\n' +
    'the service has otherwise than it was sent, or refused: it waits for nobody any more.',
} as const;

const QUEUED = 'queued and sent again';

export const resolveAbsent = act({
  name: 'outbox.absent',
  command: 'outbox resolve',
  choice: { ...RESOLVE, value: 'absent' },
  operation: 'absentPush',
  path: '/outbox/{id}/absent',
  about: 'say that the service does not have it: it is sent again',
  button: 'It is not there',
  role: 'approver',
  danger: true,
  reason: 'stated',
  thing: 'push',
  args: ['push'],
  input: {
    push,
    reference: text('Its reference', {
      about: 'With absent: confirms that it is sent again',
    }).optional(),
  },
  typed: {
    member: 'reference',
    ask: 'It will be sent again. Type its reference to go on:',
  },
  output: resolved,
  many: {
    ...onAll('absent', QUEUED, (review, which, expect, who) =>
      review.resolveAbsent({ filter: which, expect }, who),
    ),
    answer: {
      output: moved,
      done: (answer) => movedText(moved.parse(answer), 'queued'),
      isWhole: (answer) => isWhole(moved.parse(answer)),
    },
  },
  examples: [
    ['outbox resolve 17 --as absent --reason "asked support"', 'send it again'],
    [
      'outbox resolve --needs-attention --expect 3 --as absent --reason "asked"',
      'exactly these three',
    ],
  ],
  async preview(review: OutboxReview, { push: outboxId }) {
    return wouldBe(QUEUED, await review.wouldResolve(outboxId, { as: 'absent' }));
  },
  run: (review, { push: outboxId, reference }, who) =>
    review.resolve(outboxId, { as: 'absent', reference }, who),
  done: resolvedText,
});

export const resolveNoted = act({
  name: 'outbox.noted',
  command: 'outbox resolve',
  choice: { ...RESOLVE, value: 'noted' },
  operation: 'notedPush',
  path: '/outbox/{id}/noted',
  about: 'say that a difference or a refusal is known',
  button: 'It is known',
  role: 'operator',
  reason: 'stated',
  thing: 'push',
  args: ['push'],
  input: { push },
  output: resolved,
  examples: [['outbox resolve 17 --as noted --reason "agreed by phone"', 'it stays as it is']],
  async preview(review: OutboxReview, { push: outboxId }) {
    return wouldBe('noted', await review.wouldResolve(outboxId, { as: 'noted' }));
  },
  run: (review, { push: outboxId }, who) => review.resolve(outboxId, { as: 'noted' }, who),
  done: resolvedText,
});

export const resolveConfirmed = act({
  name: 'outbox.confirmed',
  command: 'outbox resolve',
  choice: { ...RESOLVE, value: 'confirmed', member: 'id' },
  operation: 'confirmPush',
  path: '/outbox/{id}/confirmed',
  about: 'say what it made at the service',
  button: 'It is this one',
  role: 'approver',
  danger: true,
  reason: 'stated',
  thing: 'push',
  args: ['push'],
  input: {
    push,
    id: text(
      'Id at the service',
      { about: 'Of the order, pending refund or style; null: it made none' },
      100,
    ).nullable(),
  },
  output: resolved,
  examples: [['outbox resolve 17 --as confirmed:500123 --reason "same lines"', 'it is there']],
  async preview(review: OutboxReview, { push: outboxId, id }) {
    return wouldBe('confirmed', await review.wouldResolve(outboxId, { as: 'confirmed', id }));
  },
  run: (review, { push: outboxId, id }, who) =>
    review.resolve(outboxId, { as: 'confirmed', id }, who),
  done: resolvedText,
});

export const outboxActs = [retryPush, cancelPush, resolveAbsent, resolveNoted, resolveConfirmed];

const forgotten = z.strictObject({
  reference: z.string().nullable(),
  orderId: z.int().min(1).nullable().meta({ description: 'Null: the service never had it' }),
  decisions: z.int(),
  events: z.int(),
  documents: z.int().meta({ description: 'Rows of exchange.db' }),
  copies: z
    .array(z.string())
    .meta({ description: 'Files that still hold the data, each with what to do about it' }),
});

export type Forgotten = z.output<typeof forgotten>;

export interface ForgetPreview extends Pick<Forgotten, 'reference' | 'orderId' | 'copies'> {
  readonly deliveries: number;
  readonly pushes: number;
  readonly documents: number;
}

export interface OrderOperations {
  previewForget(order: string): Promise<ForgetPreview>;
  forget(order: string, who: Actor): Promise<Forgotten>;
}

function stillIn(copies: readonly string[]): string[] {
  return copies.map((copy) => `still in ${copy}`);
}

export const forgetOrder = act({
  name: 'orders.forget',
  operation: 'forgetOrder',
  path: '/orders/forget',
  about: 'blank the names, addresses and comments of an order',
  more:
    'Blanks names, addresses, e-mails, phone numbers and comments of an order in the mirror,\n' +
    'its change feed, decisions, events, the outbox and exchange.db. Numbers, lines, states\n' +
    'and amounts stay; "decisions verify" still holds. Later pulls leave the same out.\n' +
    'Refused while anything of the order is under way. Backups are not touched: the answer\n' +
    'names them. docs/personal-data.md says what lies where.',
  button: 'Forget the people',
  role: 'approver',
  danger: true,
  reason: 'stated',
  thing: 'order',
  args: ['order'],
  input: {
    order: text('Order', { about: 'Reference of the order, or its id as id:500123' }, 200),
    again: text('The same once more', {
      about: 'What is forgotten cannot be brought back',
    }).optional(),
  },
  typed: {
    member: 'again',
    ask: 'What is forgotten of {} cannot be brought back. Type {} to go on:',
    again: true,
  },
  output: forgotten,
  offline: true,
  examples: [['orders forget SO-4711 --reason "request of 3 May"', 'asks before it acts']],
  async preview(orders: OrderOperations, { order }) {
    const preview = await orders.previewForget(order);
    const { orderId, deliveries, pushes, documents, copies } = preview;
    const named = orderId === null ? order : `${order} (order ${orderId})`;
    const parts = [
      plural(deliveries, 'delivery', 'deliveries'),
      plural(pushes, 'push', 'pushes'),
      plural(documents, 'document'),
    ];
    const lines = [
      `the people in ${named} would be forgotten for good: ${parts.join(', ')}`,
      ...stillIn(copies),
    ];
    return { ...preview, lines };
  },
  async run(orders, { order, again }, actor) {
    if (again?.trim() === order.trim()) return orders.forget(order, actor);
    throw new RefusedError('orders.unconfirmed', 'forgetting is final and must be confirmed', {
      hint: `type ${order} once more (again)`,
    });
  },
  done({ decisions, events, documents, copies }, { order }) {
    const figures = `${decisions} decisions, ${events} events, ${documents} rows of exchange.db`;
    return [`${order}: forgotten (${figures})`, ...stillIn(copies)].join('\n');
  },
});
