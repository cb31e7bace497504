/**
 * Reads the rows of a page of variants: parsed, checked, and made ready for their table. All of it
 * is computing, without the database and without a clock, so that a thread of its own can do it.
 */
import type { MemberName } from '../../client/v1/dialect.ts';
import { variantRowsReader } from '../../client/v1/variant-rows.ts';
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

/** `names`: what the account names otherwise. */
export function createPageReader(names: readonly MemberName[]): (page: UnreadPage) => RowsOfPage {
  const createVariantReader = variantRowsReader(names);
  return (page) => rowsOfPage(page, createVariantReader());
}

function rowsOfPage(
  { list, bytes, spans }: UnreadPage,
  readVariants: ReturnType<ReturnType<typeof variantRowsReader>>,
): RowsOfPage {
  const entity = entityOfList(list);
  const size = spans.reduce((sum, { start, end }) => sum + end - start, 0);
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

/** Without a thread. */
export function readerHere(names: readonly MemberName[]): PageReader {
  const read = createPageReader(names);
  return { read: async (page) => read(page) };
}
