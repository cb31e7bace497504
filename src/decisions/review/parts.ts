/** Lists about one delivery: what changed in it and its order, and the facts that rules see. */
import { sql } from 'kysely';
import { z } from 'zod';
import { sourceWords, WORDS, wordFor } from '../../config/words.ts';
import { tryParseJson } from '../../lib/json.ts';
import { placeNumber } from '../../store/pages.ts';
import type { Db } from '../../store/store.ts';
import { list, type Page, pageOfAll, ROWS_MAX } from '../../surface/lists.ts';
import { as, oneOf, text, time, whole } from '../../surface/members.ts';
import { deliveryIdOf } from './deliveries.ts';

export interface DeliveryIds {
  readonly orderDeliveryId: number;
  readonly deliveryNo: string | null;
  readonly orderId: number;
}

/** Ids of a delivery that is named by id or number; throws when there is none. */
export async function deliveryIds(db: Db, named: string): Promise<DeliveryIds> {
  const orderDeliveryId = await deliveryIdOf(db, named);
  return db
    .selectFrom('delivery')
    .select(['order_delivery_id as orderDeliveryId', 'delivery_no as deliveryNo'])
    .select('order_id as orderId')
    .where('order_delivery_id', '=', orderDeliveryId)
    .executeTakeFirstOrThrow();
}

const delivery = text('Delivery', { about: 'The id or the number of the delivery' }, 100);

const change = {
  seq: whole('Number', { csv: 'number', about: 'Its number in the change feed' }),
  at: time('Time'),
  entity: oneOf('Of', ['delivery', 'sales_order']),
  op: oneOf('What', ['insert', 'update', 'delete', 'restore'], {
    csv: 'what',
    words: WORDS.change,
  }),
  diff: z.record(z.string(), z.unknown()).meta({ description: 'By column: before and after' }),
  cause: as(z.string(), 'By', 'text'),
};
type Change = { readonly [K in keyof typeof change]: z.output<(typeof change)[K]> };

/** Changes of a delivery and of its order in the change feed, the latest first. */
async function readChanges(
  db: Db,
  { orderDeliveryId, orderId }: DeliveryIds,
  { after, back, limit }: Page,
): Promise<Change[]> {
  const start = after === undefined ? Number.MAX_SAFE_INTEGER : placeNumber(after);
  const isBack = back !== undefined;
  const beyond = isBack ? sql`seq > ${placeNumber(back)}` : sql`seq < ${start}`;
  const { rows } = await sql<Omit<Change, 'diff'> & { readonly diff: string }>`
    select seq, at, entity, op, diff, cause from change
    where entity = 'delivery' and key = ${String(orderDeliveryId)} and ${beyond}
    union all
    select seq, at, entity, op, diff, cause from change
    where entity = 'sales_order' and key = ${String(orderId)} and ${beyond}
    order by seq ${sql.raw(isBack ? 'asc' : 'desc')} limit ${limit}`.execute(db);
  const found = rows.map((row) => ({ ...row, diff: { ...Object(tryParseJson(row.diff)) } }));
  return isBack ? found.toReversed() : found;
}

function valueText(value: unknown): string {
  if (value === null || value === undefined) return 'nothing';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

export const changes = list({
  name: 'deliveries.changes',
  operation: 'listDeliveryChanges',
  path: '/deliveries/{id}/changes',
  title: 'Changes',
  about: 'changes of a delivery and its order, the latest first',
  examples: [['deliveries changes 500012', 'what the service changed in it, and when']],
  args: ['delivery'],
  thing: 'delivery',
  query: { delivery },
  row: change,
  shown: [
    'at',
    { title: 'Of', text: ({ entity }) => wordFor('thing', entity) },
    'op',
    {
      title: 'From → to',
      text({ diff, op }) {
        const columns = Object.entries(diff);
        if (columns.length === 0) return op === 'insert' ? 'all of it' : 'nothing';
        const lines = columns.map(([column, pair]) => {
          const [before, after] = Array.isArray(pair) ? pair : [undefined, pair];
          return `${column.replaceAll('_', ' ')}: ${valueText(before)} → ${valueText(after)}`;
        });
        return lines.join('\n');
      },
    },
    { title: 'By', text: ({ cause }) => sourceWords(cause) },
    'seq',
  ],
  empty: 'The feed has no change of it: it keeps them for store.retention.changes.',
  pageParameter: 'before',
  async read(from, { delivery: named }, page) {
    const ids = await deliveryIds(from.db, named);
    return from.masked([ids.orderId], await readChanges(from.db, ids, page));
  },
  place: ({ seq }) => String(seq),
});

const fact = {
  path: text('Fact', { csv: 'fact', isCode: true }),
  value: as(z.string(), 'Value', 'text', { about: 'Null: it is not known' }).nullable(),
  about: text('Meaning', { csv: 'meaning' }),
};

export const facts = list({
  name: 'deliveries.facts',
  command: 'rules facts',
  operation: 'listFacts',
  path: '/deliveries/{id}/facts',
  title: 'Facts',
  about: 'every fact of a delivery with its value, as it is now',
  more:
    'Every name that a condition may use, with its present value for this delivery and its\n' +
    'meaning; "?" is a fact that is not known.',
  examples: [['rules facts 500012', 'find the right name']],
  args: ['delivery'],
  thing: 'delivery',
  query: { delivery, q: text('Name, value or meaning', {}, 200).optional() },
  row: fact,
  sorts: ['path', 'value'],
  shown: ['path', { title: 'Value', text: ({ value }) => value ?? '?' }, 'about'],
  empty: 'No fact has that in its name, value or meaning.',
  limit: ROWS_MAX,
  rowsAs: 'facts',
  async read(from, { delivery: named, q = '' }, page) {
    // Judging a delivery takes more modules than the commands of this noun need otherwise.
    const { currentSubject } = await import('../simulation/current.ts');
    const { ruleSetInForce } = await import('../simulation/rule-sets.ts');
    const { factRows } = await import('../../rules/facts/show.ts');
    const { orderDeliveryId, orderId } = await deliveryIds(from.db, named);
    const { ruleSet } = await ruleSetInForce(from.db);
    const subject = await currentSubject(from, `id:${orderDeliveryId}`, ruleSet, from.now);
    const all = factRows(subject.facts).map((one) => ({ ...one, value: one.value ?? null }));
    // A filter that sees what is masked would tell it letter by letter.
    const seen = await from.masked([orderId], all);
    const wanted = q.trim().toLowerCase();
    const fits = seen.filter(({ path, value, about }) =>
      [path, value ?? '', about].some((one) => one.toLowerCase().includes(wanted)),
    );
    return pageOfAll(fits, page, ({ path }) => path);
  },
  place: ({ path }) => path,
});

export const deliveryPartLists = [changes];
