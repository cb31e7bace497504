/** Lists of variants and the mirror's entity for their rows. */
import { STOCK_VARIANT, seasonVariants, type VariantEntity } from '../../mirror/catalog/variant.ts';

/**
 * A list of variants: the stock, or the pre-order variants of a season; whole, or of one brand
 * where the account lists by brand.
 */
export type VariantList =
  | { readonly kind: 'stock'; readonly brandName?: string }
  | { readonly kind: 'season'; readonly seasonName: string; readonly brandName?: string };

/**
 * Entity of a stream's variants, for a season without the season's name; undefined: the stream has
 * no variants.
 */
export function entityOfStream(stream: string): VariantEntity | undefined {
  if (stream === 'stock') return STOCK_VARIANT;
  return stream === 'season' ? seasonVariants('') : undefined;
}

export function entityOfList(list: VariantList): VariantEntity {
  return list.kind === 'stock' ? STOCK_VARIANT : seasonVariants(list.seasonName);
}

/** Name of the list among the parts of its stream; '' for the whole stock. */
export function partOfList(list: VariantList): string {
  const { brandName } = list;
  if (list.kind === 'stock') return brandName ?? '';
  return brandName === undefined ? list.seasonName : JSON.stringify([list.seasonName, brandName]);
}
