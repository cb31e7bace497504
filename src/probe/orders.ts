/** Probes orders and the lists below them: status words, currency, pending refunds, times. */
import type { PlainAnswer } from '../client/probe-client.ts';
import type { Config } from '../config/schema.ts';
import { isGood, isMissing, type Row, rowsOf, statusOf, textOf, wordsOf } from './answers.ts';
import type { LevelSign } from './level.ts';
import type { Talk } from './talk.ts';

type V1 = Config['service']['dialect']['v1'];
type Words = V1['statuses'][number];
type Kind = Words['of'];

export interface OrdersSeen {
  readonly orders: readonly Row[];
  /** Barcodes in the orders, which therefore exist. */
  readonly barcodes: readonly string[];
  readonly signs: readonly LevelSign[];
  readonly answer: PlainAnswer;
}

/** Maximum of orders whose deliveries and refunds are read. */
const ORDERS_LOOKED_MAX = 6;

const KNOWN: Readonly<Record<Kind, readonly string[]>> = {
  order: ['pending', 'fulfilled', 'partially_fulfilled', 'canceled'],
  delivery: ['pending', 'accepted', 'rejected', 'canceled'],
  refund: ['pending', 'accepted', 'rejected', 'canceled'],
  pendingRefund: ['pending', 'confirmed', 'canceled'],
};

/**
 * Meanings of status words by pattern; the flag tells sure ones from likely ones. The first match
 * counts.
 */
const MEANINGS: readonly (readonly [RegExp, Words['means'], boolean])[] = [
  [/^partial/, 'partially_fulfilled', true],
  [/^(?:un|not|dis)/, 'pending', false],
  [/await.*accept|^pending|^waiting/, 'pending', true],
  [/^cancel/, 'canceled', true],
  [/^(?:accept|approv)/, 'accepted', true],
  [/^(?:reject|declin|refus)/, 'rejected', true],
  [/^fulfil/, 'fulfilled', true],
  [/^confirm/, 'confirmed', true],
  [/^(?:open|new|packed|created|imported|received)/, 'pending', false],
  [/^(?:shipped|delivered|completed?|closed|invoiced|done)/, 'fulfilled', false],
];

const bareWord = (text: string): string =>
  text
    .toLowerCase()
    .replaceAll(/[\s-]+/g, '_')
    .trim();

interface StatusSeen {
  readonly of: Kind;
  readonly says: string;
  readonly where: string;
}

function proposeStatuses(talk: Talk, seen: readonly StatusSeen[], own: V1['statuses']): void {
  const setting = 'service.dialect.v1.statuses';
  const { witness } = talk;
  const wordOf = ({ of, says }: StatusSeen): Words | undefined =>
    own.find((one) => one.of === of && bareWord(one.says) === bareWord(says));
  const isKnown = (one: StatusSeen): boolean =>
    KNOWN[one.of].includes(bareWord(one.says)) || wordOf(one) !== undefined;
  const unknown = new Map(
    seen.filter((one) => !isKnown(one)).map((one) => [`${one.of} ${bareWord(one.says)}`, one]),
  );
  const sure: Words[] = [];
  const where: string[] = [];
  for (const { of, says, where: at } of unknown.values()) {
    const [, means, isSure] =
      MEANINGS.find(([word, to]) => word.test(bareWord(says)) && KNOWN[of].includes(to)) ?? [];
    if (means !== undefined && isSure) {
      sure.push({ of, says, means });
      where.push(`"${says}" on ${at}`);
      continue;
    }
    const guess = means ?? 'pending';
    const doubt =
      `the ${of} status "${says}" is not known: say what it means, or what has it ` +
      'is never decided';
    const value = [...own, ...sure, { of, says, means: guess }];
    witness.found({ setting, value, seen: `seen on ${at}`, doubt, isOff: true });
  }
  if (sure.length > 0) {
    const doubt = 'matched by the word: look whether it means that';
    witness.found({ setting, value: [...own, ...sure], seen: where.join(', '), doubt });
  } else if (unknown.size === 0) {
    const words = [...new Set(seen.map(({ of, says }) => `${of} ${says}`))].join(', ');
    const count = `${seen.length} statuses were seen, all of them known: ${words}`;
    const isPending = (one: StatusSeen): boolean =>
      one.of === 'delivery' && (wordOf(one)?.means ?? bareWord(one.says)) === 'pending';
    const doubt = seen.some(isPending)
      ? undefined
      : 'no delivery that waits was seen: "selvedge status" tells if its word is not known';
    witness.found({ setting, value: own, seen: count, doubt });
  }
}

