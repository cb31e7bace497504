/** Scanning with knowledge of the last time gives what scanning without it gives. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { toError } from '../../src/lib/errors.ts';
import { digestOf, type KnownChunk } from '../../src/lib/json-rows/known.ts';
import {
  createRowScanner,
  type RowChunk,
  type RowScanEnd,
  type RowScanOptions,
} from '../../src/lib/json-rows.ts';

const OPTIONS: RowScanOptions = {
  path: ['rows'],
  rowsPerChunk: 4,
  rowBytesMax: 10_000,
  restBytesMax: 10_000,
};

interface Scanned {
  readonly chunks: readonly RowChunk[];
  readonly end: RowScanEnd | undefined;
  readonly error: string | undefined;
}

function scan(bytes: Buffer, cuts: readonly number[], more: Partial<RowScanOptions> = {}): Scanned {
  const scanner = createRowScanner({ ...OPTIONS, ...more });
  const borders = [0, ...cuts.map((cut) => cut % (bytes.length + 1)), bytes.length];
  borders.sort((a, b) => a - b);
  const chunks: RowChunk[] = [];
  try {
    for (const [index, border] of borders.entries()) {
      const chunk = bytes.subarray(border, borders[index + 1] ?? bytes.length);
      // Copied, so that a scanner that looks behind the end of its chunk is found out.
      chunks.push(...scanner.push(Buffer.from(chunk)));
    }
    const end = scanner.end();
    return { chunks: [...chunks, ...end.chunks], end, error: undefined };
  } catch (error) {
    return { chunks, end: undefined, error: toError(error).message };
  }
}

function textsOf({ chunks }: Scanned): unknown[] {
  return chunks.map(({ firstRow, rowCount, bytes }) => [firstRow, rowCount, bytes.toString()]);
}

function knownFrom({ chunks }: Scanned): Map<number, KnownChunk> {
  return new Map(
    chunks.map(({ firstRow, rowCount, bytes }) => {
      const known = { firstRow, rowCount, size: bytes.length, digest: digestOf(bytes) };
      return [firstRow, known];
    }),
  );
}

function documentOf(rows: readonly unknown[], gap?: string | number): Buffer {
  return Buffer.from(JSON.stringify({ before: 1, rows, after: [2] }, null, gap));
}

const row = fc.oneof(
  fc.record({ barcode: fc.nat(99), name: fc.string({ maxLength: 4 }) }),
  fc.jsonValue({ maxDepth: 2 }),
  fc.constantFrom<unknown>(1, 12, 123, '}', ']', 'a,b', '\\"', null, [], {}),
);
const rows = fc.array(row, { maxLength: 14 });
const cuts = fc.array(fc.nat(), { maxLength: 8 });
const gap = fc.constantFrom(undefined, 1, '\r\n');
/** Bytes that mean something to a scanner, written over, put in, or in place of some. */
const damages = fc.array(
  fc.tuple(fc.nat(), fc.nat(3), fc.constantFrom('', ',', ']', '}', '{', '[', '"', '\\', ' ', '7')),
  { maxLength: 3 },
);
const lies = fc.array(fc.tuple(fc.nat(14), fc.integer({ min: 1, max: 300 })), { maxLength: 3 });

function damaged(bytes: Buffer, changes: readonly (readonly [number, number, string])[]): Buffer {
  let text = bytes.toString('latin1');
  for (const [place, taken, put] of changes) {
    const at = place % (text.length + 1);
    text = text.slice(0, at) + put + text.slice(at + taken);
  }
  return Buffer.from(text, 'latin1');
}

