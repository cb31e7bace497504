/** V1: brands, freight and seasons. */
import { z } from 'zod';
import { selectVariants } from '../world/catalog/listing.ts';
import { FREIGHT_TYPES } from '../world/catalog/words.ts';
import type { World } from '../world/world.ts';
import { defineRoute, type Route } from './route.ts';

function hasSeason({ catalog }: World, brandName: string | undefined, season: number): boolean {
  return brandName === undefined || selectVariants(catalog, { brandName, season }).length > 0;
}

export function catalogRoutes(world: World): Route[] {
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
