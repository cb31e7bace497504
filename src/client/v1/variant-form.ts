/**
 * The form of a variant before it is read. Levels below 1.4.0 are flat: what stands in `details`
 * later stands beside the barcode there; and an account may name members otherwise
 * (service.v1.members). Rows get the form and the names of the contract here, so that nothing
 * behind it has to know of others.
 */
import { isJsonObject } from '../../lib/json.ts';
import { acceptorOf } from '../accept.ts';
import { type ReadRow, rowReader } from '../rows.ts';
import type { MemberName } from './dialect.ts';
import { type Variant, variantSchema } from './schemas.ts';

type Form = (raw: unknown) => unknown;

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

/** An object that has its members beside it is written in these ways. */
function isNone(details: unknown): boolean {
  if (isJsonObject(details)) return Object.keys(details).length === 0;
  const isList = Array.isArray(details) && details.length === 0;
  return details === undefined || details === null || details === '' || isList;
}

/** The variant with its `details` in their place; one that has them, or has none, as it is. */
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
  // All first: two may have each other's names.
  for (const { theirs } of seen) delete own[theirs];
  for (const { ours, theirs } of seen) own[ours] = record[theirs];
  return own;
}

/** The names of the contract; those of `details` also where these stand beside the barcode. */
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

/** Reads variants in whichever form they come. */
export function variantReader(names: readonly MemberName[]): ReadRow<Variant> {
  const read = rowReader(variantSchema, acceptsVariant);
  const rename = namedAs(names);
  return names.length === 0 ? (raw) => read(nested(raw)) : (raw) => read(nested(rename(raw)));
}
