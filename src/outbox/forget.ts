/**
 * Forgets an order in the outbox: addresses and comments in its documents, and texts of other rows
 * that may repeat them (refusals, answers, lookups). References, states and digests stay, so that
 * nothing is sent twice and the same document is recognised when it comes again.
 */
import { sql } from 'kysely';
import { parseJsonObject } from '../lib/json.ts';
import { namingWords } from '../mirror/forget.ts';
import { inKeys } from '../store/bulk.ts';
import type { Db, Tx } from '../store/store.ts';
import { forgetPeople } from '../store/tables/people.ts';
import { referenceKey } from './documents.ts';

export interface OwnPush {
  readonly outboxId: number;
  readonly kind: string;
  readonly reference: string;
  readonly state: string;
  /** Whether the push is still to be sent or looked up, or waits for a person. */
  readonly isOpen: boolean;
  readonly orderId: number | null;
}

/** Order that pushes belong to, by its id or by its reference. */
export interface OrderName {
  readonly orderId: number | null;
  readonly reference: string | null;
}

/** All pushes of an order: its documents, those of its refunds, and changes of its deliveries. */
export async function pushesOf(db: Db | Tx, { orderId, reference }: OrderName): Promise<OwnPush[]> {
  const key = reference === null ? null : referenceKey(reference);
  const { rows } = await sql<{
    readonly outbox_id: number;
    readonly kind: string;
    readonly reference: string;
    readonly state: string;
    readonly ended_at: number | null;
    readonly order_id: number | null;
  }>`select outbox_id, kind, reference, state, ended_at, order_id from outbox
    where order_id = ${orderId} or (kind = 'order' and reference_key = ${key})
      or (kind <> 'order' and body->>'$.orderId' = ${orderId})
      or (kind = 'pending_refund' and case_key(body->>'$.orderReference') = ${key})
    order by outbox_id`.execute(db);
  return rows.map((row) => ({
    outboxId: row.outbox_id,
    kind: row.kind,
    reference: row.reference,
    state: row.state,
    isOpen: row.ended_at === null || row.state === 'dead',
    orderId: row.order_id,
  }));
}

/** SQL: a document without personal data. */
const BARE_BODY = sql<string>`iif(json_valid(body),
  json_remove(body, '$.comment', '$.shippingAddress', '$.freight.parcelShopId'), '{}')`;

/**
 * Words by which texts name the people of these documents; undefined: they tell of nobody, as those
 * that were forgotten before.
 */
export async function wordsOfPushes(tx: Tx, outboxIds: readonly number[]) {
  const told = await tx
    .selectFrom('outbox')
    .select('body')
    .where(inKeys('outbox_id', outboxIds))
    .where('body', '!=', BARE_BODY)
    .execute();
  if (told.length === 0) return undefined;
  return told.flatMap(({ body }) => namingWords(parseJsonObject(body).shippingAddress));
}

/**
 * Changes texts of the outbox without making a receipt due: what it tells the ERP stays the same,
 * and a document that is over is not told again.
 */
export async function withoutReceipts(tx: Tx, change: () => Promise<void>): Promise<void> {
  const { rows } = await sql<{ readonly intakes: string; readonly files: string }>`
    select (select json_group_object(outbox_id, receipt_due) from intake where receipt_due > 0)
      intakes,
      (select json_group_object(file_id, receipt_due) from intake_file where receipt_due > 0)
      files`.execute(tx);
  const { intakes = '{}', files = '{}' } = rows[0] ?? {};
  await change();
  // Rows that became due are found by index, and each of before once.
  await sql`update intake set receipt_due = 0 where receipt_due > 0`.execute(tx);
  await sql`update intake set receipt_due = due.value from json_each(${intakes}) due
    where outbox_id = due.key + 0`.execute(tx);
  await sql`update intake_file set receipt_due = 0 where receipt_due > 0`.execute(tx);
  await sql`update intake_file set receipt_due = due.value from json_each(${files}) due
    where file_id = due.key + 0`.execute(tx);
}

/**
 * Blanks the texts of these pushes, of submissions under their references that were refused before
 * they became pushes, and of what the service answered about deliveries of the order.
 */
export async function forgetPushes(
  tx: Tx,
  outboxIds: readonly number[],
  references: readonly string[],
  orderId: number | null,
): Promise<void> {
  const own = inKeys('outbox_id', outboxIds);
  // A result has nothing but numbers and names of things.
  await forgetPeople(tx, 'outbox', own, { body: BARE_BODY, result: sql.ref('result') });
  await forgetPeople(tx, 'outbox_revision', own, { body: BARE_BODY });
  await forgetPeople(tx, 'outbox_attempt', own);
  await forgetPeople(tx, 'outbox_evidence', own);
  await forgetPeople(tx, 'intake', own);
  await forgetPeople(
    tx,
    'outcome',
    sql`decision_id in (select decision_id from decision where order_id = ${orderId})`,
  );
  await sql`update intake_file_document
    set refusal = json_remove(json_set(refusal, '$.problems', json('[]')), '$.conflict')
    where refusal is not null and json_valid(refusal)
      and case_key(refusal->>'$.reference') in (
        select value from json_each(${JSON.stringify(references.map(referenceKey))}))`.execute(tx);
}
