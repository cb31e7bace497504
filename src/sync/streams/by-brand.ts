/**
 * Accounts list variants and seasons either whole or by brand (`service.dialect.v1.perBrand`).
 * Each such stream offers both routes here; the right one is known, or is learned from a refusal
 * before the first row.
 */
import type { CallOptions } from '../../client/calls.ts';
import { type BrandedRead, isInvalid, wantsBrand } from '../../client/v1/brands.ts';
import type { V1Client } from '../../client/v1/client.ts';
import { hinted, RefusedError } from '../../lib/errors.ts';
import type { Traits } from '../account-traits.ts';

export interface BrandList {
  readonly names: readonly string[];
  /** Arguments against knowing every brand, as messages. */
  readonly doubts: readonly string[];
}

/** Code of the error for brands that cannot be listed, so that no list can be read by brand. */
const NO_BRANDS = 'sync.no_brands';

function noBrands(error: unknown): never {
  if (!(error instanceof RefusedError)) throw error;
  const text = `the brands cannot be listed: ${error.message}`;
  throw new RefusedError(NO_BRANDS, text, { cause: error, lines: error.lines });
}

/** Reads the brand names as the service spells them, in the same order in every run. */
export async function readBrands(
  v1: Pick<V1Client, 'shortList'>,
  call: CallOptions | undefined,
): Promise<BrandList> {
  const { rows, rejects, count } = await v1.shortList('brands', call).catch(noBrands);
  const names = [...new Set(rows.map(({ brandName }) => brandName))].sort();
  const came = rows.length + rejects.length;
  const doubts: string[] = [];
  if (rejects.length > 0) doubts.push(`${rejects.length} brands have no name that can be read`);
  if (count !== undefined && count !== came) {
    doubts.push(`the service counts ${count} brands, ${came} came`);
  }
  if (came === 0) doubts.push('the service names no brand, and each list needs one');
  return { names, doubts };
}

export interface Routes<T> {
  readonly whole: () => Promise<T>;
  readonly byBrand: () => Promise<T>;
  /**
   * Reads the number of rows of the first brand, which tells whether naming a brand makes a
   * difference.
   */
  readonly tryOne: () => Promise<number>;
  readonly isEmpty: (result: T) => boolean;
}

const KIND = 'brands_refused';

const NEVER = 'the service wants a brand with each list: set service.dialect.v1.perBrand: auto';
const NEITHER =
  'neither as a whole nor brand by brand is this list answered: ask the service which of the two ' +
  'this key may use, and set service.dialect.v1.perBrand: always or never';

async function oneHasRows({
  tryOne,
}: Pick<Routes<unknown>, 'tryOne'>): Promise<boolean | undefined> {
  try {
    return (await tryOne()) > 0;
  } catch (error) {
    // A refusal proves nothing here; the pull itself would report any other error.
    if (error instanceof RefusedError) return undefined;
    throw error;
  }
}

/**
 * Opens an incident that the service answers the list neither as a whole nor by brand, and throws.
 */
async function tellNeither(
  traits: Traits,
  read: BrandedRead,
  said: { readonly byBrand: RefusedError; readonly asAWhole?: RefusedError | undefined },
): Promise<never> {
  const detail = {
    asAWhole: said.asAWhole?.fullMessage ?? 'not asked for',
    byBrand: said.byBrand.fullMessage,
    hint: NEITHER,
    setting: 'service.dialect.v1.perBrand',
  };
  await traits.tell({ kind: KIND, entity: 'list', key: read, detail });
  throw hinted(said.byBrand, NEITHER);
}

/** Reads the list by brand; returns the refusal, if the service refuses that. */
async function askByBrand<T>({ byBrand }: Routes<T>): Promise<{ result: T } | RefusedError> {
  try {
    return { result: await byBrand() };
  } catch (error) {
    const isOurs = error instanceof RefusedError && error.code === NO_BRANDS;
    if (isOurs || isInvalid(error)) return error;
    throw error;
  }
}

/** Reads the list as a whole; returns the refusal, if the service calls the request invalid. */
async function askWhole<T>({ whole }: Routes<T>): Promise<{ result: T } | RefusedError> {
  try {
    return { result: await whole() };
  } catch (error) {
    if (isInvalid(error)) return error;
    throw error;
  }
}

async function firstWhole<T>(traits: Traits, read: BrandedRead, routes: Routes<T>): Promise<T> {
  const { needs } = traits;
  const whole = await askWhole(routes);
  if (!(whole instanceof RefusedError)) {
    if (needs.mode === 'never' || !routes.isEmpty(whole.result)) return whole.result;
    // Some accounts answer with an empty list when no brand is named.
    if (!(await oneHasRows(routes))) return whole.result;
  } else if (needs.mode === 'never') {
    throw wantsBrand(whole) ? hinted(whole, NEVER) : whole;
  } else if (!wantsBrand(whole) && (await oneHasRows(routes)) === undefined) {
    // The refusal is not about brands, and naming one does not help.
    throw whole;
  }
  await needs.learn(read);
  const found = await askByBrand(routes);
  if (!(found instanceof RefusedError)) return found.result;
  const asAWhole = whole instanceof RefusedError ? whole : undefined;
  return tellNeither(traits, read, { byBrand: found, asAWhole });
}

async function firstByBrand<T>(traits: Traits, read: BrandedRead, routes: Routes<T>): Promise<T> {
  const { needs } = traits;
  const found = await askByBrand(routes);
  if (!(found instanceof RefusedError)) return found.result;
  if (needs.mode === 'always') return tellNeither(traits, read, { byBrand: found });
  const whole = await askWhole(routes);
  if (whole instanceof RefusedError) {
    return tellNeither(traits, read, { byBrand: found, asAWhole: whole });
  }
  await needs.forget(read);
  return whole.result;
}

/** Reads the list by the route that the account wants: as a whole or by brand. */
export async function wholeOrByBrand<T>(
  traits: Traits | undefined,
  read: BrandedRead,
  routes: Routes<T>,
): Promise<T> {
  if (!traits) return routes.whole();
  const first = traits.needs.isNeeded(read) ? firstByBrand : firstWhole;
  const result = await first(traits, read, routes);
  await traits.over({ kind: KIND, entity: 'list', key: read });
  return result;
}
