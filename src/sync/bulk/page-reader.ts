/**
 * Reads the rows of a page of variants: parses and checks them, and encodes them for their table.
 * This needs neither database nor clock, so that a thread can do it.
 */
import type { Decimals } from '../../client/tolerant/decimals.ts';
import type { MemberName } from '../../client/v1/schemas.ts';
import { variantRowsReader } from '../../client/v1/variant-rows.ts';
import type { RejectedRow } from '../../mirror/quarantine.ts';
import { createRowEncoder, type RowGroups } from '../../mirror/rows/prepared.ts';
import { entityOfList, type VariantList } from './variant-list.ts';

/** A page as bytes. Plain data, because it is sent between threads. */
export interface UnreadPage {
  readonly list: VariantList;
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** Byte range of each chunk of the page. */
  readonly spans: readonly { readonly start: number; readonly end: number }[];
}

/**
 * Encoded rows of a page: those of all chunks, in the order of the spans. Plain data, because it is
 * sent between threads.
 */
export interface RowsOfPage extends Omit<RowGroups, 'keys'> {
  readonly chunks: readonly {
    /**
     * Keys of the chunk's valid rows as a JSON array, because one string crosses threads faster
     * than many.
     */
    readonly keys: string;
    readonly rejects: readonly RejectedRow[];
  }[];
}

export interface PageReader {
  /** Announces that a page will come, so that a thread can start meanwhile. */
  expect?(): void;
  /** Reads a page and uses up its bytes: their memory is moved or freed. */
  read(page: UnreadPage): Promise<RowsOfPage>;
}

/** Ways of the account that a reader must know: its member names, how it writes decimals. */
export interface PageForm {
  readonly names?: readonly MemberName[] | undefined;
  readonly decimals?: Decimals | undefined;
}

export function createPageReader(form: PageForm): (page: UnreadPage) => RowsOfPage {
  const createVariantReader = variantRowsReader(form.names ?? [], form.decimals);
  return (page) => rowsOfPage(page, createVariantReader());
}

function rowsOfPage(
  { list, bytes, spans }: UnreadPage,
  readVariants: ReturnType<ReturnType<typeof variantRowsReader>>,
): RowsOfPage {
  const entity = entityOfList(list);
  const size = spans.reduce((sum, { start, end }) => sum + end - start, 0);
  const encoder = createRowEncoder(entity, Math.ceil(size / 4));
  const chunks = spans.map(({ start, end }) => {
    const { rows, rejects } = readVariants(bytes.subarray(start, end));
    const keys = rows.map((row) =>
      'repeat' in row
        ? encoder.repeat(entity.ownValues(row.repeat))
        : encoder.add(entity.toRow(row.variant)),
    );
    return { keys: JSON.stringify(keys), rejects };
  });
  // The memory of the bytes is freed at once; the garbage collector would let a hundred pages pile
  // up.
  bytes.buffer.transfer(0);
  return { chunks, ...encoder.end() };
}

export function readerHere(form: PageForm): PageReader {
  const read = createPageReader(form);
  return { read: async (page) => read(page) };
}
