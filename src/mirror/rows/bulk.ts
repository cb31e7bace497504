/** Converts rows to the parameters of bulk statements. */
import type { BulkRows, SqlRow, SqlValue } from '../../store/bulk.ts';
import type { Tx } from '../../store/store.ts';
import { addExtras, extraIdsOf } from './extra.ts';
import type { EntityDefinition, PreparedRow, PreparedRows, RowGroups } from './prepared.ts';

/** Origin of rows: the read's sequence number, and its cause. */
export interface Provenance {
  readonly source: string;
  readonly readSeq: number;
  /** Epoch ms. */
  readonly at: number;
}

/** Columns equal in all rows of one write. */
function constantsOf({ at, readSeq, source }: Provenance): SqlRow {
  const times = { first_seen_at: at, changed_at: at, deleted_at: null };
  return { ...times, read_seq: readSeq, source };
}

/** For rows whose unmodelled members are stored in `variant_extra`. */
const NO_EXTRA = { extra: '' };

/** Values of {@link bulkOfRows} as a JSON array. */
function textOf({ values, own, hash }: PreparedRow, extra: SqlValue): string {
  const ownValues = own === undefined ? '' : `,${own.slice(1)}`;
  return `${values},${extra}${ownValues},"${hash}"]`;
}

/** `before`: stored versions of known rows. */
export async function bulkOfRows(
  tx: Tx,
  { table, columns, ownColumns }: EntityDefinition,
  rows: readonly PreparedRow[],
  before: ReadonlyMap<SqlValue, SqlRow>,
  provenance: Provenance,
): Promise<BulkRows> {
  const extras = ownColumns ? await extraIdsOf(tx, rows, before) : rows.map(({ extra }) => extra);
  const texts = rows.map((row, at) => textOf(row, extras[at] ?? null));
  return {
    table,
    columns: [...columns, ownColumns ? 'extra_id' : 'extra', ...(ownColumns ?? []), 'content_hash'],
    jsonColumns: ['extra'],
    constants: { ...constantsOf(provenance), ...(ownColumns && NO_EXTRA) },
    rows: `[${texts.join(',')}]`,
  };
}

async function bulkOfGroups(
  tx: Tx,
  { table, columns, ownColumns = [] }: EntityDefinition,
  { json, extras }: RowGroups,
  provenance: Provenance,
): Promise<BulkRows> {
  return {
    table,
    columns: [...columns, ...ownColumns, 'content_hash'],
    sharedColumns: columns.length,
    numbered: { column: 'extra_id', from: await addExtras(tx, extras) },
    constants: { ...constantsOf(provenance), ...NO_EXTRA },
    rows: json,
  };
}

const NONE_BEFORE: ReadonlyMap<SqlValue, SqlRow> = new Map();

/** For rows none of which is known. */
export function bulkOf(
  tx: Tx,
  definition: EntityDefinition,
  prepared: PreparedRows,
  provenance: Provenance,
): Promise<BulkRows> {
  return 'groups' in prepared
    ? bulkOfGroups(tx, definition, prepared.groups, provenance)
    : bulkOfRows(tx, definition, prepared.rows, NONE_BEFORE, provenance);
}
