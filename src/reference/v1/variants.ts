/** V1: brands, freight, seasons and the variants in stock. */
import { z } from 'zod';
import type { CurrentKnobs } from '../control/knobs.ts';
import type { Key } from '../keys.ts';
import type { Range } from '../world/catalog/catalog.ts';
import { selectVariants } from '../world/catalog/listing.ts';
import { FREIGHT_TYPES } from '../world/catalog/words.ts';
import type { World } from '../world/world.ts';
import { type Answer, invalid, notFound } from './answer.ts';
import { defineRoute, flag, type Route, wholeNumber } from './route.ts';
import { createRowWriter, type RowOptions } from './variant-rows.ts';

const PAGE_ROWS_MAX = 250;
/** Rows per piece of a whole list: some 200 kB of detailed rows. */
const PIECE_ROWS = 250;

export interface VariantDeps {
  readonly world: World;
  readonly knobs: CurrentKnobs;
}

const shows = { detailed: flag, detailedPricing: flag };
const filters = {
  brandName: z.string().optional(),
  styleNo: z.string().optional(),
};
const paging = {
  page: wholeNumber.refine((page) => page >= 1, 'must be 1 or more').optional(),
  limit: wholeNumber
    .refine((limit) => limit >= 1 && limit <= PAGE_ROWS_MAX, `must be 1 to ${PAGE_ROWS_MAX}`)
    .optional(),
};
const stockOneQuery = z.object({ ...shows, includeVariantsOnOrder: flag });
const stockListQuery = stockOneQuery.extend({
  ...filters,
  ...paging,
  search: z.string().optional(),
});
const barcodeParams = z.object({ barcode: z.string() });

type StockListQuery = z.output<typeof stockListQuery>;

function rowOptions(
  { world }: VariantDeps,
  key: Key,
  query: { readonly detailed: boolean; readonly detailedPricing: boolean },
  season?: string,
): RowOptions {
  const account = key.account === undefined ? undefined : world.accounts.at(key.account);
  const priced = query.detailedPricing && key.kind === 'b2b' && key.detailedPricing;
  return {
    detailed: query.detailed,
    currency: account?.currency ?? 'EUR',
    discountPercentage: priced ? (account?.discountPercentage ?? 0) : undefined,
    season,
  };
}

const LIST_HEAD = '{"status":200,"message":"OK","data":{"count":';
const LIST_TAIL = ']}}';

/** All rows of the ranges that have stock, as they were when the list began. */
function* wholeList(deps: VariantDeps, ranges: readonly Range[], options: RowOptions) {
  const { stock } = deps.world;
  const quantities = stock.frozen();
  const write = createRowWriter(deps.world, options);
  const count = ranges.reduce((sum, [from, to]) => sum + stock.stockedIn(from, to), 0);
  let piece = `${LIST_HEAD}${count},"variants":[`;
  let rows = 0;
  for (const [from, to] of ranges) {
    for (let variant = from; variant < to; variant += 1) {
      const quantity = quantities[variant] ?? 0;
      if (quantity <= 0) continue;
      piece += rows === 0 ? write(variant, quantity) : `,${write(variant, quantity)}`;
      rows += 1;
      if (rows % PIECE_ROWS !== 0) continue;
      yield piece;
      piece = '';
    }
  }
  yield piece + LIST_TAIL;
}

function onePage(
  deps: VariantDeps,
  ranges: readonly Range[],
  options: RowOptions,
  page: { readonly number: number; readonly limit: number },
): string {
  const { stock } = deps.world;
  const write = createRowWriter(deps.world, options);
  const rows: string[] = [];
  let skip = (page.number - 1) * page.limit;
  let count = 0;
  for (const [from, to] of ranges) {
    const stocked = stock.stockedIn(from, to);
    count += stocked;
    if (skip >= stocked) {
      skip -= stocked;
      continue;
    }
    let variant = rows.length < page.limit ? stock.nth(from, to, skip) : -1;
    skip = 0;
    for (; variant >= 0 && variant < to && rows.length < page.limit; variant += 1) {
      const quantity = stock.of(variant);
      if (quantity > 0) rows.push(write(variant, quantity));
    }
  }
  return `${LIST_HEAD}${count},"variants":[${rows.join(',')}${LIST_TAIL}`;
}

