/**
 * Forgets an order in the outbox: addresses and comments in its documents, and texts of other rows
 * that may repeat them (refusals, answers, lookups). References, states and digests stay, so that
 * nothing is sent twice and the same document is recognised when it comes again.
 */
import { sql } from 'kysely';
import { canonicalJson, isJsonObject, tryParseJson } from '../lib/json.ts';
import { inKeys } from '../store/bulk.ts';
import type { Db, Tx } from '../store/store.ts';
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
      or (kind = 'pending_refund' and lower(body->>'$.orderReference') = ${key})
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

/** Text of a document without personal data. */
function blankedBody(text: string): string {
  const body = tryParseJson(text);
  if (!isJsonObject(body)) return '{}';
  const { comment, shippingAddress, freight, ...rest } = body;
  if (!isJsonObject(freight)) return canonicalJson(rest);
  const { parcelShopId, ...bare } = freight;
  return canonicalJson({ ...rest, freight: bare });
}

async function forgetBodies(tx: Tx, outboxIds: readonly number[]): Promise<void> {
  const rows = await tx
    .selectFrom('outbox')
    .select(['outbox_id', 'body', 'last_error'])
    .where(inKeys('outbox_id', outboxIds))
    .execute();
  for (const { outbox_id, body } of rows) {
    await tx
      .updateTable('outbox')
      .set({ body: blankedBody(body), problems: '[]', last_error: null })
      .where('outbox_id', '=', outbox_id)
      .execute();
  }
  const revisions = await tx
    .selectFrom('outbox_revision')
    .select(['outbox_id', 'revision', 'body'])
    .where(inKeys('outbox_id', outboxIds))
    .execute();
  for (const { outbox_id, revision, body } of revisions) {
    await tx
      .updateTable('outbox_revision')
      .set({ body: blankedBody(body), problems: '[]', last_error: null })
      .where('outbox_id', '=', outbox_id)
      .where('revision', '=', revision)
      .execute();
  }
}

/**
 * Blanks the texts of these pushes, and of submissions under their references that were refused
 * before they became pushes.
 */
export async function forgetPushes(
  tx: Tx,
  outboxIds: readonly number[],
  references: readonly string[],
): Promise<void> {
  await forgetBodies(tx, outboxIds);
  const own = inKeys('outbox_id', outboxIds);
  await tx.updateTable('outbox_attempt').set({ answer: null }).where(own).execute();
  await tx.updateTable('outbox_evidence').set({ detail: '{}' }).where(own).execute();
  await tx.updateTable('intake').set({ callback_error: null }).where(own).execute();
  await sql`update intake_file_document
    set refusal = json_remove(json_set(refusal, '$.problems', json('[]')), '$.conflict')
    where refusal is not null and json_valid(refusal)
      and refusal->>'$.reference' in (
        select value from json_each(${JSON.stringify(references)}))`.execute(tx);
}
