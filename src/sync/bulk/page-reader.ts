/**
 * Reads the rows of a page of variants: parsed, checked, and made ready for their table. All of it
 * is computing, without the database and without a clock, so that a thread of its own can do it.
 */
import { createVariantReader } from '../../client/v1/variant-rows.ts';
import type { RejectedRow } from '../../mirror/quarantine.ts';
import { createRowEncoder, type RowGroups } from '../../mirror/rows/prepared.ts';
import { entityOfList, type VariantList } from './variant-list.ts';

/** Plain data: it travels between threads. */
export interface UnreadPage {
  readonly list: VariantList;
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** Where in the bytes each of the segments stands. */
  readonly spans: readonly { readonly start: number; readonly end: number }[];
}

/** Plain data as well: all rows as groups, in the order of the spans. */
export interface RowsOfPage extends Omit<RowGroups, 'keys'> {
  /** In the order of the spans. */
  readonly segments: readonly {
    /** Of its good rows, a JSON array: one text crosses threads faster than many. */
    readonly keys: string;
    readonly rejects: readonly RejectedRow[];
  }[];
}

export interface PageReader {
  /** A page is about to come: what takes time to get ready may begin. */
  expect?(): void;
  /** The bytes are used up: their memory is moved, or freed. */
  read(page: UnreadPage): Promise<RowsOfPage>;
}

export function rowsOfPage({ list, bytes, spans }: UnreadPage): RowsOfPage {
  const entity = entityOfList(list);
  const size = spans.reduce((sum, { start, end }) => sum + end - start, 0);
  const readVariants = createVariantReader();
  const encoder = createRowEncoder(entity, Math.ceil(size / 4));
  const segments = spans.map(({ start, end }) => {
    const { rows, rejects } = readVariants(bytes.subarray(start, end));
    const keys = rows.map((row) =>
      'repeat' in row
        ? encoder.repeat(entity.ownValues(row.repeat))
        : encoder.add(entity.toRow(row.variant)),
    );
    return { keys: JSON.stringify(keys), rejects };
  });
  // Frees it at once; the garbage collector would let a hundred pages pile up.
  bytes.buffer.transfer(0);
  return { segments, ...encoder.end() };
}

export const READER_HERE: PageReader = { read: async (page) => rowsOfPage(page) };
