/** Routes of V1 for variants in stock and variants of a season. */
import { z } from 'zod';
import type { CurrentKnobs } from '../control/knobs.ts';
import { listedRows, reshapesLists } from '../dialect/lists.ts';
import type { Key } from '../keys.ts';
import { selectVariants, type VariantFilter } from '../world/catalog/listing.ts';
import type { World } from '../world/world.ts';
import { type Answer, invalid, notFound } from './answer.ts';
import { type BufferPool, createBufferPool, createByteSink } from './bytes.ts';
import {
  givenRows,
  onePage,
  onOrderSource,
  type RowSource,
  seasonSource,
  stockSource,
  wholeList,
} from './lists.ts';
import { defineRoute, flag, type Route, wholeNumber } from './route.ts';
import { createRowWriter, type RowOptions } from './variant-rows.ts';

const PAGE_ROWS_MAX = 250;
/** Bytes of a buffer, enough for a page of detailed rows with prices. */
const PAGE_BYTES = 262_144;
/** Maximum number of page buffers that are kept for reuse. */
const PAGES_KEPT = 16;
const ONE_BYTES = 2_048;

export interface VariantDeps {
  readonly world: World;
  readonly knobs: CurrentKnobs;
}

function within(min: number, max: number, words: string) {
  return wholeNumber.refine((value) => value >= min && value <= max, words);
}

const pageNumber = within(1, Number.POSITIVE_INFINITY, 'must be 1 or more');
const pageRows = within(1, PAGE_ROWS_MAX, `must be 1 to ${PAGE_ROWS_MAX}`);
const shows = { detailed: flag, detailedPricing: flag };
const listed = {
  brandName: z.string().optional(),
  styleNo: z.string().optional(),
  page: pageNumber.optional(),
  limit: pageRows.optional(),
};
const stockOneQuery = z.object({ ...shows, includeVariantsOnOrder: flag });
const stockListQuery = stockOneQuery.extend({ ...listed, search: z.string().optional() });
const seasonOneQuery = z.object({ ...shows, seasonName: z.string() });
const seasonListQuery = seasonOneQuery.extend(listed);
const barcodeParams = z.object({ barcode: z.string() });

interface ListDeps extends VariantDeps {
  readonly pages: BufferPool;
}

interface Shows {
  readonly detailed: boolean;
  readonly detailedPricing: boolean;
}

interface Listed extends Shows, VariantFilter {
  readonly page?: number | undefined;
  readonly limit?: number | undefined;
}

/**
 * Options of the rows that a key gets: prices in the currency of its account, with its discount if
 * it may see that.
 */
function rowOptions(world: World, key: Key, query: Shows, season?: string): RowOptions {
  const account = key.account === undefined ? undefined : world.accounts.at(key.account);
  const priced = query.detailedPricing && key.detailedPricing;
  return {
    detailed: query.detailed,
    currency: account?.currency ?? world.prices.currency(),
    discountPercentage: priced ? (account?.discountPercentage ?? 0) : undefined,
    season,
  };
}

/** Variants of open orders that the key may see. */
function variantsOnOrder({ book }: World, key: Key): Set<number> {
  const running = book.orders.all.filter(
    (order) => !order.completed && (key.account === undefined || key.account === order.account),
  );
  return new Set(running.flatMap(({ lines }) => lines.map(({ variant }) => variant)));
}

function stockRows({ world, knobs }: VariantDeps, key: Key, withOnOrder: boolean): RowSource {
  const withSoldOut = knobs().dialect.soldOut === 'listed';
  return withOnOrder && !withSoldOut
    ? onOrderSource(world.stock, variantsOnOrder(world, key))
    : stockSource(world.stock, withSoldOut);
}

/** Answers with a list whose rows the dialect changes: a page of it, or the whole. */
function answerReshaped(
  { world, knobs }: ListDeps,
  source: RowSource,
  query: Listed,
  options: RowOptions,
  limit: number | null,
): Answer {
  const { dialect } = knobs();
  const ranges = selectVariants(world.catalog, query);
  const ofStock =
    options.season === undefined ? dialect : { ...dialect, stockRows: 'once' as const };
  const rows = listedRows(world, source, ranges, ofStock);
  const from = limit === null ? 0 : ((query.page ?? 1) - 1) * limit;
  const page = limit === null ? rows : rows.slice(from, from + limit);
  const writerOf = (season: number | undefined) => {
    const label = season === undefined ? undefined : world.catalog.seasons[season]?.name;
    return createRowWriter(world, label === undefined ? options : { ...options, label });
  };
  return { pieces: givenRows(rows.length, page, writerOf) };
}

