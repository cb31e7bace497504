/** Answers of the views, worked out from a world's rows by loops. */
import {
  type Delivery,
  type Line,
  type Order,
  type SeasonVariant,
  type Variant,
  WINDOWS,
  type World,
} from './world.ts';

type Says = Readonly<Record<'stock' | 'season', string>>;

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, one) => total + one, 0);
}

function isOpen({ status, isCompleted, isGone }: Order): boolean {
  return !isCompleted && status !== 'canceled' && !isGone;
}

function isPackedOrShipped({ status, isGone }: Delivery): boolean {
  return !isGone && (status === 'pending' || status === 'accepted');
}

interface Wanted {
  readonly order: Order;
  readonly line: Line;
  readonly at: number;
  readonly season: string | null;
  readonly pieces: number;
}

/** Gives each packed piece to the first line of its order that still lacks one of its barcode. */
function wantedOf(order: Order): Wanted[] {
  const packed = new Map<string, number>();
  for (const { barcode, pieces } of order.deliveries
    .filter(isPackedOrShipped)
    .flatMap((d) => d.lines)) {
    packed.set(barcode, (packed.get(barcode) ?? 0) + pieces);
  }
  return order.lines.map((line, at) => {
    const left = packed.get(line.barcode) ?? 0;
    const given = Math.min(left, line.quantity);
    packed.set(line.barcode, left - given);
    const pieces = Math.max(0, line.quantity - Math.max(given, line.fulfilled));
    return { order, line, at, season: line.season || order.season, pieces };
  });
}

function allWanted(world: World): Wanted[] {
  return world.orders.filter(isOpen).flatMap(wantedOf);
}

export function toPack(world: World): unknown[] {
  return allWanted(world)
    .filter(({ pieces }) => pieces > 0)
    .map(({ order, line, at, season, pieces }) => [
      ...[order.id, at + 1, line.barcode, season, line.window, line.quantity, pieces],
    ]);
}

/** Pieces that lie packed and have not left, as far as the stock list cannot know it. */
function packedPieces(world: World, barcode: string): number {
  const deliveries = world.orders
    .filter(({ isCompleted, isGone }) => !isCompleted && !isGone)
    .flatMap((order) => order.deliveries)
    .filter(
      (one) =>
        isPackedOrShipped(one) && (one.status === 'pending' || !one.isTracked || one.isRecent),
    );
  const lines = deliveries.flatMap(({ lines }) => lines);
  return sum(lines.filter((line) => line.barcode === barcode).map(({ pieces }) => pieces));
}

interface Ats {
  readonly row: readonly (string | number | null)[];
  readonly left: number;
}

function stockAts(world: World, says: Says, { barcode, quantity }: Variant): Ats {
  const wanted = allWanted(world).filter((one) => one.line.barcode === barcode && !one.season);
  const packed = packedPieces(world, barcode);
  const open = sum(wanted.map(({ pieces }) => pieces));
  const left = says.stock === 'free' ? quantity : quantity - packed - open;
  return { row: [barcode, null, null, quantity, packed, open, left], left };
}

function seasonAts(world: World, says: Says, variant: SeasonVariant): Ats[] {
  const { barcode, quantity, season } = variant;
  const wanted = allWanted(world).filter(
    (one) => one.line.barcode === barcode && one.season === season,
  );
  const windows = WINDOWS[season] ?? [];
  const named = windows.length === 0 ? [null] : windows;
  return named.map((window, at) => {
    const due = wanted.filter(({ line }) => {
      const place = line.window === null ? -1 : windows.indexOf(line.window);
      return window === null || place <= at;
    });
    const open = sum(due.map(({ pieces }) => pieces));
    const left = says.season === 'free' ? quantity : quantity - open;
    return { row: [barcode, season, window, quantity, 0, open, left], left };
  });
}

export function ats(world: World, says: Says): Ats['row'][] {
  const stock = world.stock
    .filter(({ isGone }) => !isGone)
    .map((one) => stockAts(world, says, one));
  const seasons = world.seasons
    .filter(({ isGone }) => !isGone)
    .flatMap((one) => seasonAts(world, says, one));
  return [...stock, ...seasons].map(({ row }) => row);
}

/** Whether the stock, or the season, is wanted. */
function isWanted(world: World, barcode: string, season: string | null): boolean {
  const isOpenFor = ({ pieces, line, ...one }: Wanted): boolean =>
    pieces > 0 && line.barcode === barcode && (one.season || null) === season;
  const isPacked = season === null && packedPieces(world, barcode) > 0;
  return isPacked || allWanted(world).some(isOpenFor);
}

/** Rows of `ats` that something is wanted of, and what is wanted and not in the stock list. */
export function wantedAts(world: World, says: Says): unknown[] {
  const barcodes = new Set(
    world.orders.flatMap(({ lines, deliveries }) =>
      [...lines, ...deliveries.flatMap((one) => one.lines)].map(({ barcode }) => barcode),
    ),
  );
  const isListed = (barcode: string): boolean =>
    world.stock.some((one) => one.barcode === barcode && !one.isGone);
  const gone = [...barcodes]
    .filter((barcode) => !isListed(barcode) && isWanted(world, barcode, null))
    .map((barcode) => stockAts(world, says, { barcode, style: '', quantity: 0, isGone: true }));
  const listed = ats(world, says).filter(([barcode, season]) =>
    isWanted(world, String(barcode), season === null ? null : String(season)),
  );
  return [...listed, ...gone.map(({ row }) => row)];
}

