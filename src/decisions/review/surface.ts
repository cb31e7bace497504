/** Acts of people and programs on deliveries. */
import { z } from 'zod';
import type { Actor } from '../../store/audit.ts';
import { act } from '../../surface/acts.ts';
import type { Given } from '../../surface/given.ts';
import { many } from '../../surface/many.ts';
import { as, flag, oneOf, text, whole } from '../../surface/members.ts';
import { reviewFilter } from './filter.ts';
import { BULK_MAX, expected, REJECTS_MAX } from './mark.ts';
import type { ReviewOperations, Saw, Stated } from './operations.ts';
import type { ReviewAction } from './review.ts';

/**
 * Reasons for a release that a person can choose from: few, because new rules are derived from
 * them.
 */
const RELEASE_REASONS = [
  'checked',
  'customer-confirmed',
  'paid',
  'price-agreed',
  'stock-arrived',
  'rule-wrong',
  'other',
] as const;

const delivery = as(z.string().min(1).max(100), 'Delivery', 'text', {
  link: 'delivery',
  about: 'Its id or its number; `id:500044` is an id whatever numbers there are',
});
const decisionId = whole('Latest decision', { about: 'Its latest decision; 0: there is none' });
const seen = {
  decisionId,
  contentHash: text('Content', { about: 'Hash of the delivery, as it was read' }, 200),
};

const decided = z
  .strictObject({
    orderDeliveryId: z.int().min(1),
    deliveryNo: z.string(),
    decisionId: z.int().min(1),
    outboxId: z
      .int()
      .min(1)
      .meta({ description: 'The push; null where the service need not hear of it' })
      .nullable(),
    state: z
      .string()
      .meta({ description: 'In words; "being sent" until the service has confirmed it' }),
    doubt: z
      .string()
      .meta({ description: 'Why the service may refuse it all the same' })
      .optional(),
  })
  .meta({ id: 'Decided' });
type Decided = z.output<typeof decided>;

const ofDelivery = { thing: 'delivery', args: ['delivery'], output: decided } as const;

/** Whether the service has yet to confirm what was done. */
function isUnderWay({ outboxId }: Given): boolean {
  return typeof outboxId === 'number';
}

/** Condition under which an act is done, where the service has to confirm its push first. */
function onceTold(outboxId: number | null): string {
  return outboxId === null ? '' : ' once the service has confirmed it';
}

export const undoDecision = act({
  ...ofDelivery,
  name: 'deliveries.undo',
  operation: 'undoDecision',
  path: '/deliveries/{id}/undo',
  about: 'undo your latest decision about a delivery',
  more:
    'An accept that was not sent is called back; one that was sent is taken back at the\n' +
    'service. A hold or a release goes back to the rules. A reject cannot be undone, and\n' +
    'nothing that was decided again since, or by somebody else.',
  button: 'Undo',
  role: 'operator',
  reason: 'free',
  input: { delivery },
  seen: { decisionId },
  several: { did: 'undone', max: BULK_MAX, isUnderWay },
  examples: [['deliveries undo DN-500012', 'as long as it is yours']],
  preview: (review: ReviewOperations, { delivery: named }, actor) =>
    review.previewUndo(named, actor),
  run: (review, { delivery: named }, actor, saw) => review.undo(named, actor, saw),
  done: ({ deliveryNo, orderDeliveryId, decisionId: id, outboxId }) =>
    `${deliveryNo} (${orderDeliveryId}): undone, it waits again${onceTold(outboxId)}, ` +
    `decision ${id}`,
  notice: ({ deliveryNo, outboxId }) => `Undone: ${deliveryNo} waits again${onceTold(outboxId)}`,
});

/** Parts that accept, reject, hold and release share; `did` says what was done. */
function deciding(action: ReviewAction, did: string, became?: string, max = BULK_MAX) {
  return {
    ...ofDelivery,
    seen,
    reason: 'stated',
    preview: (review: ReviewOperations, stated: Stated, actor: Actor) =>
      review.preview(action, stated, actor),
    run: (review: ReviewOperations, stated: Stated, actor: Actor, saw: Saw) =>
      review.act(action, stated, actor, saw),
    done({ deliveryNo, orderDeliveryId, decisionId: id, outboxId, state, doubt }: Decided) {
      const unsure = doubt === undefined ? '' : ` (${doubt})`;
      const push = outboxId === null ? '' : `, push ${outboxId} tells the service${unsure}`;
      return `${deliveryNo} (${orderDeliveryId}): ${state}, decision ${id}${push}`;
    },
    notice: ({ deliveryNo, state }: Decided) => `${deliveryNo} is ${became ?? state}`,
    many: many({
      did,
      max,
      isNamed: true,
      isUnderWay,
      at: {
        path: '/review/bulk',
        operation: 'decideMany',
        about: 'Decide all that fit a filter, if they are those that were seen',
      },
      filter: reviewFilter,
      expect: expected,
      mark: 'with --all-matching: the mark of the list that you saw',
      find: (review: ReviewOperations, filter, expect, chooser) =>
        review.find(filter, expect, chooser),
    }),
  } as const;
}

