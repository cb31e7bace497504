/**
 * Whether an account wants a brand named with each read of variants and seasons
 * (`service.v1.perBrand`). `auto` learns it from the refusal, for each kind of read by itself, and
 * keeps what it has learned for as long as address and level stay, so that no restart begins with a
 * request that is refused.
 */
import { RefusedError } from '../../lib/errors.ts';
import { isNotFound } from '../http/answer.ts';

/** Reads of which each may want a brand or not: the three lists, and one variant of either kind. */
export type BrandedRead = 'stock' | 'season' | 'seasons' | OneVariant;
type OneVariant = 'variant' | 'seasonVariant';

export interface BrandNeeds {
  readonly mode: 'auto' | 'always' | 'never';
  /** Whether this read must name a brand, as far as is known. */
  isNeeded(read: BrandedRead): boolean;
  /** Remembers that it must; false: the configuration rules that out. */
  learn(read: BrandedRead): Promise<boolean>;
  /** The account wants no brand any more. */
  forget(read: BrandedRead): Promise<void>;
}

export interface Brands extends BrandNeeds {
  /** Brands that a barcode may be of, the likeliest first. */
  candidates(barcode: string): Promise<readonly string[]>;
}

/** What was learned, in the order in which it was, and where it is kept. */
export interface BrandMemory {
  readonly known: readonly string[];
  keep(known: readonly string[]): Promise<void>;
}

export function createBrandNeeds(mode: BrandNeeds['mode'], memory: BrandMemory): BrandNeeds {
  const known = new Set<string>(mode === 'auto' ? memory.known : []);
  return {
    mode,
    isNeeded: (read) => mode === 'always' || known.has(read),
    async learn(read) {
      if (mode === 'never') return false;
      if (mode === 'auto' && !known.has(read)) {
        known.add(read);
        await memory.keep([...known]);
      }
      return true;
    },
    async forget(read) {
      if (known.delete(read)) await memory.keep([...known]);
    },
  };
}

const INVALID: ReadonlySet<string> = new Set(['service.invalid', 'service.bad_request']);

/** A request that the service takes for a wrong one, for whatever reason. */
export function isInvalid(error: unknown): error is RefusedError {
  return error instanceof RefusedError && INVALID.has(error.code);
}

/** Whether the refusal names the brand as what is missing. */
export function wantsBrand(error: unknown): error is RefusedError {
  if (!isInvalid(error)) return false;
  return [error.message, ...error.lines].some((text) => /brand[ _-]?name/i.test(text));
}

/** Brands that are tried for one variant: each of them is a request. */
const TRIED_MAX = 50;

/** Reads one variant, under each brand that it may be of where a brand must be named. */
export async function oneByBrand<T>(
  brands: Brands | undefined,
  kind: OneVariant,
  barcode: string,
  read: (brandName: string | undefined) => Promise<T>,
): Promise<T> {
  if (!brands) return read(undefined);
  if (!brands.isNeeded(kind)) {
    try {
      return await read(undefined);
    } catch (error) {
      if (!wantsBrand(error) || !(await brands.learn(kind))) throw error;
    }
  }
  let unknown: unknown;
  const candidates = await brands.candidates(barcode);
  for (const brandName of candidates.slice(0, TRIED_MAX)) {
    try {
      return await read(brandName);
    } catch (error) {
      if (!isNotFound(error)) throw error;
      unknown = error;
    }
  }
  if (unknown !== undefined && candidates.length <= TRIED_MAX) throw unknown;
  throw new RefusedError('service.brand_unknown', `the brand of ${barcode} is not known`, {
    hint: 'the service wants it named; a pull of the stream brands, then of stock, brings it',
  });
}
