/**
 * Looks up variants by barcodes that orders and the ERP may spell differently than the lists: with
 * spaces, in another Unicode form, or without leading zeros, as numbers and spreadsheets have them.
 */
import { sql } from 'kysely';
import { nameKey, spellingsOf } from '../../lib/strings.ts';
import type { Db, Tx } from '../../store/store.ts';
import { kept, type Value } from '../../store/transaction/kept.ts';
import { askedTogether } from '../../store/transaction/together.ts';

interface Row {
  readonly barcode: string;
}

type Query<R extends Row> = (barcodes: readonly string[]) => Promise<readonly R[]>;

/** Digits of the longest barcode (GTIN): shorter ones may have lost zeros. */
const DIGITS_MAX = 14;

/** Normalizes a barcode for comparison: as a name, and without leading zeros. */
function barcodeKey(barcode: string): string {
  if (/^[1-9]\d*$/.test(barcode)) return barcode;
  const key = nameKey(barcode);
  return /^0\d{1,13}$/.test(key) ? key.replace(/^0+(?=\d)/, '') : key;
}

/** Characters that JavaScript trims; SQL by itself trims the space alone. */
const SPACES = sql.lit(
  '\t\n\v\f\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006' +
    '\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000\ufeff',
);

/** SQL twin of {@link barcodeKey}, but for Unicode forms. */
export function barcodeKeyIn(column: string) {
  const name = sql`trim(${sql.ref(column)}, ${SPACES})`;
  return sql<string>`iif(length(${name}) between 2 and ${sql.lit(DIGITS_MAX)}
    and ${name} not glob '*[^0-9]*',
    coalesce(nullif(ltrim(${name}, '0'), ''), '0'), ${name})`;
}

/** Lists the barcode's key with as many zeros before it as may be lost, in both Unicode forms. */
function formsOfKey(barcode: string): readonly string[] {
  const key = barcodeKey(barcode);
  if (!/^\d{1,14}$/.test(key)) return [key, key.normalize('NFD')];
  return Array.from({ length: DIGITS_MAX - key.length + 1 }, (_, zeros) => '0'.repeat(zeros) + key);
}

/** Lists likely spellings of a barcode for a database lookup: those that have its key. */
export function barcodeSpellings(barcode: string): readonly string[] {
  return [...new Set([barcode, ...formsOfKey(barcode).flatMap(spellingsOf)])];
}

/** Whether the barcode is among the spellings that are looked for when the other one is asked. */
export function isLookedFor(barcode: string, other: string): boolean {
  return barcode === other || barcodeSpellings(other).includes(barcode);
}

/** Finds the spelling of a barcode among these: the exact one, else the only equivalent one. */
export function barcodeIn(barcode: string, barcodes: readonly string[]): string | undefined {
  if (barcodes.includes(barcode)) return barcode;
  const [only, other] = new Set(formsMeant(barcode, barcodes));
  return other === undefined ? only : undefined;
}

/**
 * Forms that a barcode may mean, of these: where they differ in zeros, they are several articles,
 * and only those that differ in nothing but spaces are meant.
 */
export function formsMeant(barcode: string, known: readonly string[]): readonly string[] {
  const key = barcodeKey(barcode);
  const forms = known.filter((one) => barcodeKey(one) === key);
  if (new Set(forms.map(nameKey)).size < 2) return forms;
  const name = nameKey(barcode);
  return forms.filter((one) => nameKey(one) === name);
}

/**
 * Gives the key by which the barcodes of these lists are compared with each other: without leading
 * zeros, unless one list has an article in each of two forms.
 */
export function keysAmong(...lists: readonly (readonly string[])[]): (barcode: string) => string {
  const apart = new Set<string>();
  for (const list of lists) {
    const groups = Map.groupBy(new Set(list.map(nameKey)), barcodeKey);
    for (const [key, forms] of groups) if (forms.length > 1) apart.add(key);
  }
  return (barcode) => {
    const key = barcodeKey(barcode);
    return apart.has(key) ? nameKey(barcode) : key;
  };
}

interface Form extends Row {
  /** 1 when the stock lists it now. */
  readonly stocked: number;
}

/** Makes a JSON text of the forms of these barcodes, for {@link spellingStarts}. */
export function formsText(barcodes: readonly string[]): string {
  const all = new Set(barcodes);
  return JSON.stringify([...all.union(new Set([...all].flatMap(formsOfKey)))]);
}

/**
 * SQL: a table `spelt` of beginnings of all likely spellings of these forms: what goes on with
 * other spaces is beside them in an index. Few tables have what begins with a space.
 */