function undoing({ decisionId: id }: Decided, given: Given) {
  return { act: undoDecision, given: { delivery: given.delivery, decisionId: id } };
}

export const acceptDelivery = act({
  ...deciding('accept', 'accepted'),
  name: 'deliveries.accept',
  operation: 'acceptDelivery',
  path: '/deliveries/{id}/accept',
  about: 'accept pending deliveries yourself',
  more:
    'Accepts at the service, once it has been seen there still pending. The rules leave these\n' +
    'deliveries alone until their lines change. Asks the running daemon. With\n' +
    '--all-matching and no --expect it only tells what it would do.',
  button: 'Accept',
  role: 'operator',
  input: { delivery },
  examples: [
    ['deliveries accept 500012 --reason "price agreed by phone"', 'one or several'],
    [
      'deliveries accept --all-matching --rule hold-large --expect <mark> --reason "checked"',
      'all that you saw',
    ],
  ],
  undo: undoing,
});

export const rejectDelivery = act({
  ...deciding('reject', 'rejected', undefined, REJECTS_MAX),
  name: 'deliveries.reject',
  operation: 'rejectDelivery',
  path: '/deliveries/{id}/reject',
  about: 'reject pending deliveries yourself; final',
  more:
    'A reject is final at the service. The number of each delivery must be typed at the\n' +
    'terminal, or named with --yes-reject, and one command rejects 20 at the most. It is\n' +
    'sent only while the delivery is exactly as it was when you asked for it.',
  button: 'Reject for good',
  role: 'approver',
  danger: true,
  input: {
    delivery,
    confirmed: as(
      z.union([z.string().max(2_000), z.array(z.string().max(100)).max(BULK_MAX)]),
      'Delivery number',
      'text',
      {
        about: 'The number of a delivery that is meant; once for each',
        option: 'yes-reject <deliveryNo>',
      },
    ).optional(),
  },
  typed: {
    member: 'confirmed',
    ask: 'Rejecting {} is final. Type its delivery number to go on:',
  },
  examples: [
    ['deliveries reject 500012 --reason "ordered twice" --yes-reject DN-500012', 'no questions'],
  ],
});

export const holdDelivery = act({
  ...deciding('hold', 'held'),
  name: 'deliveries.hold',
  operation: 'holdDelivery',
  path: '/deliveries/{id}/hold',
  about: 'keep deliveries pending until you release them',
  more:
    'Stops a reject that waits for it. An accepted delivery that has not shipped goes back to\n' +
    'pending. The rules leave it alone until it is released or its lines change.',
  button: 'Hold',
  role: 'operator',
  input: {
    delivery,
    ifRejectWaits: flag('Only if a reject waits', {
      about: 'only where a reject waits (rules queue), which it stops',
    }).optional(),
  },
  examples: [
    ['deliveries hold DN-500012 --reason "ask Jutta"', 'until released'],
    ['deliveries hold DN-500012 --if-reject-waits --reason "customer called"', 'in time'],
  ],
  undo: undoing,
});

export const releaseDelivery = act({
  ...deciding('release', 'released', 'given back to the rules'),
  name: 'deliveries.release',
  operation: 'releaseDelivery',
  path: '/deliveries/{id}/release',
  about: 'end the hold of deliveries',
  more:
    'The delivery stays pending and is yours: the rules leave it alone until its lines\n' +
    'change, unless you give it back to them with --to-rules.',
  button: 'Give to the rules',
  role: 'operator',
  input: {
    delivery,
    why: oneOf('Settled by', RELEASE_REASONS, {
      about: 'what settled it; the material of the next rule',
      option: 'why <code>',
      isStated: true,
    }).default('checked'),
    toRules: flag('Rules decide again', {
      about: 'let the rules decide again, as if nobody had touched it',
    }).default(true),
  },
  examples: [['deliveries release 500012 --why paid --reason "seen" --to-rules', 'rules decide']],
  undo: undoing,
});

export const noteDelivery = act({
  name: 'deliveries.note',
  operation: 'noteDelivery',
  path: '/deliveries/{id}/note',
  about: 'write a note about a delivery, for the next who looks',
  more: 'Notes stay, with names and times; an empty text takes your latest away.',
  button: 'Keep',
  role: 'operator',
  reason: 'none',
  thing: 'delivery',
  args: ['delivery', 'text'],
  input: {
    delivery,
    text: as(z.string().trim().max(1_000), 'Note', 'text', {
      about: 'The note; an empty one takes your latest away',
    }),
  },
  output: z.strictObject({ orderDeliveryId: z.int().min(1) }),
  examples: [['deliveries note DN-500012 "Jutta calls them"', 'for all']],
  preview: (review: ReviewOperations, { delivery: named, text: note }, actor) =>
    review.previewNote(named, note, actor),
  run: (review, { delivery: named, text: note }, actor) => review.note(named, note, actor),
  done(_answer, { delivery: named, text: note }) {
    const isGone = String(note).trim() === '';
    return `${String(named).replace(/^id:/, '')}: the note is ${isGone ? 'taken away' : 'kept'}`;
  },
});

