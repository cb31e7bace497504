/**
 * Forgotten orders: their personal data (addresses, comments, members without a column) is blanked,
 * and left out of whatever is read of them later. Numbers, states, lines and amounts stay.
 */
import { inKeys, type SqlRow, type SqlValue } from '../store/bulk.ts';
import type { Tx } from '../store/store.ts';
import { peopleIn } from '../store/tables/people.ts';
import type { EntityDefinition, MirrorRow } from './rows/prepared.ts';

const NONE: ReadonlySet<SqlValue> = new Set();

/** Gives those of the orders that were forgotten. */
export async function forgottenAmong(
  tx: Tx,
  orderIds: readonly SqlValue[],
): Promise<ReadonlySet<SqlValue>> {
  if (orderIds.length === 0) return NONE;
  const rows = await tx
    .selectFrom('sales_order')
    .select('order_id')
    .where('forgotten_at', 'is not', null)
    .where(inKeys('order_id', orderIds))
    .execute();
  return new Set(rows.map(({ order_id }) => order_id));
}

function blanked(definition: EntityDefinition, { values, lines }: MirrorRow): MirrorRow {
  const { table, lines: of } = definition;
  const bare = lines?.map((line): SqlRow => ({ ...line, ...(of && peopleIn(of.table)) }));
  return { values: { ...values, ...peopleIn(table) }, extra: {}, ...(bare && { lines: bare }) };
}

/** Blanks the personal data in rows of forgotten orders, before they are written. */
export async function withoutForgotten(
  tx: Tx,
  definition: EntityDefinition,
  rows: readonly MirrorRow[],
): Promise<readonly MirrorRow[]> {
  if (!definition.columns.includes('order_id')) return rows;
  const orderOf = ({ values }: MirrorRow): SqlValue => values.order_id ?? null;
  const forgotten = await forgottenAmong(tx, rows.map(orderOf));
  if (forgotten.size === 0) return rows;
  return rows.map((row) => (forgotten.has(orderOf(row)) ? blanked(definition, row) : row));
}
