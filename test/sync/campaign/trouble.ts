/** Troubles at the service while it is read, and changes in its world meanwhile. */

import { systemClock } from '../../../src/lib/clock.ts';
import type { Random } from '../../../src/lib/random.ts';
import { drawOrder } from '../../../src/reference/life/arrivals.ts';
import type { Reference } from '../../../src/reference/reference.ts';

/** `revoked`: all tokens at once, by the shaking; the others are faults of the reference. */
export const KINDS: readonly string[] = [
  ...['tooMany', 'serverError', 'unauthorized', 'reset', 'truncated', 'malformed', 'wrongTypes'],
  ...['unknownMember', 'emptyList', 'nullList', 'repeatedRow', 'byteOrderMark', 'latency', 'drip'],
];
const PATHS = ['*/variants/*', '*/pdm/*', '*/brands', '*/freight', '*/seasons', '*/orders*'];
const FAULTS_MAX = 100;
/** Types of styles that the shaking has added. */
const ADDED = 'Added';

/** Faults of about half of the kinds, on every path, in the order of the seed. */
export function faultsOf(random: Random, seed: number) {
  const kinds = KINDS.filter(() => random.chance(0.5));
  return kinds
    .flatMap((kind, index) =>
      PATHS.map((path) => ({ kind, path, index, isSlow: random.chance(0.5) })),
    )
    .map(({ kind, path, index, isSlow }) => ({
      ...{ kind, path, seed: seed * 100 + index },
      probability: 0.02 + random.next() * 0.15,
      ...(kind === 'tooMany' ? { retryAfter: 0 } : {}),
      delay: kind === 'drip' && isSlow ? 50 : 1,
      // Bytes of an answer that ends early, and of each piece of one that drips.
      bytes: isSlow ? 64 : 5_000,
      contentLength: random.chance(0.5) ? 'right' : 'wrong',
    }))
    .slice(0, FAULTS_MAX);
}

type Shake = (reference: Reference, random: Random, gone: Set<string>) => void;

const sellOrFill: Shake = ({ world: { catalog, stock } }, random) => {
  const at = random.int(0, catalog.variantCount - 1);
  stock.set(at, random.chance(0.5) ? 0 : random.int(1, 50));
};

const order: Shake = ({ world }, random) => {
  const orderId = world.book.orders.nextId();
  world.trade.place(drawOrder(world, { seed: random.int(1, 9_999), orderId, preOrderShare: 0.3 }));
};

const pack: Shake = ({ world: { book, trade } }, random) => {
  trade.packSome(random.pick(book.orders.all));
};

/** Whatever may follow; the world refuses what may not. What ships leaves the stock. */
const decide: Shake = ({ world: { book, trade } }, random) => {
  const delivery = random.pick(book.deliveries.all);
  const to = random.pick(['accepted', 'rejected', 'pending', 'canceled', 'ship'] as const);
  if (to === 'ship') trade.ship(delivery);
  else trade.moveDelivery(delivery, to);
};

/** Of what has shipped: of all else the sweeps ask for no refunds. */
const refund: Shake = ({ world: { book, trade } }, random) => {
  const shipped = book.deliveries.all.filter(({ shippedAt }) => shippedAt !== undefined);
  const ids = new Set(shipped.map(({ orderId }) => orderId));
  const orders = book.orders.all.filter(({ orderId }) => ids.has(orderId));
  const from = orders.length > 0 ? random.pick(orders) : undefined;
  const [line] = from?.lines ?? [];
  if (!from || !line) return;
  const lines = [{ barcode: line.barcode, pieces: line.pieces, quantity: 1 }];
  const pending = trade.askRefund(from, { reference: `r${random.int(1, 999_999)}`, lines });
  const end = random.int(1, 4);
  if (end <= 2) trade.confirmRefund(pending);
  if (end === 3) trade.dropRefund(pending);
  const old = book.refunds.all.at(random.int(0, 30));
  if (old) trade.moveRefund(old, random.pick(['accepted', 'rejected', 'pending']));
};

const rename: Shake = ({ pdm }, random, gone) => {
  const name = `${ADDED} ${random.int(1, 999_999)}`;
  const added = pdm
    .list('type', [])
    .filter((id) => String(pdm.get('type', id)?.attributes.name).startsWith(ADDED));
  const [first] = added;
  if (first === undefined || random.chance(0.4)) pdm.addName('type', name);
  else if (random.chance(0.5)) pdm.changeName('type', first, name);
  else {
    gone.add(`style_type:${first}`);
    pdm.removeName('type', first);
  }
  pdm.changeStyle(random.pick(pdm.list('style', [])), { designer: name });
};

/** In the middle of whatever page is on its way. */
const revoke: Shake = ({ keys }) => keys.revokeAll();

const SHAKES: readonly Shake[] = [
  sellOrFill,
  sellOrFill,
  order,
  pack,
  pack,
  decide,
  refund,
  rename,
  revoke,
];

/** Whatever it was that sold it out: an order, a refund that was taken back. */
function noteSoldOut({ world: { catalog, stock } }: Reference, gone: Set<string>): void {
  for (let at = 0; at < catalog.variantCount; at += 1) {
    if (stock.of(at) === 0) gone.add(`stock_variant:${catalog.barcodeOf(at)}`);
  }
}

/** In one run of a stream; a slow machine must not mean a wilder world. */
const SHAKES_MAX = 6;

/** Shakes the world until it is told to stop; `gone` gets `entity:key` of what was ever removed. */
export function shake(reference: Reference, random: Random, gone: Set<string>) {
  const clock = systemClock();
  let isOn = true;
  let left = SHAKES_MAX;
  let moves = 0;
  const done = (async () => {
    while (isOn) {
      await clock.sleep(random.int(2, 20));
      if (left === 0) continue;
      left -= 1;
      moves += 1;
      random.pick(SHAKES)(reference, random, gone);
      noteSoldOut(reference, gone);
    }
  })();
  return {
    /** A run begins: it is shaken as well. */
    again(): void {
      left = SHAKES_MAX;
    },
    /** How often the world has moved since the last call. */
    take(): number {
      const taken = moves;
      moves = 0;
      return taken;
    },
    async stop(): Promise<void> {
      isOn = false;
      await done;
    },
  };
}
