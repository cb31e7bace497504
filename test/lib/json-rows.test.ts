import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { sha256 } from '../../src/lib/json.ts';
import { sizeOfLongRow } from '../../src/lib/json-rows/long-row.ts';
import { rowsOf } from '../../src/lib/json-rows/rows-of.ts';
import {
  createRowScanner,
  type RowChunk,
  type RowScanEnd,
  type RowScanOptions,
} from '../../src/lib/json-rows.ts';

const OPTIONS: RowScanOptions = {
  path: ['data', 'variants'],
  rowsPerChunk: 4,
  rowBytesMax: 10_000,
  restBytesMax: 100_000,
};

function scan(
  text: string | Buffer,
  cuts: readonly number[] = [],
  options: Partial<RowScanOptions> = {},
): { chunks: RowChunk[]; rows: unknown[]; end: RowScanEnd } {
  const bytes = Buffer.from(text);
  const scanner = createRowScanner({ ...OPTIONS, ...options });
  const borders = [0, ...cuts.map((cut) => cut % (bytes.length + 1)), bytes.length];
  borders.sort((a, b) => a - b);
  const chunks = borders.flatMap((border, index) =>
    // Copied, so that a scanner that looks behind the end of its chunk is found out.
    scanner.push(Buffer.from(bytes.subarray(border, borders[index + 1] ?? bytes.length))),
  );
  const rows = chunks.flatMap((chunk) => rowsOf(chunk.bytes).rows);
  return { chunks, rows, end: scanner.end() };
}

const cuts = fc.array(fc.nat(), { maxLength: 12 });
const space = fc.constantFrom(undefined, 1, '\t', '\r\n ');

