/**
 * Variants of levels below 1.4.0 are flat: what stands in `details` later stands beside the barcode
 * there. They get the form of later levels here, so that nothing behind it has to know of two.
 */
import type { Variant } from './schemas.ts';

/** What `details` has; `wspPrice` stands in both places, and stays at the top as well. */
const DETAILS = [
  'styleNo',
  'brandName',
  'styleName',
  'styleNameWebshop',
  'colorName',
  'size',
  'price',
  'currency',
  'designer',
  'styleDescription',
  'wash',
  'category',
  'quality',
  'type',
  'gender',
  'b2bHidden',
  'colorActive',
  'tags',
  'customsTariffNumber',
  'countryOfOrigin',
  'weight',
  'images',
] as const;

/** `barcode` and `quantity` alone: nothing to put anywhere. */
const MEMBERS_MIN = 3;

/** The variant with its `details` in their place; one that has them, or has none, as it is. */
export function nested(variant: Variant): Variant {
  if (variant.details !== undefined) return variant;
  if (Object.keys(variant).length < MEMBERS_MIN) return variant;
  const rest: Record<string, unknown> = { ...variant };
  const details: Record<string, unknown> = {};
  for (const name of DETAILS) {
    if (rest[name] === undefined) continue;
    details[name] = rest[name];
    delete rest[name];
  }
  if (Object.keys(details).length === 0) return variant;
  if (typeof variant.wspPrice === 'number') details.wspPrice = variant.wspPrice;
  const { barcode, quantity } = variant;
  return { ...rest, barcode, quantity, details };
}
