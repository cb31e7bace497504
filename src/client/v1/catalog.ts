/** Methods of V1 for the catalog: the short lists, and the two kinds of variant lists. */
import { z } from 'zod';
import { hasAtLevel } from '../../config/level.ts';
import { isJsonObject } from '../../lib/json.ts';
import type { KnownChunks } from '../../lib/json-rows/known.ts';
import type { CallOptions, Read } from '../calls.ts';
import type { HttpRequest } from '../http/request.ts';
import { keyText } from '../key-text.ts';
import { createPagingMemories } from '../paging.ts';
import { readText } from '../tolerant/values.ts';
import { oneByBrand } from './brands.ts';
import { get, type Listing, list, pull, type V1Options, type V1Wire } from './calls.ts';
import { ask, oddData } from './envelope.ts';
import type { Variant } from './schemas.ts';
import { SHORT_LISTS, type ShortListName, type ShortListRow } from './short-lists.ts';
import { variantReader } from './variant-form.ts';
import { pullVariants } from './variant-pages.ts';
import type { PullPlace, VariantPull } from './variants.ts';

/** Details that a request for variants asks for. */
export interface VariantLevel {
  readonly detailed?: boolean | undefined;
  readonly detailedPricing?: boolean | undefined;
}

export interface StockLevel extends VariantLevel {
  /**
   * Whether the list includes variants of running orders that are not in stock, with quantity 0.
   */
  readonly includeVariantsOnOrder?: boolean | undefined;
}

interface BrandedCall extends CallOptions {
  /** Name of the only brand to read; undefined: all brands, where the account allows that. */
  readonly brandName?: string | undefined;
}

interface PullOptions extends BrandedCall {
  /** Position to resume from: `next` of the last batch that was kept. */
  readonly from?: PullPlace | undefined;
  /** Stored digests of the list, which show unchanged chunks. */
  readonly known?: KnownChunks | undefined;
  /** Called for each received page, which may still wait for an earlier one. */
  readonly onPage?: (() => void) | undefined;
}

interface StockPullOptions extends PullOptions {
  readonly isOld?: boolean | undefined;
}

export interface CatalogMethods {
  /** Reads a short list as a whole. */
  shortList<N extends ShortListName>(
    name: N,
    call?: BrandedCall,
  ): Promise<Listing<ShortListRow<N>>>;
  /**
   * Pulls the stock list; below level 1.4.0 it is the one at `/variants`, with `isOld` at any
   * level.
   */
  stock(level: StockLevel, call?: StockPullOptions): VariantPull;
  /** Reads the stock of one variant, under its brand where the account requires that. */
  stockVariant(
    barcode: string,
    level: StockLevel,
    call?: CallOptions & Pick<StockPullOptions, 'isOld'>,
  ): Promise<Read<Variant>>;
  seasonVariant(
    seasonName: string,
    barcode: string,
    level: VariantLevel,
    call?: CallOptions,
  ): Promise<Read<Variant>>;
  seasonVariants(seasonName: string, level: VariantLevel, call?: PullOptions): VariantPull;
}

/** Name of a season in a received row, even if the rest of the row is unreadable. */
export function seasonNameOf(raw: unknown): string | undefined {
  const name = isJsonObject(raw) ? raw.seasonName : undefined;
  return keyText.safeParse(readText(name)).data;
}

/**
 * Query parameters that ask for more than the default, as far as the account's level knows them.
 * Defaults are not sent, because an older level may refuse unknown parameters.
 */
function asked({ level }: Pick<V1Options, 'level'>, wanted: StockLevel) {
  const has = (capability: Parameters<typeof hasAtLevel>[1]): boolean =>
    level === undefined || hasAtLevel(level, capability);
  const on = (isOn: boolean | undefined): true | undefined => (isOn ? true : undefined);
  return {
    detailed: on(wanted.detailed && has('stockList')),
    detailedPricing: on(wanted.detailedPricing && has('detailedPricing')),
    includeVariantsOnOrder: on(wanted.includeVariantsOnOrder && has('variantsOnOrder')),
  };
}

export function catalogMethods(wire: V1Wire): CatalogMethods {
  const { catalog, options } = wire;
  const isOldLevel = options.level !== undefined && !hasAtLevel(options.level, 'stockList');
  const memoryOf = createPagingMemories();
  const many = (
    path: string,
    query: Readonly<Record<string, string | boolean | undefined>>,
    call: PullOptions | undefined,
  ): VariantPull =>
    pullVariants({
      sender: catalog,
      request: pull(wire, path, call, { brandName: call?.brandName, ...query }),
      options: options.variants,
      from: call?.from,
      known: call?.known,
      onPage: call?.onPage,
      memory: memoryOf(path),
    });
  const readVariant = variantReader(options.dialect?.members ?? [], catalog.decimals);
  const askVariant = async (request: HttpRequest): Promise<Read<Variant>> => {
    const { value, startedAt } = await ask(catalog, request, z.unknown(), 'variant');
    const read = readVariant(value);
    if ('value' in read) return { value: read.value, startedAt };
    const { path, reason } = read.problem;
    throw oddData(request, { path: path === '' ? 'variant' : `variant.${path}`, reason });
  };
  return {
    shortList(name, call) {
      const { path, member, schema } = SHORT_LISTS[name];
      const request = pull(wire, path, call, { brandName: call?.brandName });
      return list(catalog, request, member, schema);
    },
    stock: (level, call) =>
      call?.isOld || isOldLevel
        ? many('/variants', {}, call)
        : many('/variants/stock', asked(options, level), call),
    stockVariant(barcode, level, call) {
      const isOld = call?.isOld || isOldLevel;
      const path = `${isOld ? '/variants' : '/variants/stock'}/${encodeURIComponent(barcode)}`;
      const shows = isOld ? {} : asked(options, level);
      return oneByBrand(options.brands, 'variant', barcode, async (brandName) => {
        const request = get(wire, path, call, { brandName, ...shows });
        return askVariant(request);
      });
    },
    seasonVariants(seasonName, { detailed, detailedPricing }, call) {
      const shows = asked(options, { detailed, detailedPricing });
      return many('/variants/season', { [options.seasonParameter]: seasonName, ...shows }, call);
    },
    seasonVariant(seasonName, barcode, { detailed, detailedPricing }, call) {
      const path = `/variants/season/${encodeURIComponent(barcode)}`;
      const season = { [options.seasonParameter]: seasonName };
      const shows = asked(options, { detailed, detailedPricing });
      return oneByBrand(options.brands, 'seasonVariant', barcode, async (brandName) => {
        const request = get(wire, path, call, { brandName, ...season, ...shows });
        return askVariant(request);
      });
    },
  };
}