/** Both scans of what the list has become, the first one knowing nothing. */
function compare(
  bytes: Buffer,
  at: readonly number[],
  known: ReadonlyMap<number, KnownChunk>,
  more: Partial<RowScanOptions> = {},
): Scanned {
  const plain = scan(bytes, at, more);
  const knowing = scan(bytes, at, { ...more, known: (firstRow) => known.get(firstRow) });
  expect(knowing.error).toBe(plain.error);
  if (plain.error !== undefined) {
    // Rows that may be known are held back a little, and so may be the error behind them.
    const [some, others] = [textsOf(knowing), textsOf(plain)];
    const both = Math.min(some.length, others.length);
    expect(some.slice(0, both)).toEqual(others.slice(0, both));
    return knowing;
  }
  expect(textsOf(knowing)).toEqual(textsOf(plain));
  const { chunks: _, ...end } = knowing.end ?? { chunks: [] };
  expect({ chunks: [], ...end }).toEqual(plain.end);
  return knowing;
}

describe('a scan that knows the last one', () => {
  it('gives what one gives that does not, for any change of any byte', () => {
    const skipRows = fc.nat(15);
    const tight = fc.constantFrom(10_000, 60, 20);
    const property = fc.property(
      ...([rows, gap, damages, cuts, lies, skipRows, tight] as const),
      (list, space, changes, at, lying, skip, rowBytesMax) => {
        const before = documentOf(list, space);
        const known = knownFrom(scan(before, []));
        for (const [firstRow, size] of lying) {
          const one = known.get(firstRow);
          if (one) known.set(firstRow, { ...one, size });
        }
        compare(damaged(before, changes), at, known, { skipRows: skip, rowBytesMax });
      },
    );
    fc.assert(property, { numRuns: 500 });
  });

  it('gives the same when rows came, went, or moved', () => {
    const property = fc.property(
      ...([rows, rows, fc.nat(14), fc.nat(6), gap, cuts] as const),
      (list, others, place, taken, space, at) => {
        const known = knownFrom(scan(documentOf(list, space), []));
        compare(documentOf(list.toSpliced(place, taken, ...others), space), at, known);
      },
    );
    fc.assert(property, { numRuns: 300 });
  });

  it('looks into nothing of a list that is as it was, wherever its chunks break', () => {
    const list = Array.from({ length: 10 }, (_, index) => ({ barcode: `b${index}` }));
    const bytes = documentOf(list);
    const known = knownFrom(scan(bytes, []));
    for (let cut = 0; cut < bytes.length; cut += 1) {
      const { chunks } = compare(bytes, [cut, cut + 3], known);
      expect(chunks.map(({ isKnown }) => isKnown)).toEqual([true, true, true]);
    }
  });

  it('takes the chunks of one change for unknown, and only those', () => {
    const list = Array.from({ length: 40 }, (_, index) => ({ barcode: `b${index}` }));
    const known = knownFrom(scan(documentOf(list), []));
    const { chunks } = compare(documentOf(list.with(17, { barcode: 'x' })), [200, 400], known);
    const unknown = chunks.filter(({ isKnown }) => !isKnown);
    expect(unknown.map(({ firstRow }) => firstRow)).toEqual([16]);
  });

  it('knows the last, shorter one only while nothing stands behind it', () => {
    const list = [1, 2, 3, 4, 5, 6];
    const known = knownFrom(scan(documentOf(list), []));
    const isKnown = (scanned: Scanned) => scanned.chunks.map((chunk) => chunk.isKnown);
    expect(isKnown(compare(documentOf(list), [], known))).toEqual([true, true]);
    expect(isKnown(compare(documentOf([...list, 7]), [], known))).toEqual([true, false]);
    expect(isKnown(compare(documentOf([1, 2, 3, 4, 5, 67]), [], known))).toEqual([true, false]);
  });

  it('does not try every place of a list that has shifted', () => {
    const list = Array.from({ length: 4_000 }, (_, index) => ({ barcode: `b${index}` }));
    const known = knownFrom(scan(documentOf(list), []));
    let tries = 0;
    const scanner = createRowScanner({
      ...OPTIONS,
      known(firstRow) {
        tries += 1;
        return known.get(firstRow);
      },
    });
    scanner.push(documentOf([{ barcode: 'new' }, ...list]));
    expect(tries).toBeLessThan(80);
  });
});
