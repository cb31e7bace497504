import { expect, it } from 'vitest';
import { PDM } from '../../src/mirror/catalog/pdm.ts';
import { STOCK_VARIANT, seasonVariants } from '../../src/mirror/catalog/variant.ts';
import { createDrasticCounter, describeDrastic } from '../../src/mirror/rows/drastic.ts';

const { styles } = PDM;

/** Row of a style with these relationships to its brand and its colors. */
function rowOf(brand: object, styleColors: object) {
  const attributes = { styleNo: 'S-1', active: true };
  const relationships = { brand, styleColors };
  return styles.toRow(structuredClone({ id: '1', attributes, relationships })).values;
}

const BRAND = { data: { type: 'brand', id: '1' } };
const LINKS = { links: { related: '/there' } };
const colors = (...ids: readonly string[]) => ({ data: ids.map((id) => ({ id })) });

it.each([
  ['colors that came as links only', BRAND, LINKS, '1 lists were cut'],
  ['colors that are gone', BRAND, colors(), '1 lists were cut'],
  ['most of its colors gone', BRAND, colors('7'), '1 lists were cut'],
  ['a brand that came as links only', LINKS, colors('7', '8', '9'), '1 prices or details are gone'],
  ['one color less, which is everyday', BRAND, colors('7', '8'), ''],
])('a style with %s counts as changed drastically as it should', (_, brand, now, words) => {
  const { guarded } = styles;
  if (!guarded) throw new Error('styles are not guarded');
  const counter = createDrasticCounter(guarded);
  const after = rowOf(brand, now);
  counter.note(rowOf(BRAND, colors('7', '8', '9')), (column) => after[column] ?? null);
  expect(describeDrastic(counter.take())).toBe(words);
});

it.each([STOCK_VARIANT, seasonVariants('S')])(
  'a variant without its color is guarded: %#',
  (of) => {
    const rowWith = (colorCode?: string) =>
      of.toRow({ barcode: 'a', quantity: 1, colorCode, details: {} }).values;
    if (!of.guarded) throw new Error('variants are not guarded');
    const counter = createDrasticCounter(of.guarded);
    const after = rowWith();
    counter.note(rowWith('BLK'), (column) => after[column] ?? null);
    expect(describeDrastic(counter.take())).toBe('1 prices or details are gone');
  },
);
