import { array, assert, constantFrom, oneof, property, record } from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Reject } from '../../src/client/rows.ts';
import { createVariantReader, variantsOf } from '../../src/client/v1/variant-rows.ts';
import { parseOddJson } from '../../src/lib/reading/odd-json.ts';

const RUNS = 1_000;

/** Reads chunks, and puts in full what repeats its neighbour. */
function readFull(chunks: readonly string[]) {
  const read = createVariantReader();
  const rows: unknown[] = [];
  let repeats = 0;
  let last = '';
  const rejects = chunks.flatMap((chunk) => {
    const found = read(Buffer.from(chunk));
    for (const row of found.rows) {
      if ('variant' in row) {
        last = JSON.stringify(row.variant);
        rows.push(JSON.parse(last));
        continue;
      }
      repeats += 1;
      const { size, ...own } = row.repeat;
      const full = { ...JSON.parse(last), ...own };
      if (size !== null) full.details.size = size;
      rows.push(full);
    }
    return found.rejects;
  });
  return { rows, rejects, repeats };
}

function readOneByOne(chunks: readonly string[]) {
  const found = chunks.map((chunk) => variantsOf(Buffer.from(chunk), false, parseOddJson));
  return {
    rows: found.flatMap(({ rows }) => rows),
    rejects: found.flatMap(({ rejects }) => rejects),
  };
}

function expectSame(chunks: readonly string[]): number {
  const { repeats, ...found } = readFull(chunks);
  const expected = readOneByOne(chunks);
  // Texts are compared, because the order of the members counts as well.
  expect(JSON.stringify(found.rows)).toBe(JSON.stringify(expected.rows));
  // Values that are no JSON are told in the order of the chunk or at its end.
  const sorted = (rejects: readonly Reject[]) => rejects.map(({ path }) => path).sort();
  expect(sorted(found.rejects)).toEqual(sorted(expected.rejects));
  return repeats;
}

interface RowText {
  readonly base: string;
  readonly barcode: string;
  readonly quantity: string;
  readonly size: string;
}

/** Mostly the first ones. */
const token = (right: readonly string[], odd: readonly string[]) =>
  oneof(
    { arbitrary: constantFrom(...right), weight: 20 },
    { arbitrary: constantFrom(...odd), weight: 1 },
  );
const BASES = [
  '{"barcode":B,"quantity":Q,"variantType":"size","details":{"styleNo":"Æ","size":S}}',
  '{"barcode":B,"quantity":Q,"variantType":"size","details":{"styleNo":"Æ","size":S,"new":[{}]}}',
  '{"details":{"size":S,"price":1.50,"tags":["a\\/b"]},"quantity":Q,"barcode":B}',
  '{"barcode":B,"quantity":Q}',
];
const ODD_BASES = [
  // A name twice: the last one counts. A name in disguise, another size, white space, no details.
  '{"barcode":B,"quantity":Q,"barcode":"twice","details":{"size":S}}',
  '{"b\\u0061rcode":B,"quantity":Q,"other":{"barcode":"1"},"details":{"size":S}}',
  '{"barcode":"0","quantity":Q,"b\\u0061rcode":B,"details":{"size":S}}',
  '{"barcode":B,"quantity":Q,"size":"M","details":{"size":S}}',
  '{"barcode":"5","quantity":1,"pack":{"barcode":B,"quantity":Q},"details":{"size":S}}',
  '{"barcode":B,"quantity":Q,"details":{"size":S},"details":{"styleNo":"2"}}',
  '{"barcode":B,"quantity":Q,"sizes":["size" ,"size"],"details":{"size":S}}',
  '{ "barcode" : B, "quantity" : Q, "details" : { "size" : S } }',
  '{"barcode" :B,"quantity":Q,"pack":{"barcode":"1"},"details":{"size":S}}',
  '{"barcode":B,"quantity":Q,"details":null,"pack":{"size":S}}',
  '{"barcode":B,"quantity":Q,"details":{"size":S,"price":"odd"}}',
  '{"barcode":B,"quantity":Q,"details":{"size":S,"broken":tru}}',
  '{"x":"\\"barcode","barcode":B,"quantity":Q,"details":{"size":S}}',
  'null',
  '"size"',
];
const anyBase = constantFrom(...BASES, ...ODD_BASES);
/** Rows mostly come in the same shape; which one, each run says. */
const rowText = record({
  base: token([''], [...BASES, ...ODD_BASES]),
  barcode: token(
    ['"570"', '"571"'],
    ['""', '"5\\"7"', '"ø"', '"\\u0035"', '570', 'null', '"a\tb"'],
  ),
  quantity: token(
    ['1', '-12', '0'],
    ['-0', '1.5', '1.0', '1e2', '01', '9007199254740993', '"1"', '-'],
  ),
  size: token(['"M"', '"38/40"'], ['""', 'null', '"½"', '38', '"a\\\\"', '"size":', '{}']),
});

function textOf({ base, barcode, quantity, size }: RowText, usual = ''): string {
  return (base || usual).replaceAll('B', barcode).replaceAll('Q', quantity).replaceAll('S', size);
}

describe('a reader of variants', () => {
  it('finds the same rows and rejects as if each row were parsed by itself', () => {
    let repeats = 0;
    let rows = 0;
    const separator = token([','], [' ,', ',\n\t ']);
    const chunk = array(record({ rowText, separator }), { minLength: 1, maxLength: 8 });
    assert(
      property(anyBase, array(chunk, { minLength: 1, maxLength: 3 }), (usual, chunks) => {
        const texts = chunks.map((all) =>
          all.reduce((text, one, at) => {
            const row = textOf(one.rowText, usual);
            return at === 0 ? row : text + one.separator + row;
          }, ''),
        );
        repeats += expectSame(texts);
        rows += chunks.flat().length;
      }),
      { numRuns: RUNS },
    );
    // Both ways were gone.
    expect(repeats / rows).toBeGreaterThan(0.05);
    expect(repeats / rows).toBeLessThan(0.5);
  });

  it('takes a row for a repetition only where every other byte is the same', () => {
    const row = BASES[0] ?? '';
    const text = textOf({ base: row, barcode: '"570"', quantity: '1', size: '"M"' });
    const other = textOf({ base: row, barcode: '"571"', quantity: '-2', size: '"XL"' });
    expect(readFull([`${text},${other}`]).repeats).toBe(1);
    expect(readFull([text, other]).repeats).toBe(1);
    expect(readFull([`${text},${other.replace('Æ', 'Å')}`]).repeats).toBe(0);
    expect(readFull([`${text},${other.replace('}}', ',"new":1}}')}`]).repeats).toBe(0);
    expect(readFull([`${text},null,${other}`])).toMatchObject({ repeats: 0, rejects: [{}] });
    expect(readFull([`null,${text}`, `null,${other}`])).toMatchObject({ rejects: [{}, {}] });
  });
});
