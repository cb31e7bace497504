/** Judges the end of a storm: at the service, and in the daemon's database. */
import { join } from 'node:path';
import Database from 'better-sqlite3';
import type { Reference } from '../../../src/reference/reference.ts';

/** Deliveries of more pieces are held by the rules. */
export const PIECES_MAX = 12;

type Delivery = Reference['world']['book']['deliveries']['all'][number];

export interface Verdict {
  readonly lost: readonly string[];
  readonly doubled: readonly string[];
  readonly wrong: readonly string[];
  /** Known to the daemon and not done yet. */
  readonly late: readonly string[];
  /** Left to a person, with a reason. */
  readonly left: number;
}

export function isForRules({ lines }: Delivery): boolean {
  return lines.reduce((sum, { quantity }) => sum + quantity, 0) <= PIECES_MAX;
}

/** Deliveries that are to be accepted, and are not yet. */
export function openDeliveries({ world }: Reference): readonly Delivery[] {
  return world.book.deliveries.all.filter((one) => one.status !== 'accepted' && isForRules(one));
}

/** Accepts of the same delivery that the service has taken more than once. */
function acceptedTwice({ edge }: Reference): readonly string[] {
  const posts = edge.journal.list({ method: 'POST', path: '*/deliveries/*', limit: 1_000_000 });
  const paths = posts.filter(({ status }) => status === 200).map(({ path }) => path);
  const seen = new Set<string>();
  return paths.filter((path) => seen.size === seen.add(path).size);
}

export function openMirror(folder: string) {
  const mirror = new Database(join(folder, 'data', 'mirror.db'), { readonly: true });
  const texts = (query: string): ReadonlySet<string> =>
    new Set(mirror.prepare<[], unknown>(query).pluck().all().map(String));
  return {
    orders: () => texts('select order_id from sales_order'),
    toRead: () => texts('select order_id from refresh'),
    /** Documents by what the daemon says of them. */
    papers: () => texts("select reference from outbox where kind = 'order'"),
    blocked: () =>
      texts("select reference from outbox where kind = 'order' and blocked_reason is not null"),
    close: () => mirror.close(),
  };
}

export function judge(reference: Reference, folder: string, taken: readonly string[]): Verdict {
  const mirror = openMirror(folder);
  const { orders, deliveries } = reference.world.book;
  const made = new Map<string, number>();
  for (const { reference: name } of orders.all) {
    if (name !== undefined) made.set(name, (made.get(name) ?? 0) + 1);
  }
  const [known, toRead, papers, blocked] = [
    mirror.orders(),
    mirror.toRead(),
    mirror.papers(),
    mirror.blocked(),
  ];
  mirror.close();
  const isKnown = (id: number): boolean => known.has(String(id)) || toRead.has(String(id));
  const missing = taken.filter((name) => !made.has(name) && !blocked.has(name));
  const open = openDeliveries(reference);
  const isHeldAccepted = (one: Delivery): boolean => one.status === 'accepted' && !isForRules(one);
  const unread = orders.all.filter(({ orderId }) => !isKnown(orderId));
  return {
    lost: [
      ...missing.filter((name) => !papers.has(name)).map((name) => `document ${name}`),
      ...unread.map(({ orderId }) => `order ${orderId}`),
    ],
    doubled: [
      ...acceptedTwice(reference),
      ...taken.filter((name) => (made.get(name) ?? 0) > 1).map((name) => `document ${name}`),
    ],
    wrong: deliveries.all.filter(isHeldAccepted).map((one) => `accept of ${one.orderDeliveryId}`),
    late: [
      ...missing.filter((name) => papers.has(name)).map((name) => `document ${name}`),
      ...open
        .filter(({ orderId }) => isKnown(orderId))
        .map((one) => `delivery ${one.orderDeliveryId} is ${one.status}`),
    ],
    left: taken.filter((name) => !made.has(name) && blocked.has(name)).length,
  };
}