function answerList(deps: ListDeps, source: RowSource, query: Listed, options: RowOptions): Answer {
  const limit = query.limit ?? deps.knobs().paging.variantsDefault;
  if (limit === null && query.page !== undefined) throw invalid(['page: needs limit']);
  if (reshapesLists(deps.knobs().dialect)) {
    return answerReshaped(deps, source, query, options, limit);
  }
  const ranges = selectVariants(deps.world.catalog, query);
  const write = createRowWriter(deps.world, options);
  if (limit !== null) {
    const buffer = deps.pages.take();
    const bytes = onePage(source, ranges, write, { page: query.page ?? 1, limit, buffer });
    return { bytes, sent: () => deps.pages.give(buffer) };
  }
  return { pieces: wholeList(source, ranges, write) };
}

function answerOne(
  world: World,
  source: RowSource,
  variant: number | undefined,
  options: RowOptions,
): Answer {
  const quantity = variant === undefined ? undefined : source.quantity(variant);
  if (variant === undefined || quantity === undefined) throw notFound('The variant was');
  const sink = createByteSink(() => Buffer.allocUnsafe(ONE_BYTES));
  sink.ascii('{"status":200,"message":"OK","data":{"variant":');
  createRowWriter(world, options)(sink, variant, quantity);
  sink.ascii('}}');
  return { bytes: sink.take() };
}

/** The two stock routes, list and single variant, also for their deprecated path. */
function stockRoutes(deps: ListDeps, path: string, successor?: string): Route[] {
  const { world } = deps;
  return [
    defineRoute({
      method: 'GET',
      path,
      access: 'catalog',
      summary: 'Variants in stock',
      query: stockListQuery,
      ...(successor === undefined ? {} : { successor: () => successor }),
      handle({ key, query }) {
        const source = stockRows(deps, key, query.includeVariantsOnOrder);
        return answerList(deps, source, query, rowOptions(world, key, query));
      },
    }),
    defineRoute({
      method: 'GET',
      path: `${path}/:barcode`,
      access: 'catalog',
      summary: 'One variant in stock',
      params: barcodeParams,
      query: stockOneQuery,
      ...(successor === undefined
        ? {}
        : { successor: ({ barcode = '' }) => `${successor}/${encodeURIComponent(barcode)}` }),
      handle({ key, params, query }) {
        const source = stockRows(deps, key, query.includeVariantsOnOrder);
        const variant = world.catalog.variantOf(params.barcode);
        return answerOne(world, source, variant, rowOptions(world, key, query));
      },
    }),
  ];
}

function seasonIndex({ catalog }: World, seasonName: string): number {
  const index = catalog.seasons.findIndex(({ name }) => name === seasonName);
  if (index < 0) throw notFound(`Season ${seasonName}`);
  return index;
}

function seasonRoutes(deps: ListDeps): Route[] {
  const { world } = deps;
  const source = seasonSource(world.stock);
  return [
    defineRoute({
      method: 'GET',
      path: '/variants/season',
      access: 'catalog',
      summary: 'Variants of a season, with pre-order prices',
      query: seasonListQuery,
      handle({ key, query }) {
        const season = seasonIndex(world, query.seasonName);
        const options = rowOptions(world, key, query, query.seasonName);
        return answerList(deps, source, { ...query, season }, options);
      },
    }),
    defineRoute({
      method: 'GET',
      path: '/variants/season/:barcode',
      access: 'catalog',
      summary: 'One variant of a season, with pre-order prices',
      params: barcodeParams,
      query: seasonOneQuery,
      handle({ key, params, query }) {
        const season = seasonIndex(world, query.seasonName);
        const found = world.catalog.variantOf(params.barcode);
        const isOfSeason = found !== undefined && world.catalog.isOfSeason(found, season);
        const options = rowOptions(world, key, query, query.seasonName);
        return answerOne(world, source, isOfSeason ? found : undefined, options);
      },
    }),
  ];
}

export function variantRoutes(deps: VariantDeps): Route[] {
  const list = { ...deps, pages: createBufferPool(PAGE_BYTES, PAGES_KEPT) };
  const current = stockRoutes(list, '/variants/stock');
  const deprecated = stockRoutes(list, '/variants', '/variants/stock');
  return [...current, ...seasonRoutes(list), ...deprecated];
}
