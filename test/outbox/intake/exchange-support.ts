/** The exchange database as an ERP uses it. */
import { until } from '../../support/house.ts';
import type { Doors } from './support.ts';

export function insert(reference: string, payload: unknown, kind = 'order'): string {
  const text = JSON.stringify(payload).replaceAll("'", "''");
  const values = `'${kind}', '${reference}', '${text}'`;
  return `INSERT INTO intake(kind, reference, payload) VALUES (${values})`;
}

/** The receipt of a row of `intake`, once it has left `waiting`. */
export async function receiptOf(
  { sql }: Doors,
  intakeId: number,
): Promise<Record<string, unknown>> {
  const query = `SELECT json_object('documentId', document_id, 'state', state, 'final', final,
    'orderId', order_id, 'orderNo', order_no, 'problems', json(problems), 'next', next_step)
    FROM receipt WHERE intake_id = ${intakeId} AND state <> 'waiting'`;
  const text = await until(`receipt ${intakeId}`, () => sql(query) || undefined);
  return JSON.parse(text);
}
