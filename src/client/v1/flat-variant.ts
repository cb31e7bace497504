/**
 * Variants of levels below 1.4.0 are flat: what stands in `details` later stands beside the barcode
 * there. They get the form of later levels before anything else is read of them, so that nothing
 * behind it has to know of two.
 */
import { isJsonObject } from '../../lib/json.ts';

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

/** The row with its `details` in their place; one that has them, or has none, as it is. */
export function nested(row: unknown): unknown {
  if (!isJsonObject(row) || row.details !== undefined) return row;
  if (Object.keys(row).length < MEMBERS_MIN) return row;
  const rest: Record<string, unknown> = { ...row };
  const details: Record<string, unknown> = {};
  for (const name of DETAILS) {
    if (rest[name] === undefined) continue;
    details[name] = rest[name];
    delete rest[name];
  }
  if (Object.keys(details).length === 0) return row;
  return { ...rest, details: { ...details, wspPrice: row.wspPrice ?? null } };
}