describe('json rows', () => {
  it('gives what JSON.parse gives, for any document and any chunks', () => {
    const document = fc.record({
      before: fc.jsonValue({ maxDepth: 4 }),
      data: fc.record({
        count: fc.nat(),
        other: fc.jsonValue(),
        variants: fc.array(fc.jsonValue({ maxDepth: 5 }), { maxLength: 12 }),
      }),
      after: fc.jsonValue(),
    });
    const property = fc.property(document, cuts, space, (value, at, gap) => {
      const text = JSON.stringify(value, null, gap);
      const parsed = JSON.parse(JSON.stringify(value));
      const { rows, end } = scan(text, at);
      expect(rows).toEqual(parsed.data.variants);
      expect(end.rows).toBe(rows.length);
      expect(end.found).toBe(true);
      expect(end.rest).toEqual({ ...parsed, data: { ...parsed.data, variants: [] } });
    });
    fc.assert(property, { numRuns: 500 });
  });

  it('takes a document without the array as all rest', () => {
    const property = fc.property(fc.jsonValue({ maxDepth: 4 }), cuts, (value, at) => {
      const { rows, end } = scan(JSON.stringify(value), at, { path: ['nowhere at all'] });
      expect(end).toEqual({
        ...{ rest: JSON.parse(JSON.stringify(value)), found: false, rows: 0, chunks: [] },
        ...{ at: undefined, isKeyed: false },
      });
      expect(rows).toEqual([]);
    });
    fc.assert(property, { numRuns: 300 });
  });

  it('takes the document itself as the array when the path is empty', () => {
    const { rows, end } = scan('[1,"a]",[2],{"b":"}"},null]', [3], { path: [] });
    expect(rows).toEqual([1, 'a]', [2], { b: '}' }, null]);
    expect(end).toMatchObject({ rest: [], found: true, rows: 5, chunks: [], at: [] });
  });

  it('never takes a document for whole that was cut off', () => {
    const text = '{"data":{"count":2,"variants":[{"a":"\\"}é"},{"b":[1,2]}, 3]},"status":200}';
    const bytes = Buffer.from(text);
    for (let length = 0; length < bytes.length; length += 1) {
      expect(() => scan(bytes.subarray(0, length)), `${length} bytes`).toThrow(/truncated/);
    }
  });

  it.each([
    ['{"data":{"variants":[{"a":1}{"b":2}]}}', 'malformed'],
    ['{"data":{"variants":[{"a":1},]}}', 'malformed'],
    ['{"data":{"variants":[,{"a":1}]}}', 'malformed'],
    ['{"data":{"variants":[{"a":[1}]}]}}', 'malformed'],
    ['{"data":{"variants":[1]},}', 'malformed'],
    ['{"data":{"variants":[1]}} trailing', 'malformed'],
    ['{"data":{"variants":[1],"variants":[2]}}', 'repeated array'],
    [`{"data":{"variants":[${'['.repeat(300)}${']'.repeat(299)}}]}}`, 'malformed'],
    [`{"data":{"x":"${'x'.repeat(200_000)}"}}`, 'rest too large'],
    ['\u00ef{"data":{"variants":[]}}', 'malformed'],
    ['<html>Bad gateway</html>', 'malformed'],
    ['', 'truncated'],
  ])('refuses %.60s: %s', (text, fault) => {
    expect(() => scan(text, [11, 40])).toThrow(fault);
  });

  it('gives a row that is too long in short, however the bytes arrive', () => {
    const long = `{"a":"k\\"é","b":"${'é'.repeat(6_000)}"}`;
    const others = ['"x"', `"${'y'.repeat(9_998)}"`, '[1]', 'null', '{"c":2}'];
    const size = Buffer.byteLength(long);
    const short = { a: 'k"é', rowTooLong: { size, sha256: sha256(long) } };
    const property = fc.property(cuts, fc.nat({ max: others.length }), (at, place) => {
      const texts = others.toSpliced(place, 0, long);
      const { rows, end, chunks } = scan(`{"data":{"variants":[${texts.join(' , ')}]}}`, at);
      const parsed = others.map((text) => JSON.parse(text));
      expect(rows).toMatchObject(parsed.toSpliced(place, 0, short));
      expect(chunks.map(({ rowCount }) => rowCount)).toEqual([4, 2]);
      expect(end.rows).toBe(6);
      const [row] = rows.slice(place);
      expect(sizeOfLongRow(row)).toBe(size);
      expect(JSON.stringify(row).length).toBeLessThan(1_500);
    });
    fc.assert(property, { numRuns: 200 });
  });

  it('holds back brackets that never end before they fill the memory', () => {
    const scanner = createRowScanner(OPTIONS);
    scanner.push(Buffer.from('{"data":{"variants":['));
    const endless = (): void => {
      for (let turn = 0; turn < 20; turn += 1) scanner.push(Buffer.alloc(1_000, '['));
    };
    expect(endless).toThrow('row too large');
  });

  it('cuts chunks at the same rows however the bytes arrive', () => {
    const rows = Array.from({ length: 10 }, (_, index) => ({ barcode: String(index) }));
    const text = JSON.stringify({ data: { variants: rows } }, null, 1);
    const whole = scan(text).chunks;
    expect(whole.map(({ firstRow, rowCount }) => [firstRow, rowCount])).toEqual([
      [0, 4],
      [4, 4],
      [8, 2],
    ]);
    for (let cut = 0; cut < text.length; cut += 1) {
      const parts = scan(text, [cut, cut + 1]).chunks;
      expect(parts.map((part) => part.bytes.toString())).toEqual(
        whole.map((part) => part.bytes.toString()),
      );
    }
  });

  it('skips rows that an earlier run has taken, and keeps the chunk borders', () => {
    const text = JSON.stringify({ data: { variants: [0, 1, 2, 3, 4, 5, 6, 7, 8] } });
    for (let skipRows = 0; skipRows <= 10; skipRows += 1) {
      const { chunks, rows, end } = scan(text, [20, 27, 30], { skipRows });
      expect(rows).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8].slice(skipRows));
      expect(end.rows).toBe(9);
      expect(chunks.slice(1).every((chunk) => chunk.firstRow % 4 === 0)).toBe(true);
    }
  });

  it('parses the neighbours of a row that is no JSON', () => {
    const { chunks } = scan('{"data":{"variants":[{"a":1},{"a":tru},{"a":"]"}]}}');
    const [chunk] = chunks;
    const parsed = rowsOf(chunk?.bytes ?? Buffer.alloc(0));
    expect(parsed.rows).toEqual([{ a: 1 }, { a: ']' }]);
    expect(parsed.broken).toMatchObject([{ index: 1, text: '{"a":tru}' }]);
  });

  const others = [['variants'], ['data'], []];
  const object = fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 3 }));

  it('finds the array in other places, if it may stand there', () => {
    const values = fc.array(fc.jsonValue({ maxDepth: 3 }), { maxLength: 9 });
    const place = fc.constantFrom('data.variants', 'variants', 'data', '');
    const property = fc.property(values, place, cuts, space, (variants, at, borders, gap) => {
      const beside = { status: 200, other: [{ 1: {} }], message: 'x' };
      const documents: Record<string, unknown> = {
        'data.variants': { ...beside, data: { count: 3, variants } },
        variants: { ...beside, count: 3, variants },
        data: { ...beside, data: variants },
        '': variants,
      };
      const text = JSON.stringify(documents[at], null, gap);
      const { rows, end } = scan(text, borders, { others });
      expect(rows).toEqual(JSON.parse(JSON.stringify(variants)));
      expect(end).toMatchObject({ found: true, at: at === '' ? [] : at.split('.') });
    });
    fc.assert(property, { numRuns: 300 });
  });

  it('reads an object by number as the array, however the bytes arrive', () => {
    const values = fc.array(object, { minLength: 1, maxLength: 9 });
    const place = fc.constantFrom('data.variants', 'variants', 'data', '');
    const numbers = { from: fc.nat({ max: 1_000 }), skipRows: fc.nat({ max: 5 }) };
    const property = fc.property(
      ...([values, place, cuts, space, fc.record(numbers)] as const),
      (variants, at, borders, gap, { from, skipRows }) => {
        const keyed = Object.fromEntries(variants.map((row, index) => [from + index * 2, row]));
        const beside = { status: 200, other: { 1: 2 } };
        const documents: Record<string, unknown> = {
          'data.variants': { ...beside, data: { count: 3, variants: keyed } },
          variants: { ...beside, variants: keyed },
          data: { ...beside, data: keyed },
          '': keyed,
        };
        const text = JSON.stringify(documents[at], null, gap);
        const { rows, end, chunks } = scan(text, borders, { others, skipRows });
        expect(rows).toEqual(JSON.parse(JSON.stringify(variants)).slice(skipRows));
        expect(end).toMatchObject({ found: true, isKeyed: true, rows: variants.length });
        const listed = scan(JSON.stringify(variants), [], { path: [], skipRows }).chunks;
        const shape = (all: RowChunk[]) => all.map((one) => [one.firstRow, one.rowCount]);
        expect(shape(chunks)).toEqual(shape(listed));
      },
    );
    fc.assert(property, { numRuns: 500 });
  });

  it('gives a long row of an object by number in short, and its neighbours whole', () => {
    const long = { a: 'k', b: 'x'.repeat(12_000) };
    const rows = [{ c: 1 }, long, { c: 2 }];
    const text = JSON.stringify({ data: { variants: { ...rows } } });
    for (const at of [[], [40, 9_000], [30, 31, 32, 12_050]]) {
      const { rows: given } = scan(text, at, { others });
      const size = JSON.stringify(long).length;
      expect(given).toMatchObject([{ c: 1 }, { a: 'k', rowTooLong: { size } }, { c: 2 }]);
    }
  });

  it.each([
    ['{"data":{"variants":{"0":{"a":1} "1":{"a":2}}}}', 'malformed'],
    ['{"data":{"variants":{"0":{"a":1},}}}', 'malformed'],
    ['{"data":{"variants":{"0":{"a":1},"1":2}}}', 'malformed'],
    ['{"data":{"variants":{"0":{"a":1},"1" {}}}}', 'malformed'],
    ['{"data":{"variants":{"0":{"a":1},"1":{}]}}', 'malformed'],
    ['{"data":{"variants":{"0":{"a":1},"1', 'truncated'],
    ['{"data":{"variants":{"0":{"a":1}', 'truncated'],
  ])('refuses the object by number %s: %s', (text, fault) => {
    expect(() => scan(text, [30, 40], { others })).toThrow(fault);
  });

  it('leaves other objects alone, and empty ones to its reader', () => {
    for (const variants of [{}, { a: { b: 1 } }, { 0: 1 }, null]) {
      const document = { status: 200, data: { variants } };
      const { end } = scan(JSON.stringify(document), [9, 30], { others });
      expect(end).toMatchObject({ found: false, rest: document, rows: 0 });
    }
    const { end } = scan('{"data":{"variants":{"0":{}}}}', []);
    expect(end.found).toBe(false);
  });
});
