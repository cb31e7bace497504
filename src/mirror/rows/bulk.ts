/** Rows of the mirror as the statement takes them that writes many at once. */
import type { BulkRows, SqlRow, SqlValue } from '../../store/bulk.ts';
import type { Tx } from '../../store/store.ts';
import { addExtras, extraIdsOf } from './extra.ts';
import type { EntityDefinition, PreparedRow, PreparedRows, RowGroups } from './prepared.ts';

/** Where rows come from: the read's start (sequence), and what caused it. */
export interface Provenance {
  readonly source: string;
  readonly readSeq: number;
  /** Epoch milliseconds. */
  readonly at: number;
}

/** What all rows that are written at once have in common. */
function constantsOf({ at, readSeq, source }: Provenance): SqlRow {
  const times = { first_seen_at: at, changed_at: at, deleted_at: null };
  return { ...times, read_seq: readSeq, source };
}

/** Of rows that have their members without a column elsewhere. */
const NO_EXTRA = { extra: '' };

/** The values of {@link bulkOfRows} as a JSON array. */
function textOf({ values, own, hash }: PreparedRow, extra: SqlValue): string {
  const ownValues = own === undefined ? '' : `,${own.slice(1)}`;
  return `${values},${extra}${ownValues},"${hash}"]`;
}

/** `before`: those of the rows that are known. */
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

/** Of rows none of which is known. */
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
