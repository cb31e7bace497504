import { describe, expect, it } from 'vitest';
import { STOCK_VARIANT } from '../../src/mirror/catalog/variant.ts';
import { insertAll } from '../../src/mirror/entity.ts';
import {
  createRowEncoder,
  type MirrorRow,
  type PreparedRows,
  prepareRow,
  type RowGroups,
  rowsOf,
} from '../../src/mirror/rows/prepared.ts';
import { temporaryStore } from '../support/store.ts';

const ODD = ['', 'a"b\\c', 'Søholm, Ærø', '日本 👗', 'line\nbreak', ',\n', '\ud800', '\u2028'];

function rowsLike(texts: readonly string[]): MirrorRow[] {
  return texts.map((text, index) =>
    STOCK_VARIANT.toRow({
      ...{ barcode: `b${index}`, quantity: index, seasonName: text, unknown: [text, { text }] },
      details: { price: 12.5, styleName: text, other: null },
    }),
  );
}

/** Every second row is told as a repetition of the one before it, if it is one. */
function encoded(rows: readonly MirrorRow[], bytes = 16): RowGroups {
  const encoder = createRowEncoder(STOCK_VARIANT, bytes);
  const shared = ({ values, extra }: MirrorRow) => {
    const { barcode, quantity, size, ...others } = values;
    return JSON.stringify([others, extra]);
  };
  const keys = rows.map((row, at) => {
    const before = rows[at - 1];
    const { barcode = null, quantity = null, size = null } = row.values;
    const repeats = at % 2 === 1 && before && shared(before) === shared(row);
    return repeats ? encoder.repeat([barcode, quantity, size]) : encoder.add(row);
  });
  return { keys, ...encoder.end() };
}

function parsed(bytes: Uint8Array): unknown {
  return JSON.parse(Buffer.from(bytes).toString());
}

describe('rows that travel as bytes', () => {
  it('are the same rows, with the same hashes, whatever text is in them', () => {
    const rows = rowsLike(ODD.flatMap((text) => [text, text, text]));
    const prepared = rows.map((row) => prepareRow(STOCK_VARIANT, row));
    const found = encoded(rows);
    expect(found.keys).toEqual(prepared.map(({ key }) => key));
    expect(rowsOf({ groups: found })).toEqual(prepared);
    const hashes = new Set(prepared.map(({ hash }) => hash));
    expect(hashes.size).toBe(rows.length);
    expect(parsed(found.json)).toHaveLength(ODD.length);
    expect(parsed(found.extras)).toEqual(
      ODD.map((text) => [{ unknown: [text, { text }], details: { other: null } }, 3]),
    );
  });

  it('are JSON arrays in memory of their own, also when there are none, or many', () => {
    const none = encoded([]);
    expect([parsed(none.json), parsed(none.extras)]).toEqual([[], []]);
    expect(rowsOf({ groups: none })).toEqual([]);
    for (const bytes of [0, 100, 1_000_000]) {
      const many = encoded(rowsLike(Array.from({ length: 40 }, (_, at) => `ø${at}`)), bytes);
      expect(parsed(many.json)).toHaveLength(40);
      expect(parsed(many.extras)).toHaveLength(40);
    }
    const { json, extras } = encoded(rowsLike(['a', 'b']), 1_000);
    for (const bytes of [json, extras]) expect(bytes.buffer.byteLength).toBe(bytes.length);
  });

  it('are written as the rows one by one would be', async () => {
    const rows = rowsLike(ODD.flatMap((text) => [text, text, text]));
    const prepared = { rows: rows.map((row) => prepareRow(STOCK_VARIANT, row)) };
    const written = async (all: PreparedRows) => {
      const store = await temporaryStore();
      const provenance = { source: 'run:1', readSeq: 1, at: 1_000 };
      const counts = await store.transaction((tx) => insertAll(tx, STOCK_VARIANT, all, provenance));
      const found = await store.db.selectFrom('stock_variant').selectAll().execute();
      const feed = await store.db.selectFrom('change').selectAll().execute();
      return { counts, found, feed };
    };
    const grouped = await written({ groups: encoded(rows) });
    expect(grouped.found).toHaveLength(rows.length);
    expect(grouped).toEqual(await written(prepared));
  });
});
