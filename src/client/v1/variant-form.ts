/**
 * Normalizes variants before reading. Levels below 1.4.0 are flat: members of `details` stand
 * beside the barcode; and an account may use other member names (service.dialect.v1.members). Later
 * stages see only the contract's form.
 */
import { isJsonObject } from '../../lib/json.ts';
import { acceptorOf } from '../accept.ts';
import { type ReadRow, rowReader } from '../rows.ts';
import type { Decimals } from '../tolerant/decimals.ts';
import { type MemberName, type Variant, variantSchema } from './schemas.ts';

type Form = (raw: unknown) => unknown;

/**
 * Members of a variant's `details`; `wspPrice` exists in both places, and stays at the top as well.
 */
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

/**
 * Number of members from which a variant may be flat: `barcode` and `quantity` alone need no move.
 */
const MEMBERS_MIN = 3;

/** Whether `details` is absent, in one of the forms in which services write that. */
function isNone(details: unknown): boolean {
  if (isJsonObject(details)) return Object.keys(details).length === 0;
  const isList = Array.isArray(details) && details.length === 0;
  return details === undefined || details === null || details === '' || isList;
}

/**
 * Moves the flat members of a variant into `details`; a variant with `details`, or with nothing to
 * move, stays unchanged.
 */
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
  // All other names are deleted before any is set, because two members may have swapped names.
  for (const { theirs } of seen) delete own[theirs];
  for (const { ours, theirs } of seen) own[ours] = record[theirs];
  return own;
}

/**
 * Builds the renaming of an account's members; those of `details` are renamed in flat variants too.
 */
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

/** Builds a reader for variants in any of an account's forms. */
export function variantReader(names: readonly MemberName[], decimals?: Decimals): ReadRow<Variant> {
  const read = rowReader(variantSchema, decimals, acceptsVariant);
  const rename = namedAs(names);
  return names.length === 0 ? (raw) => read(nested(raw)) : (raw) => read(nested(rename(raw)));
}
