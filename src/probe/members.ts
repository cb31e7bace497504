/** Finds members of variants that an account names otherwise, by the words of their names. */
import { isJsonObject } from '../lib/json.ts';
import type { Row } from './answers.ts';
import type { Witness } from './findings.ts';

type Place = 'variant' | 'details';

export interface MemberName {
  readonly of: Place;
  readonly ours: string;
  readonly theirs: string;
}

/** Member names in the contract (docs/wire.md, "V1 shapes"), by their place in a variant. */
const NAMES: Readonly<Record<Place, readonly string[]>> = {
  variant: (
    'barcode quantity variantType seasonName colorCode b2cSalePrice priceOriginal ' +
    'wspPrice careLabelWash careLabelIron careLabelDry careLabelDryClean careLabelBleach ' +
    'details pricing'
  ).split(' '),
  details: (
    'styleNo brandName styleName styleNameWebshop colorName size price wspPrice currency ' +
    'designer styleDescription wash category quality type gender b2bHidden colorActive ' +
    'tags customsTariffNumber countryOfOrigin weight images'
  ).split(' '),
};

/** Turns a table "contract's name: other names" into a map from each other name. */
function meanings(names: Readonly<Record<string, string>>): ReadonlyMap<string, string> {
  return new Map(
    Object.entries(names).flatMap(([meaning, all]) =>
      all.split(' ').map((name) => [name, meaning]),
    ),
  );
}

const SAME = meanings({
  number: 'no nr num',
  color: 'colour',
  description: 'desc text',
  wsp: 'wholesale purchase',
  barcode: 'ean gtin',
  quantity: 'qty amount stock',
  customstariff: 'tariff customs hs',
  price: 'retail',
  images: 'image',
  tags: 'tag',
  country: 'country origin',
  gender: 'sex',
  name: 'label',
});

/** Other names whose words do not lead to the contract's name. */
const OTHERS = meanings({
  styleNo: 'style stylecode itemno itemnumber articleno articlenumber',
  brandName: 'brand',
  colorName: 'color colour colourname',
  size: 'sizename',
  price: 'recommendedretailprice rrp',
  wspPrice: 'wsp wholesaleprice',
  currency: 'currencycode',
  styleDescription: 'description',
  customsTariffNumber: 'hscode',
  countryOfOrigin: 'origin',
  weight: 'weightgrams',
  wash: 'washing',
  seasonName: 'season',
  barcode: 'ean gtin',
  quantity: 'qty',
});

/**
 * Words of a member name in a normal form: `style_number`, `styleNo` and `Style-Nr` have the same.
 */
function wordsOf(name: string): string {
  const words = name
    .replaceAll(/([a-z\d])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[\s_.-]+/)
    .filter((word) => word !== '' && word !== 'of')
    .map((word) => SAME.get(word) ?? word);
  return [...new Set(words)].sort().join(' ');
}

/** Finds the contract's member that a name stands for; undefined: unknown. */
function meaningOf(name: string, place: Place): string | undefined {
  const bare = name.toLowerCase().replaceAll(/[^a-z\d]/g, '');
  const names = NAMES[place];
  const other = OTHERS.get(bare);
  if (other !== undefined && names.includes(other)) return other;
  return names.find((one) => wordsOf(one) === wordsOf(name));
}

/** Finds the contract's name for an account's name, in `details` or beside them. */
export function ourNameFor(theirs: string): string | undefined {
  return meaningOf(theirs, 'details') ?? meaningOf(theirs, 'variant');
}

function unknownIn(rows: readonly Row[], place: Place): readonly MemberName[] {
  const present = new Set(rows.flatMap((row) => Object.keys(row)));
  const taken = new Set<string>();
  return [...present].flatMap((theirs) => {
    if (NAMES[place].includes(theirs)) return [];
    const ours = meaningOf(theirs, place);
    if (ours === undefined || present.has(ours) || taken.has(ours)) return [];
    taken.add(ours);
    return [{ of: place, ours, theirs }];
  });
}

/** Names of members that are seen and unknown to the contract; they are kept as they are. */
function restOf(rows: readonly Row[], place: Place, known: readonly MemberName[]): string[] {
  const present = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  const mapped = new Set(known.map(({ theirs }) => theirs));
  return present.filter((name) => !NAMES[place].includes(name) && !mapped.has(name));
}

export function proposeMembers(
  witness: Witness,
  rows: readonly Row[],
  own: readonly MemberName[],
): void {
  if (rows.length === 0) return;
  const details = rows.map((row) => row.details).filter(isJsonObject);
  const isFlat = details.length === 0 && rows.some((row) => Object.keys(row).length > 4);
  const setting = 'service.dialect.v1.members';
  const isOwn = ({ of, theirs }: MemberName): boolean =>
    own.some((one) => one.of === of && one.theirs === theirs);
  const inside = isFlat ? [] : unknownIn(details, 'details');
  const beside = isFlat
    ? unknownIn(rows, 'variant').filter(({ theirs }) => !NAMES.details.includes(theirs))
    : unknownIn(rows, 'variant');
  const found = [...inside, ...beside];
  const value = [...own, ...found.filter((one) => !isOwn(one))];
  const from = `${isFlat ? 'members' : 'details'} of ${rows.length} variants (detailed=true)`;
  if (found.length > 0) {
    const names = found.map(({ ours, theirs }) => `${theirs} for ${ours}`).join(', ');
    const doubt = 'the names were matched by their words: look whether they mean the same';
    witness.found({ setting, value, seen: `${from}: ${names}`, doubt });
  } else witness.found({ setting, value: own, seen: `${from} have the known names` });
  const rest = isFlat ? [] : restOf(details, 'details', found);
  if (rest.length === 0) return;
  const seen = `kept as they are, without a column: ${rest.slice(0, 12).join(', ')}`;
  witness.found({ setting: undefined, value: 'further members of details', seen });
}