export function spellingStarts(forms: Value<string>, ...tables: readonly string[]) {
  const own = (table: string) => sql`select 1 from ${sql.table(table)} where barcode < '!'`;
  return sql`form(name)
    as (select value from json_each(${forms})), spelt(start)
    as materialized (select name from form union all select name || char(160) from form
    union all select ' ' || name || behind from form, (select '' behind union select char(160))
      where exists (${sql.join(tables.map(own), sql` union all `)}))`;
}

/** Whether a barcode that was found so is a likely spelling, or one of those asked. */
function isLikely(barcode: string, asked: ReadonlySet<string>): boolean {
  const name = nameKey(barcode);
  return barcode === name || asked.has(barcode) || spellingsOf(name).includes(barcode);
}

/**
 * Gives those of the rows found so, for the barcodes of any number of others, that are likely
 * spellings of the barcodes asked, by key.
 */
export function likelyAmong<R extends Row>(
  rows: readonly R[],
): (asked: readonly string[]) => ReadonlyMap<string, readonly R[]> {
  const found = Map.groupBy(rows, ({ barcode }) => barcodeKey(barcode));
  return (barcodes) => {
    const asked = new Set(barcodes);
    const own = new Map<string, readonly R[]>();
    for (const key of barcodes.map(barcodeKey)) {
      const likely = own.get(key) ?? found.get(key)?.filter((row) => isLikely(row.barcode, asked));
      if (likely) own.set(key, likely);
    }
    return own;
  };
}

/** SQL: a barcode begins as `start` and goes on with nothing but a space or a tab. */
const STARTS = sql`v.barcode >= start and v.barcode < start || '!'`;

const formsAmong = kept(
  (_: Db, forms: Value<string>) => sql<Form>`
    with ${spellingStarts(forms, 'stock_variant_row', 'season_variant_row')}
    select barcode, max(stocked) stocked from (
      select v.barcode, v.deleted_at is null stocked
        from spelt cross join stock_variant_row v on ${STARTS}
      union all select v.barcode, 0 from spelt cross join season_variant_row v on ${STARTS})
    group by barcode order by length(barcode), barcode`,
);

/**
 * Reads which spellings of these barcodes the lists have or had, by key. Those that left count: a
 * barcode that was listed beside another one is no other spelling of it.
 */
const formsOf = askedTogether(async (db, asked: readonly (readonly string[])[]) =>
  likelyAmong(await formsAmong(db, formsText(asked.flat()))),
);

/**
 * Looks up rows by barcode: an exact match, else the only row with an equivalent spelling. The
 * result is keyed by the given barcodes.
 */
export async function byBarcode<R extends Row>(
  db: Db | Tx,
  barcodes: readonly string[],
  query: Query<R>,
): Promise<Map<string, R>> {
  const found = new Map((await query(barcodes)).map((row) => [row.barcode, row]));
  const missing = barcodes.filter((barcode) => !found.has(barcode));
  if (missing.length === 0) return found;
  const groups = await formsOf(db, missing);
  const meant = (barcode: string) => {
    const forms = (groups.get(barcodeKey(barcode)) ?? []).map((form) => form.barcode);
    return formsMeant(barcode, forms);
  };
  const rows = await query(missing.flatMap(meant));
  const others = new Map(rows.map((row) => [row.barcode, row]));
  for (const barcode of missing) {
    const [only, other] = meant(barcode).flatMap((form) => others.get(form) ?? []);
    if (only && other === undefined) found.set(barcode, only);
  }
  return found;
}

export interface SameBarcodes {
  readonly nameOf: (barcode: string) => string;
  /** Barcodes in stock, of those that are the same but for leading zeros. */
  readonly listed: (barcode: string) => readonly string[];
}

/**
 * Gives one name to all barcodes that {@link byBarcode} takes for one article, also to those that
 * other rows may have. Those that are listed side by side, or were, stay apart.
 */
export async function sameBarcodes(
  db: Db | Tx,
  barcodes: readonly string[],
): Promise<SameBarcodes> {
  const groups = await formsOf(db, [...new Set(barcodes)]);
  const named = (barcode: string): string => {
    const key = barcodeKey(barcode);
    const forms = groups.get(key) ?? [];
    const known = forms.map((form) => form.barcode);
    const meant = new Set(formsMeant(barcode, known));
    const [only, other] = forms.filter((form) => form.stocked === 1 && meant.has(form.barcode));
    if (other) return barcode;
    const isAlone = new Set(known.map(nameKey)).size < 2;
    return only?.barcode ?? (isAlone ? key : nameKey(barcode));
  };
  const names = new Map<string, string>();
  return {
    nameOf(barcode) {
      const name = names.get(barcode) ?? named(barcode);
      names.set(barcode, name);
      return name;
    },
    listed(barcode) {
      const forms = groups.get(barcodeKey(barcode)) ?? [];
      return forms.flatMap((form) => (form.stocked === 1 ? [form.barcode] : []));
    },
  };
}
