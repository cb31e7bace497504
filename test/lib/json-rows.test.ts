import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { sha256 } from '../../src/lib/json.ts';
import { sizeOfLongRow } from '../../src/lib/json-rows/long-row.ts';
import {
  createRowScanner,
  type RowScanEnd,
  type RowScanOptions,
  type RowSegment,
  rowsOf,
} from '../../src/lib/json-rows.ts';

const OPTIONS: RowScanOptions = {
  path: ['data', 'variants'],
  rowsPerSegment: 4,
  rowBytesMax: 10_000,
  restBytesMax: 100_000,
};

function scan(
  text: string | Buffer,
  cuts: readonly number[] = [],
  options: Partial<RowScanOptions> = {},
): { segments: RowSegment[]; rows: unknown[]; end: RowScanEnd } {
  const bytes = Buffer.from(text);
  const scanner = createRowScanner({ ...OPTIONS, ...options });
  const borders = [0, ...cuts.map((cut) => cut % (bytes.length + 1)), bytes.length];
  borders.sort((a, b) => a - b);
  const segments = borders.flatMap((border, index) =>
    // Copied, so that a scanner that looks behind the end of its chunk is found out.
    scanner.push(Buffer.from(bytes.subarray(border, borders[index + 1] ?? bytes.length))),
  );
  const rows = segments.flatMap((segment) => rowsOf(segment.bytes).rows);
  return { segments, rows, end: scanner.end() };
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
    const property = fc.property(document, cuts, space, fc.boolean(), (value, at, gap, mark) => {
      const text = `${mark ? '\ufeff' : ''}${JSON.stringify(value, null, gap)}`;
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
        ...{ rest: JSON.parse(JSON.stringify(value)), found: false, rows: 0, segments: [] },
      });
      expect(rows).toEqual([]);
    });
    fc.assert(property, { numRuns: 300 });
  });

  it('takes the document itself as the array when the path is empty', () => {
    const { rows, end } = scan('[1,"a]",[2],{"b":"}"},null]', [3], { path: [] });
    expect(rows).toEqual([1, 'a]', [2], { b: '}' }, null]);
    expect(end).toEqual({ rest: [], found: true, rows: 5, segments: [] });
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
      const { rows, end, segments } = scan(`{"data":{"variants":[${texts.join(' , ')}]}}`, at);
      const parsed = others.map((text) => JSON.parse(text));
      expect(rows).toMatchObject(parsed.toSpliced(place, 0, short));
      expect(segments.map(({ rowCount }) => rowCount)).toEqual([4, 2]);
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

  it('cuts segments at the same rows however the bytes arrive', () => {
    const rows = Array.from({ length: 10 }, (_, index) => ({ barcode: String(index) }));
    const text = JSON.stringify({ data: { variants: rows } }, null, 1);
    const whole = scan(text).segments;
    expect(whole.map(({ firstRow, rowCount }) => [firstRow, rowCount])).toEqual([
      [0, 4],
      [4, 4],
      [8, 2],
    ]);
    for (let cut = 0; cut < text.length; cut += 1) {
      const parts = scan(text, [cut, cut + 1]).segments;
      expect(parts.map((part) => part.bytes.toString())).toEqual(
        whole.map((part) => part.bytes.toString()),
      );
    }
  });

  it('skips rows that an earlier run has taken, and keeps the segment borders', () => {
    const text = JSON.stringify({ data: { variants: [0, 1, 2, 3, 4, 5, 6, 7, 8] } });
    for (let skipRows = 0; skipRows <= 10; skipRows += 1) {
      const { segments, rows, end } = scan(text, [20, 27, 30], { skipRows });
      expect(rows).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8].slice(skipRows));
      expect(end.rows).toBe(9);
      expect(segments.slice(1).every((segment) => segment.firstRow % 4 === 0)).toBe(true);
    }
  });

  it('parses the neighbours of a row that is no JSON', () => {
    const { segments } = scan('{"data":{"variants":[{"a":1},{"a":tru},{"a":"]"}]}}');
    const [segment] = segments;
    const parsed = rowsOf(segment?.bytes ?? Buffer.alloc(0));
    expect(parsed.rows).toEqual([{ a: 1 }, { a: ']' }]);
    expect(parsed.broken).toMatchObject([{ index: 1, text: '{"a":tru}' }]);
  });
});