export const assignDelivery = act({
  name: 'deliveries.assign',
  operation: 'assignDelivery',
  path: '/deliveries/{id}/assign',
  about: 'say who sees to a delivery',
  more:
    'Everybody reads the name; it changes nothing else. "me" is yourself, and "nobody" takes\n' +
    'the name away. The lists show those of one name (--assigned <name>).',
  button: 'Assign',
  role: 'operator',
  reason: 'none',
  thing: 'delivery',
  args: ['delivery', 'to'],
  input: {
    delivery,
    to: as(z.string().trim().max(100), 'To', 'text', {
      about: 'Name of the person; me: yourself, nobody: the name is taken away',
    }),
  },
  output: z.strictObject({
    orderDeliveryId: z.int().min(1),
    assignedTo: z.string().nullable().meta({ description: 'Null: nobody' }),
  }),
  several: { did: 'assigned', max: BULK_MAX },
  examples: [
    ['deliveries assign DN-500012 me', 'so that nobody else does'],
    ['deliveries assign DN-500012 nobody', 'for everybody again'],
  ],
  preview: (review: ReviewOperations, { delivery: named, to }, actor) =>
    review.previewAssign(named, to, actor),
  run: (review, { delivery: named, to }, actor) => review.assign(named, to, actor),
  done: ({ assignedTo }, { delivery: named }) =>
    `${String(named).replace(/^id:/, '')} is assigned to ${assignedTo ?? 'nobody'}`,
});

function viewName(title: string) {
  return as(z.string().trim().min(1).max(60), title, 'text', { about: 'Name of the view' });
}
const ofView = { role: 'operator', reason: 'none' } as const;

export const saveView = act({
  ...ofView,
  name: 'deliveries.save-view',
  operation: 'saveView',
  path: '/review/views/save',
  about: 'keep a filter and order of the list under a name',
  more:
    'All of the house see it as a tab above the list. The filter is as in the address of the\n' +
    'page: shown=held&country=DK&sort=value. The default is what the list shows at first.',
  button: 'Save',
  args: ['name'],
  input: {
    name: viewName('Name'),
    filter: as(z.string().max(2_000), 'Filter', 'text', {
      about: 'Filter and order, as in the address of the page',
    }),
    default: flag('Show it at first', {
      about: 'the list shows it at first, to everybody',
    }).default(false),
    replace: flag('Replace one of this name', { about: 'in place of a view of this name' }).default(
      false,
    ),
  },
  output: z.strictObject({ filter: z.string() }),
  examples: [['deliveries save-view "Denmark" --filter "shown=held&country=DK"', 'for all']],
  preview: async ({ views }: ReviewOperations, view) => ({
    lines: [await views.previewSave(view)],
  }),
  run: ({ views }, view, actor) => views.save(view, actor),
  done: (_answer, { name }) => `the view ${name} is kept`,
});

export const renameView = act({
  ...ofView,
  name: 'deliveries.rename-view',
  operation: 'renameView',
  path: '/review/views/rename',
  about: 'give a saved view another name',
  button: 'Rename',
  args: ['name', 'to'],
  input: { name: viewName('Name'), to: viewName('New name') },
  output: z.strictObject({}),
  examples: [['deliveries rename-view Denmark Nordic', 'for all']],
  preview: async ({ views }: ReviewOperations, { name, to }) => ({
    lines: [await views.previewRename(name, to)],
  }),
  async run({ views }, { name, to }, actor) {
    await views.rename(name, to, actor);
    return {};
  },
  done: (_answer, { name, to }) => `the view ${name} is called ${to}`,
});

export const deleteView = act({
  ...ofView,
  name: 'deliveries.delete-view',
  operation: 'deleteView',
  path: '/review/views/delete',
  about: 'take a saved view away',
  button: 'Delete',
  args: ['name'],
  input: { name: viewName('Name') },
  output: z.strictObject({}),
  examples: [['deliveries delete-view Denmark', 'for all']],
  preview: async ({ views }: ReviewOperations, { name }) => ({
    lines: [await views.previewDelete(name)],
  }),
  async run({ views }, { name }, actor) {
    await views.delete(name, actor);
    return {};
  },
  done: (_answer, { name }) => `the view ${name} is gone`,
});

export const deliveryActs = [
  acceptDelivery,
  rejectDelivery,
  holdDelivery,
  releaseDelivery,
  undoDecision,
  noteDelivery,
  assignDelivery,
  saveView,
  renameView,
  deleteView,
];