function stockList(deps: VariantDeps, key: Key, query: StockListQuery): Answer {
  const ranges = selectVariants(deps.world.catalog, query);
  const options = rowOptions(deps, key, query);
  const limit = query.limit ?? deps.knobs().paging.variantsDefault;
  if (limit !== null) {
    return { text: [onePage(deps, ranges, options, { number: query.page ?? 1, limit })] };
  }
  if (query.page !== undefined) throw invalid(['page: needs limit']);
  return { text: wholeList(deps, ranges, options) };
}

function stockOne(
  deps: VariantDeps,
  key: Key,
  barcode: string,
  query: z.output<typeof stockOneQuery>,
): Answer {
  const { catalog, stock } = deps.world;
  const variant = catalog.variantOf(barcode);
  if (variant === undefined) throw notFound(`Variant ${barcode}`);
  const quantity = stock.of(variant);
  if (quantity <= 0) throw notFound(`Variant ${barcode} in stock`);
  const row = createRowWriter(deps.world, rowOptions(deps, key, query))(variant, quantity);
  return { text: [`{"status":200,"message":"OK","data":{"variant":${row}}}`] };
}

function referenceData({ world }: VariantDeps): Route[] {
  const { catalog } = world;
  return [
    defineRoute({
      method: 'GET',
      path: '/brands',
      access: 'catalog',
      summary: 'All brands',
      handle() {
        const { brands: count } = catalog.size;
        const brands = Array.from({ length: count }, (_, brand) => ({
          brandName: catalog.brandName(brand),
        }));
        return { data: { count, brands } };
      },
    }),
    defineRoute({
      method: 'GET',
      path: '/freight',
      access: 'catalog',
      summary: 'Freight types an order may ask for',
      handle() {
        const freightOptions = FREIGHT_TYPES.map((freightType) => ({ freightType }));
        return { data: { count: freightOptions.length, freightOptions } };
      },
    }),
    defineRoute({
      method: 'GET',
      path: '/seasons',
      access: 'catalog',
      summary: 'Seasons with their deliveries',
      query: z.object({ brandName: z.string().optional() }),
      handle({ query }) {
        const seasons = catalog.seasons
          .filter((_, season) => hasSeason(world, query.brandName, season))
          .map(({ name, deliveries }) => ({
            seasonName: name,
            deliveryNames: deliveries.map((delivery) => delivery.name),
          }));
        return { data: { count: seasons.length, seasons } };
      },
    }),
  ];
}

function hasSeason({ catalog }: World, brandName: string | undefined, season: number): boolean {
  return brandName === undefined || selectVariants(catalog, { brandName, season }).length > 0;
}

export function variantRoutes(deps: VariantDeps): Route[] {
  const stock = (path: string, successor?: string): Route[] => {
    const more = successor === undefined ? {} : { successor };
    const oneMore = successor === undefined ? {} : { successor: `${successor}/{barcode}` };
    return [
      defineRoute({
        method: 'GET',
        path,
        access: 'catalog',
        summary: 'Variants in stock',
        query: stockListQuery,
        ...more,
        handle: ({ key, query }) => stockList(deps, key, query),
      }),
      defineRoute({
        method: 'GET',
        path: `${path}/:barcode`,
        access: 'catalog',
        summary: 'One variant in stock',
        params: barcodeParams,
        query: stockOneQuery,
        ...oneMore,
        handle: ({ key, params, query }) => stockOne(deps, key, params.barcode, query),
      }),
    ];
  };
  return [
    ...referenceData(deps),
    ...stock('/variants/stock'),
    ...stock('/variants', '/variants/stock'),
  ];
}
