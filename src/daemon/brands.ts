/** What was learned of brands (client/v1/brands.ts), as the database keeps it. */
import { type Brands, createBrandNeeds } from '../client/v1/brands.ts';
import type { Config } from '../config/schema.ts';
import type { Clock } from '../lib/clock.ts';
import { parseJsonObject } from '../lib/json.ts';
import { readState, writeState } from '../store/state.ts';
import type { Store } from '../store/store.ts';

const KEY = 'v1_brand_needs';

interface BrandDeps {
  readonly store: Store;
  readonly clock: Clock;
}

/** What was learned at another address, or at another level, is not known here. */
async function knownOf(
  { baseUrl, level }: Config['service']['v1'],
  { store }: BrandDeps,
): Promise<readonly string[]> {
  const text = await readState(store.db, KEY);
  if (text === undefined) return [];
  const stored = parseJsonObject(text);
  if (stored.baseUrl !== baseUrl || stored.level !== level) return [];
  return Array.isArray(stored.reads) ? stored.reads.map(String) : [];
}

/** The brand of the mirrored row, then all the others. */
async function candidatesIn({ store: { db } }: BrandDeps, barcode: string) {
  const own = await db
    .selectFrom('stock_variant')
    .select('brand_name')
    .where('barcode', '=', barcode)
    .executeTakeFirst();
  const brands = await db
    .selectFrom('brand')
    .select('brand_name')
    .where('deleted_at', 'is', null)
    .orderBy('brand_name')
    .execute();
  const names = brands.map(({ brand_name }) => brand_name);
  return [...new Set([...(own?.brand_name ? [own.brand_name] : []), ...names])];
}

export async function createBrands(v1: Config['service']['v1'], deps: BrandDeps): Promise<Brands> {
  const { baseUrl, level } = v1;
  const memory = {
    known: await knownOf(v1, deps),
    async keep(reads: readonly string[]) {
      const text = JSON.stringify({ baseUrl, level, reads });
      await writeState(deps.store.db, KEY, text, deps.clock);
    },
  };
  return {
    ...createBrandNeeds(v1.perBrand, memory),
    candidates: (barcode) => candidatesIn(deps, barcode),
  };
}
