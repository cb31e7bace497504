/** Routes of V1 for brands, freight and seasons. */
import { z } from 'zod';
import type { JsonObject } from '../../lib/json.ts';
import type { CurrentKnobs } from '../control/knobs.ts';
import { selectVariants } from '../world/catalog/listing.ts';
import { FREIGHT_TYPES } from '../world/catalog/words.ts';
import type { World } from '../world/world.ts';
import { defineRoute, type Route } from './route.ts';

function hasSeason({ catalog }: World, brandName: string | undefined, season: number): boolean {
  return brandName === undefined || selectVariants(catalog, { brandName, season }).length > 0;
}

type SeasonRow = JsonObject & {
  readonly seasonName: string;
  readonly deliveryNames: readonly string[];
};

/** A season as one row for each brand that has it, with its deliveries divided among the rows. */
function rowsPerBrand(
  world: World,
  brandName: string | undefined,
  season: number,
  row: SeasonRow,
): SeasonRow[] {
  const { catalog } = world;
  const names = Array.from({ length: catalog.size.brands }, (_, brand) => catalog.brandName(brand));
  const brands = names.filter((name) => hasSeason(world, name, season));
  const hands = Math.max(1, Math.min(brands.length, row.deliveryNames.length));
  return brands.flatMap((name, place) => {
    if (brandName !== undefined && brandName !== name) return [];
    const dealt = row.deliveryNames.filter((_, index) => index % hands === place % hands);
    return [{ ...row, deliveryNames: dealt }];
  });
}

interface CatalogDeps {
  readonly world: World;
  readonly knobs: CurrentKnobs;
}

export function catalogRoutes({ world, knobs }: CatalogDeps): Route[] {
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
        const names = knobs().dialect.freightEmptyName ? [...FREIGHT_TYPES, ''] : FREIGHT_TYPES;
        const freightOptions = names.map((freightType) => ({ freightType }));
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
        const perBrand = knobs().dialect.seasonRows === 'perBrand';
        const seasons = catalog.seasons.flatMap((season, index) => {
          if (!hasSeason(world, query.brandName, index)) return [];
          const deliveryNames = season.deliveries.map(({ name }) => name);
          const row = { seasonName: season.name, deliveryNames };
          return perBrand ? rowsPerBrand(world, query.brandName, index, row) : [row];
        });
        return { data: { count: seasons.length, seasons } };
      },
    }),
  ];
}
