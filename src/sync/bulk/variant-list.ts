/** The lists of variants, and what their rows are to the mirror. */
import { STOCK_VARIANT, seasonVariants, type VariantEntity } from '../../mirror/catalog/variant.ts';

/**
 * Which list: the stock, or what can be ordered ahead of one season; as a whole, or of one brand
 * where the account wants that.
 */
export type VariantList =
  | { readonly kind: 'stock'; readonly brandName?: string }
  | { readonly kind: 'season'; readonly seasonName: string; readonly brandName?: string };

/** What the rows of a stream are, but for the season that they are of; undefined: no variants. */
export function entityOfStream(stream: string): VariantEntity | undefined {
  if (stream === 'stock') return STOCK_VARIANT;
  return stream === 'season' ? seasonVariants('') : undefined;
}

export function entityOfList(list: VariantList): VariantEntity {
  return list.kind === 'stock' ? STOCK_VARIANT : seasonVariants(list.seasonName);
}

/** The name of the list among the parts of its stream. */
export function partOfList(list: VariantList): string {
  const { brandName } = list;
  if (list.kind === 'stock') return brandName ?? '';
  return brandName === undefined ? list.seasonName : JSON.stringify([list.seasonName, brandName]);
}
