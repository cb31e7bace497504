/**
 * Whether an account requires a brand with each read of variants and seasons
 * (`service.dialect.v1.perBrand`). `auto` learns it from refusals, per kind of read, and remembers
 * it while address and level stay the same, so that a restart does not begin with a refusal.
 */
import { RefusedError } from '../../lib/errors.ts';
import { isNotFound } from '../http/answer.ts';

/** Reads that may each require a brand: the three lists, and a single variant of either kind. */
export type BrandedRead = 'stock' | 'season' | 'seasons' | OneVariant;
type OneVariant = 'variant' | 'seasonVariant';

export interface BrandNeeds {
  readonly mode: 'auto' | 'always' | 'never';
  /** Whether a read must name a brand, as far as is known. */
  isNeeded(read: BrandedRead): boolean;
  /** Notes that a read must name a brand; false: the configuration rules that out. */
  learn(read: BrandedRead): Promise<boolean>;
  /** Notes that a read needs no brand any more. */
  forget(read: BrandedRead): Promise<void>;
}

export interface Brands extends BrandNeeds {
  /** Brands that a barcode may belong to, the likeliest first. */
  candidates(barcode: string): Promise<readonly string[]>;
}

/** Kinds of read that were learned to need a brand, in the order of learning, and their storage. */
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

/** Whether the service calls the request invalid, for whatever reason. */
export function isInvalid(error: unknown): error is RefusedError {
  return error instanceof RefusedError && INVALID.has(error.code);
}

/** Whether the service refuses a request because it names no brand. */
export function wantsBrand(error: unknown): error is RefusedError {
  if (!isInvalid(error)) return false;
  return [error.message, ...error.lines].some((text) => /brand[ _-]?name/i.test(text));
}

/** Maximum of brands tried for one variant, because each costs a request. */
const TRIED_MAX = 50;

/** Reads one variant, under each candidate brand where a brand is required. */
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
