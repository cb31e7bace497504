/** The lists of variants, and what their rows are to the mirror. */
import { STOCK_VARIANT, seasonVariants, type VariantEntity } from '../../mirror/catalog/variant.ts';

/** Which list: the stock, or what can be ordered ahead of one season. */
export type VariantList =
  | { readonly kind: 'stock' }
  | { readonly kind: 'season'; readonly seasonName: string };

export function entityOfList(list: VariantList): VariantEntity {
  return list.kind === 'stock' ? STOCK_VARIANT : seasonVariants(list.seasonName);
}
