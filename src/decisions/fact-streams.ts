/**
 * Names the pulled stream whose rows each fact comes from, for checks of freshness and of changes.
 */
import type { Facts } from '../rules/facts/plain.ts';
import type { Rule, RuleSet } from '../rules/rule.ts';

const lines = (...names: readonly string[]) => names.map((name) => `delivery.lines.${name}`);

const PIECES = [...lines('stock_free', 'missing', 'stock_age'), 'stock.age'];
const PRICES = lines('list_price', 'list_price_diff_pct', 'net_price', 'discount');
const NAMES = ['style_no', 'style_name', 'color_name', 'size_name'];
const PRODUCT = [
  ...lines('brand', 'category', 'country_of_origin', 'gender', ...NAMES, 'type', 'weight'),
  'delivery.weight',
];
const STYLE = lines('style_active', 'noos', 'color_active');
const COLOR = lines('noos', 'color_active');
/** Facts that come from the product variants of the lines when an order names no currency. */
const CURRENCY = ['currency', 'amount', 'amount_base'].flatMap((name) => [
  `delivery.${name}`,
  `order.${name}`,
]);
const VARIANT = [...PRICES, ...PRODUCT, ...STYLE, ...CURRENCY];

type FactStreams = Readonly<Record<string, readonly string[]>>;

/** Facts that a stream changes from hour to hour: accepts wait until the stream is fresh. */
export const MOVED_BY: FactStreams = { stock: [...PIECES, ...PRICES], season: PRICES };

/** Facts that are unknown before the first complete pull of a stream. */
export const FIRST_FROM: FactStreams = {
  stock: [...PIECES, ...PRICES, ...PRODUCT],
  season: PRICES,
  styles: STYLE,
  seasons: ['season.name', 'season.listed', 'season.delivery_names'],
};

/**
 * Facts that a faulty run of a stream can change for most deliveries at once (accept/freshness.ts).
 */
export const READ_FROM: FactStreams = {
  stock: [...PIECES, ...VARIANT, ...lines('season')],
  season: VARIANT,
  styles: STYLE,
  styleColors: COLOR,
  colors: COLOR,
  pdmBrands: STYLE,
};

/** Names the streams of the table from which at least one of these facts comes. */
export function streamsOf(table: FactStreams, paths: readonly string[]): readonly string[] {
  return Object.entries(table).flatMap(([stream, facts]) =>
    facts.some((path) => paths.includes(path)) ? [stream] : [],
  );
}

/**
 * Names the streams of the table from which the facts of one delivery come: prices of a pre-order
 * come from the stream of its season, prices of any other order from the stock.
 */
export function streamsFor(
  table: FactStreams,
  paths: readonly string[],
  { order }: Pick<Facts, 'order'>,
): readonly string[] {
  const isAhead = order.season !== null && order.season !== undefined;
  const others = streamsOf(
    table,
    paths.filter((path) => !PRICES.includes(path)),
  );
  if (!paths.some((path) => PRICES.includes(path))) return others;
  return [...new Set([...others, isAhead ? 'season' : 'stock'])];
}

/** Facts that the ERP's customers tell, with all below them. */
const OF_CUSTOMERS = /^customer\.(?:account_no|blocked|credit|extra)\b/;

/** Whether live rules read what the product data say of styles, and of their colors. */
export interface StylesRead {
  readonly style: boolean;
  readonly color: boolean;
}

const stylesReadOf = new WeakMap<readonly Rule[], StylesRead>();

export function stylesReadBy(rules: readonly Rule[] = []): StylesRead {
  const isRead = (facts: readonly string[]): boolean =>
    rules.some(({ mode, reads }) => mode === 'live' && facts.some((one) => reads.includes(one)));
  const known = stylesReadOf.get(rules) ?? { style: isRead(STYLE), color: isRead(COLOR) };
  stylesReadOf.set(rules, known);
  return known;
}

const customerReads = new WeakMap<readonly Rule[], boolean>();

/** Whether a live rule reads the ERP's customers, or a list that is made of them. */
export function areCustomersRead({
  rules,
  settings,
}: {
  readonly rules: readonly Rule[];
  readonly settings: Pick<RuleSet['settings'], 'list_sources'>;
}): boolean {
  const sources = settings.list_sources;
  const isRead = (path: string): boolean =>
    OF_CUSTOMERS.test(path) || Object.hasOwn(sources, path.replace(/^lists\./, ''));
  const known =
    customerReads.get(rules) ??
    rules.some(({ mode, reads }) => mode === 'live' && reads.some(isRead));
  customerReads.set(rules, known);
  return known;
}
