/** Acts of people and programs on pushes, and on the orders that were sent. */
import { z } from 'zod';
import { RefusedError } from '../lib/errors.ts';
import { plural } from '../lib/strings.ts';
import type { Actor } from '../store/audit.ts';
import { act } from '../surface/acts.ts';
import { text } from '../surface/members.ts';

const forgotten = z.strictObject({
  reference: z.string().nullable(),
  orderId: z.int().nullable().meta({ description: 'Null: the service never had it' }),
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
