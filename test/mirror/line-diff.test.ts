import { describe, expect, it } from 'vitest';
import { seededRandom } from '../../src/lib/random.ts';
import { type LinesDiff, linesDiff } from '../../src/mirror/rows/prepared.ts';
import { writeOrders } from '../../src/mirror/sales-order.ts';
import type { SqlRow } from '../../src/store/bulk.ts';
import { temporaryStore } from '../support/store.ts';

type Line = readonly [barcode: string | null, quantity: number];

function linesOf(lines: readonly Line[]): readonly SqlRow[] {
  return lines.map(([barcode, quantity], at) => ({ line_no: at + 1, barcode, quantity, price: 9 }));
}

function diffOf(before: readonly Line[], after: readonly Line[]): LinesDiff | undefined {
  return linesDiff(linesOf(before), linesOf(after));
}

/** Makes the lines before from those after, as somebody would who has the feed and the mirror. */
function undone(after: readonly SqlRow[], [gone, fresh]: LinesDiff): readonly SqlRow[] {
  const named = new Set(fresh.map((line) => line.line_no));
  const same = after.filter((line) => !named.has(line.line_no));
  const later = Map.groupBy(fresh, (line) => line.barcode);
  const before = new Map<unknown, SqlRow>();
  for (const line of gone) {
    const changed = later.get(line.barcode)?.shift();
    const now = after.find((one) => one.line_no === changed?.line_no);
    before.set(line.line_no, { ...now, ...line });
  }
  return Array.from({ length: same.length + gone.length }, (_, at) => {
    return before.get(at + 1) ?? { ...same.shift(), line_no: at + 1 };
  });
}

describe('the difference of two lists of lines', () => {
  it('names a changed line by its number, its barcode and what changed', () => {
    const before: Line[] = [
      ['a', 1],
      ['b', 2],
      ['c', 3],
    ];
    expect(
      diffOf(before, [
        ['a', 1],
        ['b', 5],
        ['c', 3],
      ]),
    ).toEqual([
      [{ line_no: 2, barcode: 'b', quantity: 2 }],
      [{ line_no: 2, barcode: 'b', quantity: 5 }],
    ]);
    expect(diffOf(before, before)).toBeUndefined();
  });

  it('names a line that is gone, and not those that moved up', () => {
    expect(
      diffOf(
        [
          ['a', 1],
          ['b', 2],
          ['c', 3],
        ],
        [
          ['a', 1],
          ['c', 3],
        ],
      ),
    ).toEqual([[{ line_no: 2, barcode: 'b', quantity: 2, price: 9 }], []]);
  });

  it('tells what the lines were before, whatever became of them', () => {
    const random = seededRandom(48);
    const barcodes = ['a', 'b', 'c', 'd', null];
    const drawn = (): Line[] =>
      Array.from({ length: random.int(0, 6) }, () => [random.pick(barcodes), random.int(1, 3)]);
    for (let round = 0; round < 500; round += 1) {
      const [before, after] = [linesOf(drawn()), linesOf(drawn())];
      const diff = linesDiff(before, after) ?? [[], []];
      expect(undone(after, diff)).toEqual(before);
    }
  });

  it('costs the feed a few hundred bytes where 4 of 40 lines are packed', async () => {
    const store = await temporaryStore();
    const write = (packed: number, readSeq: number) => {
      const orderLineItems = Array.from({ length: 40 }, (_, line) => ({
        ...{ barcode: String(5_701_234_000_000 + line), quantity: 12, price: 249.5 },
        ...{ season: 'Autumn 2026', fulfilledQuantity: line < packed ? 12 : 0 },
      }));
      const order = { orderId: 3, status: 'pending', orderLineItems };
      const provenance = { source: 'run:1', readSeq, at: readSeq };
      return store.transaction((tx) => writeOrders(tx, [order], provenance));
    };
    for (const packed of [0, 4, 8]) await write(packed, packed);
    const rows = await store.db.selectFrom('change').select(['op', 'diff']).execute();
    expect(rows.map(({ op }) => op)).toEqual(['insert', 'update', 'update']);
    expect(Math.max(...rows.map(({ diff }) => diff.length))).toBeLessThan(600);
  });
});
