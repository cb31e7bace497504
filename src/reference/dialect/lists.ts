/**
 * Changes the rows of variant lists: some rows are missing, some occur twice. Such a list is put
 * together as a whole before a page is cut out of it.
 */
import type { Dialect } from '../control/dialect-knobs.ts';
import type { Range } from '../world/catalog/catalog.ts';
import type { World } from '../world/world.ts';

export interface ListedRow {
  readonly variant: number;
  readonly quantity: number;
  /** Index of the season that the row belongs to; undefined where a variant is listed once. */
  readonly season?: number;
}

/** Tells whether the dialect changes lists, which must then be put together as a whole. */
export function reshapesLists({ hiddenShare, stockRows }: Dialect): boolean {
  return hiddenShare > 0 || stockRows !== 'once';
}

/** A variant of several seasons as one row per season, with its pieces split between the rows. */
function perSeason({ catalog }: World, row: ListedRow): ListedRow[] {
  const style = catalog.style(catalog.place(row.variant).style);
  if (!style.noos || catalog.size.seasons < 2) return [row];
  const other = (style.season + 1) % catalog.size.seasons;
  const first = Math.ceil(row.quantity / 2);
  return [
    { ...row, quantity: first, season: style.season },
    { ...row, quantity: row.quantity - first, season: other },
  ];
}

/** All rows of the list, in its order. */
export function listedRows(
  world: World,
  source: { quantity(variant: number): number | undefined },
  ranges: readonly Range[],
  { hiddenShare, stockRows }: Dialect,
): ListedRow[] {
  const rows: ListedRow[] = [];
  for (const [from, to] of ranges) {
    for (let variant = from; variant < to; variant += 1) {
      const quantity = source.quantity(variant);
      if (quantity === undefined) continue;
      const row = { variant, quantity };
      if (stockRows === 'once') rows.push(row);
      else rows.push(...perSeason(world, row));
    }
  }
  return rows.slice(Math.floor(rows.length * hiddenShare));
}
