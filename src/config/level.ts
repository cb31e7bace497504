/**
 * Levels of the V1 interface (`service.dialect.v1.level`): the one table of the features that came
 * with each, and of what the daemon does without them. A missing feature stops nothing: it is not
 * asked for, and one line names it at the start, in `status` and in `doctor`. Source: docs/wire.md,
 * "Levels".
 */
import type { Config } from './schema.ts';

interface Feature {
  readonly name: string;
  readonly since: string;
  /** Consequence for the daemon where the feature is missing. */
  readonly consequence: string;
  /** Setting to change for an account that lacks the feature although its level has it. */
  readonly otherwise?: string;
}

/** Features of V1 in the order in which they came. */
const FEATURES = {
  brandsAndFreight: {
    name: 'the lists of brands and freight',
    since: '1.2.7',
    consequence: 'the streams brands and freight are off, and no list can be asked brand by brand',
  },
  wholesalePrice: {
    name: 'wholesale prices of variants',
    since: '1.2.37',
    consequence: 'rules and the pre-flight know no price to hold an order against',
  },
  variantSeason: {
    name: 'the season of a variant',
    since: '1.2.38',
    consequence: 'season_name of variants stays empty',
  },
  originalPrice: {
    name: 'original prices of variants',
    since: '1.2.50',
    consequence: 'price_original of variants stays empty',
  },
  orderWithoutAddress: {
    name: 'orders without a shipping address',
    since: '1.2.55',
    consequence: 'every new order needs a shipping address, else it is refused before it is sent',
  },
  colorCode: {
    name: 'color codes and care labels of variants',
    since: '1.2.56',
    consequence: 'color_code of variants stays empty',
  },
  orderParts: {
    name: 'deliveries and refunds below an order, and events',
    since: '1.3.0',
    consequence:
      'orders are submitted and mirrored, and nothing is decided: /delivery is not spoken',
  },
  orderWithoutFreight: {
    name: 'orders without freight',
    since: '1.3.3',
    consequence: 'every new order needs freight, else it is refused before it is sent',
  },
  stockList: {
    name: 'the lists of stock and season',
    since: '1.4.0',
    consequence: 'the stock is read from /variants, whose variants are flat',
  },
  preOrders: {
    name: 'pre-orders',
    since: '1.4.0',
    consequence: 'the streams season and seasons are off, and a pre-order is refused at the door',
  },
  b2cSalePrice: {
    name: 'consumer sale prices of variants',
    since: '1.4.1',
    consequence: 'b2c_sale_price of variants stays empty',
  },
  orderInAnswer: {
    name: 'the sales order in the answer to a new order',
    since: '1.4.4',
    consequence: 'a new order is read again before it counts as confirmed',
  },
  variantsOnOrder: {
    name: 'variants of running orders in the stock',
    since: '1.4.9',
    consequence: 'streams.stock.includeVariantsOnOrder is not asked for',
  },
  pendingRefunds: {
    name: 'pending refunds',
    since: '1.4.11',
    consequence: 'orders are read and decided without them, and one is refused at the door',
    otherwise: 'streams.orders.pendingRefunds: false',
  },
  deliveriesInAnswer: {
    name: 'the deliveries in the answer to a new order',
    since: '1.4.12',
    consequence: 'deliveries of a new order are seen with its first read',
  },
  detailedPricing: {
    name: 'prices of the key itself (detailedPricing)',
    since: '1.4.14',
    consequence: 'detailedPricing of the streams stock and season is not asked for',
  },
} satisfies Record<string, Feature>;

export type Capability = keyof typeof FEATURES;

function isBelow(level: string, since: string): boolean {
  const [own, other] = [level, since].map((text) => text.split('.').map(Number));
  for (const [index, part] of (other ?? []).entries()) {
    const difference = (own?.[index] ?? 0) - part;
    if (difference !== 0) return difference < 0;
  }
  return false;
}

export function isCapability(name: string): name is Capability {
  return Object.hasOwn(FEATURES, name);
}

/** All capabilities, the oldest first. */
export const CAPABILITIES = Object.keys(FEATURES).filter(isCapability);

export function hasAtLevel(level: string, capability: Capability): boolean {
  return !isBelow(level, FEATURES[capability].since);
}

/** Lists the features that the level (`1.4.2`) does not have yet. */
export function missingAtLevel(level: string): readonly Feature[] {
  return Object.values(FEATURES).filter(({ since }) => isBelow(level, since));
}

/** Describes in a line which feature the level lacks, and what follows. */
export function lackLine(level: string, { name, since, consequence }: Feature): string {
  return `level ${level} has no ${name} (since ${since}): ${consequence}`;
}

/** Explains why the daemon refuses something that the account's level does not have. */
export function refusalAtLevel(level: string, capability: Capability): string {
  const { name, since } = FEATURES[capability];
  return (
    `the account's level is ${level}, and ${name} came with ${since}; ` +
    'if the account has them, raise service.dialect.v1.level'
  );
}

/** Describes a capability that an account seems to lack although its level has it. */
export function doubtOfLevel(level: string, capability: Capability) {
  const { name, since, otherwise }: Feature = FEATURES[capability];
  const looksLike = `below ${since}`;
  const or = otherwise === undefined ? '' : `, or ${otherwise}`;
  const set = `set service.dialect.v1.level to what it has (${looksLike})${or}`;
  const hint = `if the account has no ${name}, ${set}`;
  return { setting: 'service.dialect.v1.level', level, looksLike, hint };
}

/**
 * Feature that a V1 stream needs, by the stream's name; the stock needs none, because it has
 * another address below 1.4.0.
 */
export const STREAM_NEEDS: Readonly<Record<string, Capability>> = {
  brands: 'brandsAndFreight',
  freight: 'brandsAndFreight',
  seasons: 'preOrders',
  season: 'preOrders',
};

/**
 * Lists streams that are switched on and do not exist at the account's level; each is mapped to
 * that level.
 */
export function streamsNotAtLevel({
  streams,
  service,
}: Pick<Config, 'streams' | 'service'>): Readonly<Record<string, string>> {
  const { level } = service.dialect.v1;
  const lacking = Object.entries(STREAM_NEEDS).filter(
    ([name, need]) => !streams.off.includes(name) && !hasAtLevel(level, need),
  );
  return Object.fromEntries(lacking.map(([name]) => [name, level]));
}
