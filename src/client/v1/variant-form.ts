/**
 * Normalizes variants before reading. Levels below 1.4.0 are flat: members of `details` stand
 * beside the barcode; and an account may use other member names (service.v1.members). Later stages
 * see only the contract's form.
 */
import { isJsonObject } from '../../lib/json.ts';
import { acceptorOf } from '../accept.ts';
import { type ReadRow, rowReader } from '../rows.ts';
import type { MemberName } from './dialect.ts';
import { type Variant, variantSchema } from './schemas.ts';

type Form = (raw: unknown) => unknown;

/** Members of `details`; `wspPrice` exists in both places, and stays at the top as well. */
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

/** `barcode` and `quantity` alone need no move. */
const MEMBERS_MIN = 3;

/** Forms of an absent `details`. */
function isNone(details: unknown): boolean {
  if (isJsonObject(details)) return Object.keys(details).length === 0;
  const isList = Array.isArray(details) && details.length === 0;
  return details === undefined || details === null || details === '' || isList;
}

/** Moves flat members into `details`; a variant that has them, or has none, stays unchanged. */
function nested(raw: unknown): unknown {
  if (!isJsonObject(raw)) return raw;
  if (!isNone(raw.details) || Object.keys(raw).length < MEMBERS_MIN) return raw;
  const rest: Record<string, unknown> = { ...raw };
  const details: Record<string, unknown> = {};
  for (const name of DETAILS) {
    if (rest[name] === undefined) continue;
    details[name] = rest[name];
    delete rest[name];
  }
  if (Object.keys(details).length === 0) return raw;
  if (raw.wspPrice !== undefined) details.wspPrice = raw.wspPrice;
  return { ...rest, details };
}

function renamed(record: Record<string, unknown>, names: readonly MemberName[]) {
  const seen = names.filter(({ theirs }) => Object.hasOwn(record, theirs));
  if (seen.length === 0) return record;
  const own: Record<string, unknown> = { ...record };
  // Deletes all first, because two members may have swapped names.
  for (const { theirs } of seen) delete own[theirs];
  for (const { ours, theirs } of seen) own[ours] = record[theirs];
  return own;
}

/** Applies the contract's names; those of `details` also to flat variants. */
function namedAs(names: readonly MemberName[]): Form {
  const [top, below] = (['variant', 'details'] as const).map((of) =>
    names.filter((name) => name.of === of),
  );
  return (raw) => {
    if (!isJsonObject(raw)) return raw;
    const own = renamed(raw, top ?? []);
    if (isNone(own.details)) return renamed(own, below ?? []);
    return isJsonObject(own.details) ? { ...own, details: renamed(own.details, below ?? []) } : own;
  };
}

const acceptsVariant = acceptorOf(variantSchema);

/** Reads variants in any form. */
export function variantReader(names: readonly MemberName[]): ReadRow<Variant> {
  const read = rowReader(variantSchema, acceptsVariant);
  const rename = namedAs(names);
  return names.length === 0 ? (raw) => read(nested(raw)) : (raw) => read(nested(rename(raw)));
}
