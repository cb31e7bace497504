/** V1's catalog: brands, freight, seasons and the two kinds of variant lists. */
import { z } from 'zod';
import { isJsonObject } from '../../lib/json.ts';
import type { KnownSegments } from '../../lib/json-rows/known-ahead.ts';
import type { CallOptions, Read } from '../calls.ts';
import { keyText } from '../key-text.ts';
import { readText } from '../tolerant/values.ts';
import { get, type Listing, list, pull, type V1Wire } from './calls.ts';
import { ask } from './envelope.ts';
import {
  type Brand,
  brandSchema,
  type FreightOption,
  freightOptionSchema,
  type Season,
  seasonSchema,
  type Variant,
  variantSchema,
} from './schemas.ts';
import { pullVariants, type VariantPull } from './variants.ts';

/** How much of a variant is asked for. */
export interface VariantLevel {
  readonly detailed?: boolean | undefined;
  readonly detailedPricing?: boolean | undefined;
}

export interface StockLevel extends VariantLevel {
  /** Also variants of running orders that are not in stock: quantity 0. */
  readonly includeVariantsOnOrder?: boolean | undefined;
}

interface PullOptions extends CallOptions {
  /** `next` of the last batch that was kept. */
  readonly from?: number | undefined;
  /** What is known of the list. */
  readonly known?: KnownSegments | undefined;
  /** Told of each page of the service that has come; it may have to wait for another. */
  readonly onPage?: (() => void) | undefined;
}

export interface CatalogMethods {
  brands(call?: CallOptions): Promise<Listing<Brand>>;
  freight(call?: CallOptions): Promise<Listing<FreightOption>>;
  seasons(call?: CallOptions): Promise<Listing<Season>>;
  stock(level: StockLevel, call?: PullOptions): VariantPull;
  stockVariant(barcode: string, level: StockLevel, call?: CallOptions): Promise<Read<Variant>>;
  seasonVariant(
    seasonName: string,
    barcode: string,
    level: VariantLevel,
    call?: CallOptions,
  ): Promise<Read<Variant>>;
  seasonVariants(seasonName: string, level: VariantLevel, call?: PullOptions): VariantPull;
}

/** The name of a season, also of one that cannot be understood otherwise. */
export function seasonNameOf(raw: unknown): string | undefined {
  const name = isJsonObject(raw) ? raw.seasonName : undefined;
  return keyText.safeParse(readText(name)).data;
}

const oneVariantSchema = z.looseObject({ variant: variantSchema });

export function catalogMethods(wire: V1Wire): CatalogMethods {
  const { catalog, options } = wire;
  const many = (
    path: string,
    query: Readonly<Record<string, string | boolean | undefined>>,
    call: PullOptions | undefined,
  ): VariantPull =>
    pullVariants({
      sender: catalog,
      request: pull(wire, path, call, query),
      options: options.variants,
      from: call?.from,
      known: call?.known,
      onPage: call?.onPage,
    });
  return {
    brands: (call) => list(catalog, pull(wire, '/brands', call), 'brands', brandSchema),
    freight: (call) =>
      list(catalog, pull(wire, '/freight', call), 'freightOptions', freightOptionSchema),
    seasons: (call) => list(catalog, pull(wire, '/seasons', call), 'seasons', seasonSchema),
    stock: (level, call) => many('/variants/stock', { ...level }, call),
    async stockVariant(barcode, level, call) {
      const path = `/variants/stock/${encodeURIComponent(barcode)}`;
      const request = get(wire, path, call, { ...level });
      const { value, startedAt } = await ask(catalog, request, oneVariantSchema);
      return { value: value.variant, startedAt };
    },
    async seasonVariant(seasonName, barcode, level, call) {
      const path = `/variants/season/${encodeURIComponent(barcode)}`;
      const query = { [options.seasonParameter]: seasonName, ...level };
      const { value, startedAt } = await ask(
        catalog,
        get(wire, path, call, query),
        oneVariantSchema,
      );
      return { value: value.variant, startedAt };
    },
    seasonVariants: (seasonName, level, call) =>
      many('/variants/season', { [options.seasonParameter]: seasonName, ...level }, call),
  };
}