/** Barcode, season and pieces too few. */
export function oversold(world: World, says: Says): unknown[] {
  const wantedStock = new Set<string>();
  for (const { line, season } of allWanted(world).filter((one) => one.pieces > 0)) {
    if (!season) wantedStock.add(line.barcode);
  }
  for (const { lines } of world.orders.flatMap((order) => order.deliveries)) {
    for (const { barcode } of lines) if (packedPieces(world, barcode) > 0) wantedStock.add(barcode);
  }
  const stock = [...wantedStock].map((barcode) => {
    const listed = world.stock.find((one) => one.barcode === barcode && !one.isGone);
    const none = { barcode, style: '', quantity: 0, isGone: false };
    return [barcode, null, -stockAts(world, says, listed ?? none).left] as const;
  });
  const seasons = world.seasons
    .filter(({ isGone }) => !isGone)
    .filter(({ barcode, season }) =>
      allWanted(world).some(
        (one) => one.pieces > 0 && one.line.barcode === barcode && one.season === season,
      ),
    )
    .map((one) => {
      const last = seasonAts(world, says, one).map(({ left }) => left);
      return [one.barcode, one.season, -Math.min(...last)] as const;
    });
  // Windows that the season does not name are wanted from the first on, so the last has all.
  return [...stock, ...seasons].filter(([, , missing]) => missing > 0);
}

/** Units as the decimal that a view shows. */
function amountOf(units: number): number {
  return units / 10_000;
}

function worth(lines: readonly Line[], pieces: (line: Line) => number): number | null {
  if (lines.some(({ price }) => price === null)) return null;
  return amountOf(sum(lines.map((line) => pieces(line) * (line.price ?? 0))));
}

export function orders(world: World): unknown[] {
  return world.orders.map((order) => {
    const open = (line: Line): number =>
      isOpen(order) ? Math.max(0, line.quantity - line.fulfilled) : 0;
    const live = order.deliveries.filter(isPackedOrShipped);
    return [
      order.id,
      order.lines.length,
      sum(order.lines.map(({ quantity }) => quantity)),
      sum(order.lines.map(({ fulfilled }) => fulfilled)),
      sum(order.lines.map(open)),
      worth(order.lines, ({ quantity }) => quantity),
      isOpen(order) ? worth(order.lines, open) : 0,
      order.currency,
      live.length,
    ];
  });
}

function inOneCurrency(ofCustomer: readonly Order[], amount: number): number | null {
  return new Set(ofCustomer.map(({ currency }) => currency)).size <= 1 ? amountOf(amount) : null;
}

/** Sums of the lines that have a price. */
function priced(ofCustomer: readonly Order[], pieces: (line: Line) => number): number {
  const lines = ofCustomer.flatMap((order) => order.lines);
  return sum(lines.map((line) => pieces(line) * (line.price ?? 0)));
}

export function customers(world: World): unknown[] {
  const accounts = new Set([
    ...world.orders.map(({ account }) => account).filter(Boolean),
    ...world.customers.map(({ account }) => account),
  ]);
  return [...accounts].sort().map((account) => {
    const all = world.orders.filter((one) => one.account === account);
    const valid = all.filter(({ status, isGone }) => status !== 'canceled' && !isGone);
    const open = valid.filter(isOpen);
    const deliveries = all
      .flatMap((order) => order.deliveries)
      .filter(({ status, isGone }) => status !== 'canceled' && !isGone);
    const held = deliveries.filter(
      ({ status, outcomes }) => status === 'pending' && outcomes.at(-1) === 'hold',
    );
    const everHeld = deliveries.filter(({ outcomes }) => outcomes.includes('hold')).length;
    const refunding = all.filter(({ refunds }) => refunds.some((one) => one.status !== 'rejected'));
    const refunds = refunding
      .flatMap((order) => order.refunds)
      .filter(({ status }) => status !== 'rejected');
    const refunded = sum(
      refunds.flatMap(({ lines }) => lines.map(({ pieces, price }) => pieces * (price ?? 0))),
    );
    const credit = world.customers.find((one) => one.account === account);
    return [
      account,
      valid.length,
      inOneCurrency(
        valid,
        priced(valid, ({ quantity }) => quantity),
      ),
      valid.flatMap(({ lines }) => lines).filter(({ price }) => price === null).length,
      open.length,
      inOneCurrency(
        open,
        priced(open, ({ quantity, fulfilled }) => Math.max(0, quantity - fulfilled)),
      ),
      deliveries.length,
      held.length,
      deliveries.length === 0 ? null : Math.round((1_000 * everHeld) / deliveries.length) / 10,
      refunds.length,
      inOneCurrency(refunding, refunded),
      credit ? amountOf(credit.limit - credit.balance) : null,
    ];
  });
}