/** Matches paths and numbers in a refusal, which differ from request to request. */
const PLACES = /[\w./{}-]*\/[\w./{}-]+|\d+/g;

/** Whether two refusals are equal except for paths and numbers in them. */
function isSameRefusal(one: PlainAnswer, other: PlainAnswer): boolean {
  const [a, b] = [one, other].map(({ text }) => text.replaceAll(PLACES, ''));
  return statusOf(one) === statusOf(other) && a === b;
}

interface Below {
  readonly answer: PlainAnswer;
  /** Whether the list below the order exists, even if it is empty. */
  readonly isThere: boolean;
}

/**
 * Builds a reader of lists below an order that tells an empty list from a wrong path: some accounts
 * answer both with a 404, in different words.
 */
function createBelow(talk: Talk) {
  const controls = new Map<string, PlainAnswer>();
  return async (orderId: string, path: string): Promise<Below> => {
    const answer = await talk.get(`/orders/${orderId}/${path}`);
    if (!isMissing(answer)) return { answer, isThere: isGood(answer) };
    const control =
      controls.get(orderId) ?? (await talk.get(`/orders/${orderId}/selvedge-probe-no-such-path`));
    controls.set(orderId, control);
    return { answer, isThere: !isSameRefusal(answer, control) };
  };
}

const PENDING_PATHS = ['pending-refunds', 'pendingRefunds', 'pending_refunds', 'refunds/pending'];

async function findPendingRefunds(
  talk: Talk,
  below: ReturnType<typeof createBelow>,
  orderId: string,
  candidates: readonly string[],
): Promise<{ sign: LevelSign; answer: PlainAnswer | undefined }> {
  const { witness } = talk;
  const [own] = candidates;
  const setting = 'service.dialect.v1.paths.pendingRefunds';
  for (const path of new Set([...candidates, ...PENDING_PATHS])) {
    const { answer, isThere } = await below(orderId, path);
    if (!isThere) continue;
    const seen = `GET /orders/${orderId}/${path}: ${statusOf(answer)}`;
    const more = isGood(answer) ? '' : ', otherwise than a path that does not exist';
    witness.found({ setting, value: path, seen: seen + more });
    return { sign: { since: '1.4.11', has: true, seen }, answer };
  }
  const seen = `GET /orders/${orderId}/${own}: 404, as any path that does not exist`;
  return { sign: { since: '1.4.11', has: false, seen }, answer: undefined };
}

function findCurrency(talk: Talk, orders: readonly Row[], own: V1, currencies: readonly string[]) {
  const setting = 'service.dialect.v1.currency';
  const named = orders.filter(({ currency }) => textOf(currency) !== undefined).length;
  const { witness } = talk;
  if (named === orders.length) {
    witness.found({ setting, value: own.currency, seen: `all of ${named} orders name theirs` });
    return;
  }
  const seen = `${orders.length - named} of ${orders.length} orders name no currency`;
  const [currency] = currencies;
  if (currencies.length === 1 && currency !== undefined && /^[A-Z]{3}$/.test(currency)) {
    const what = `${seen}; all prices that were seen are in ${currency}`;
    witness.found({ setting, value: currency, seen: what });
    return;
  }
  const doubt =
    currencies.length > 1
      ? `prices are in ${currencies.join(', ')}: an order has that of its variants, if they agree`
      : 'no price names one either: rules that ask for a currency accept nothing until it is set';
  witness.found({ setting, value: own.currency, seen, doubt });
}

