/** Draws orders that arrive by themselves: who orders what, from the seed and the order's id. */
import { elementAt, numberAt } from '../world/catalog/hash.ts';
import { FREIGHT_TYPES } from '../world/catalog/words.ts';
import type { NewOrder } from '../world/trade/orders.ts';
import type { World } from '../world/world.ts';

const LINES_MAX = 6;
const UNITS_MAX = 12;
const SALT = { account: 70, lines: 71, ahead: 72, freight: 73, comment: 74, line: 80 } as const;
const COMMENTS = ['', '', '', 'Please deliver before noon', 'Call before delivery', ''] as const;

/** Freight in hundredths of a euro, by country: at home it is cheap, overseas it is not. */
const FREIGHT_EUR_MINOR: Readonly<Record<string, number>> = { DK: 750, GB: 2900, NO: 2400 };
const FREIGHT_EUR_MINOR_ELSEWHERE = 1450;

interface Arrival {
  readonly seed: number;
  readonly orderId: number;
  /** Share of orders that are pre-orders of the newest season. */
  readonly preOrderShare: number;
}

/**
 * Index of the first style of the newest season from `start` on; undefined: a small world may have
 * none.
 */
function styleAhead({ catalog }: World, start: number): number | undefined {
  for (let step = 0; step < catalog.size.styles; step += 1) {
    const style = (start + step) % catalog.size.styles;
    if (catalog.style(style).season === catalog.newestSeason) return style;
  }
  return undefined;
}

/**
 * Draws a variant that can be ordered now: of the newest season for a pre-order, else one that is
 * in stock.
 */
function pickVariant(world: World, arrival: Arrival, nth: number, ahead: boolean): number {
  const { catalog, stock } = world;
  const draw = numberAt(arrival.seed, arrival.orderId * 16 + nth, SALT.line, 2 ** 31);
  if (!ahead) {
    const stocked = stock.stockedIn(0, catalog.variantCount);
    return Math.max(0, stock.nth(0, catalog.variantCount, draw % Math.max(1, stocked)));
  }
  const style = styleAhead(world, draw % catalog.size.styles) ?? 0;
  return style * catalog.rowsPerStyle + (Math.floor(draw / 7) % catalog.rowsPerStyle);
}

function drawLines(world: World, arrival: Arrival, ahead: boolean): NewOrder['lines'] {
  const { catalog } = world;
  const { seed, orderId } = arrival;
  const account = world.accounts.at(accountOf(world, arrival));
  const count = 1 + numberAt(seed, orderId, SALT.lines, LINES_MAX);
  const season = catalog.seasons[catalog.newestSeason];
  const lines = new Map<number, NewOrder['lines'][number]>();
  for (let nth = 0; nth < count; nth += 1) {
    const variant = pickVariant(world, arrival, nth, ahead);
    const { prices } = catalog.style(catalog.place(variant).style);
    const list = world.prices.of(ahead ? prices.preOrder : prices.wholesale, account.currency);
    const window = season && elementAt(season.deliveries, nth);
    lines.set(variant, {
      variant,
      barcode: catalog.barcodeOf(variant),
      quantity: 1 + numberAt(seed, orderId * 16 + nth, SALT.lines, UNITS_MAX),
      price: world.prices.rounded(list * (1 - account.discountPercentage / 100), account.currency),
      ...(ahead && season && window ? { season: season.name, delivery: window.name } : {}),
    });
  }
  return [...lines.values()];
}

function accountOf(world: World, { seed, orderId }: Arrival): number {
  return numberAt(seed, orderId, SALT.account, world.accounts.count);
}

/** Draws the order that arrives under this id. */
export function drawOrder(world: World, arrival: Arrival): NewOrder {
  const { seed, orderId } = arrival;
  const { catalog } = world;
  const index = accountOf(world, arrival);
  const account = world.accounts.at(index);
  const season = catalog.seasons[catalog.newestSeason];
  const ahead =
    season !== undefined &&
    catalog.size.seasons > 1 &&
    numberAt(seed, orderId, SALT.ahead, 1_000) < arrival.preOrderShare * 1_000 &&
    styleAhead(world, 0) !== undefined;
  const country = account.address.countryCode;
  const freightEur = FREIGHT_EUR_MINOR[country] ?? FREIGHT_EUR_MINOR_ELSEWHERE;
  return {
    reference: `PO-${account.accountNo}-${orderId}`,
    comment: elementAt(COMMENTS, numberAt(seed, orderId, SALT.comment, 600)),
    lines: drawLines(world, arrival, ahead),
    address: account.address,
    freight: {
      amount: world.prices.of(freightEur, account.currency),
      type: elementAt(FREIGHT_TYPES, numberAt(seed, orderId, SALT.freight, 400)),
    },
    currency: account.currency,
    account: index,
    ...(ahead && season ? { season: season.name } : {}),
  };
}
