import { describe, expect, it } from 'vitest';
import { STOCK_VARIANT } from '../../src/mirror/catalog/variant.ts';
import {
  createRowEncoder,
  type MirrorRow,
  prepareRow,
  rowsFromBytes,
  rowsInOrder,
} from '../../src/mirror/prepared.ts';

const ODD = ['', 'a"b\\c', 'Søholm, Ærø', '日本 👗', 'line\nbreak', ',\n', '\ud800', '\u2028'];

function rowsLike(texts: readonly string[]): MirrorRow[] {
  return texts.map((text, index) =>
    STOCK_VARIANT.toRow({
      ...{ barcode: `b${index}`, quantity: index, seasonName: text, unknown: [text, { text }] },
      details: { price: 12.5, styleName: text, other: null },
    }),
  );
}

function encoded(rows: readonly MirrorRow[], bytes = 16) {
  const encoder = createRowEncoder(STOCK_VARIANT, bytes);
  const keys = rows.map((row) => encoder.add(row));
  return { keys, json: encoder.end() };
}

describe('rows that travel as bytes', () => {
  it('are the same rows, with the same hashes, whatever text is in them', () => {
    const rows = rowsLike(ODD);
    const prepared = rows.map((row) => prepareRow(STOCK_VARIANT, row));
    const { keys, json } = encoded(rows);
    expect(new TextDecoder().decode(json)).toBe(rowsInOrder(prepared).json);
    expect(json.buffer.byteLength).toBe(json.length);
    expect(rowsFromBytes(keys, json)).toMatchObject({ keys: prepared.map(({ key }) => key) });
    expect(rowsFromBytes(keys, json).each()).toEqual(prepared);
  });

  it('are one JSON array, also when there are none, or more than was thought', () => {
    expect(new TextDecoder().decode(encoded([]).json)).toBe('[]');
    expect(rowsFromBytes([], encoded([]).json).each()).toEqual([]);
    for (const bytes of [0, 100, 1_000_000]) {
      const { json } = encoded(rowsLike(Array(40).fill('ø'.repeat(200))), bytes);
      expect(JSON.parse(new TextDecoder().decode(json))).toHaveLength(40);
    }
  });
});