interface PartsSeen {
  readonly statuses: readonly StatusSeen[];
  readonly signs: readonly LevelSign[];
}

async function lookBelow(
  talk: Talk,
  orders: readonly Row[],
  own: V1,
  describedPath: string | undefined,
): Promise<PartsSeen> {
  const below = createBelow(talk);
  const statuses: StatusSeen[] = [];
  const signs: LevelSign[] = [];
  const ids = orders.map(({ orderId }) => textOf(orderId)).filter((one) => one !== undefined);
  const [newest] = ids;
  if (newest === undefined) return { statuses, signs };
  // Old orders are read too, because they have more deliveries and refunds than new ones.
  const looked = [...new Set([...ids.slice(0, 2), ...ids.slice(-ORDERS_LOOKED_MAX)])];
  for (const [kind, of] of [
    ['deliveries', 'delivery'],
    ['refunds', 'refund'],
  ] as const) {
    for (const id of looked.slice(0, ORDERS_LOOKED_MAX)) {
      talk.witness.looking(`${kind} of order ${id}`);
      const { answer, isThere } = await below(id, kind);
      if (!isThere) {
        const seen = `GET /orders/${id}/${kind}: ${wordsOf(answer).slice(0, 60)}`;
        signs.push({ since: '1.3.0', has: false, seen });
        break;
      }
      signs.push({ since: '1.3.0', has: true, seen: `orders have ${kind} below them` });
      for (const { status } of rowsOf(answer, kind) ?? []) {
        const says = textOf(status);
        if (says !== undefined) statuses.push({ of, says, where: `order ${id}` });
      }
    }
  }
  if (signs.some(({ has }) => !has)) return { statuses, signs };
  const candidates = [own.paths.pendingRefunds, ...(describedPath ? [describedPath] : [])];
  const pending = await findPendingRefunds(talk, below, newest, candidates);
  return { statuses, signs: [...signs, pending.sign] };
}

export async function probeOrders(
  talk: Talk,
  own: V1,
  currencies: readonly string[],
  describedPath: string | undefined,
): Promise<OrdersSeen> {
  const { witness } = talk;
  witness.looking('orders');
  const answer = await talk.get('/orders');
  const orders = rowsOf(answer, 'orders') ?? [];
  if (orders.length === 0) {
    const seen = isGood(answer) ? 'GET /orders is empty' : `GET /orders: ${wordsOf(answer)}`;
    const doubt = 'statuses, currency, times and pending refunds could not be looked at';
    witness.found({ setting: undefined, value: 'no orders', seen, doubt });
    const [currency] = currencies;
    if (currencies.length === 1 && currency !== undefined) {
      const unseen = 'whether orders name theirs was not seen';
      const what = `all prices that were seen are in ${currency}`;
      witness.found({
        setting: 'service.dialect.v1.currency',
        value: currency,
        seen: what,
        doubt: unseen,
      });
    }
    return { orders, barcodes: [], signs: [], answer };
  }
  const own1 = orders.flatMap(({ orderId, status }): readonly StatusSeen[] => {
    const says = textOf(status);
    return says === undefined ? [] : [{ of: 'order', says, where: `order ${textOf(orderId)}` }];
  });
  findCurrency(talk, orders, own, currencies);
  const { statuses, signs } = await lookBelow(talk, orders, own, describedPath);
  proposeStatuses(talk, [...own1, ...statuses], own.statuses);
  const barcodes = orders.flatMap(({ orderLineItems }) =>
    (Array.isArray(orderLineItems) ? orderLineItems : []).map((line: Row) => textOf(line.barcode)),
  );
  const known = barcodes.filter((one) => one !== undefined);
  return { orders, barcodes: [...new Set(known)], signs, answer };
}
