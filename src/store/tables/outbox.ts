/** Kysely's view of the outbox: pushes to the service, their attempts, and lookups of them. */
import type { Generated } from 'kysely';

export const OUTBOX_STATES = [
  'queued',
  'sending',
  'sent',
  'confirmed',
  'refused',
  'in_doubt',
  'dead',
  'canceled',
] as const;

export type OutboxState = (typeof OUTBOX_STATES)[number];

interface OutboxTable {
  outbox_id: Generated<number>;
  kind: string;
  ordering_key: string;
  reference: string;
  body: string;
  body_hash: string;
  state: Generated<OutboxState>;
  expected_from: string | null;
  due_at: number;
  attempts: Generated<number>;
  in_doubt_since: number | null;
  created_at: number;
  ended_at: number | null;
  cause: string;
  result: string | null;
  last_error: string | null;
  reference_key: string | null;
  problems: Generated<string>;
  blocked_reason: string | null;
  order_id: number | null;
  shown_reference: string | null;
  order_delivery_id: number | null;
  decision_id: number | null;
}

interface ReferenceSpellingTable {
  id: Generated<number>;
  kind: string;
  spellings: string;
  learned_at: number;
  ended_at: number | null;
}

interface OutboxCandidateTable {
  order_id: number;
  outbox_id: number;
}

interface OutboxTransitionTable {
  from_state: string;
  to_state: string;
}

interface OutboxAttemptTable {
  outbox_id: number;
  attempt: number;
  started_at: number;
  max_order_id_before: number | null;
  ended_at: number | null;
  class: string | null;
  http_status: number | null;
  error_code: string | null;
  answer: string | null;
  count_before: number | null;
}

interface OutboxEvidenceTable {
  id: Generated<number>;
  outbox_id: number;
  at: number;
  source: string;
  outcome: 'matched' | 'not_found' | 'ambiguous';
  detail: string;
  complete: Generated<number>;
}

interface RefundAwaitedTable {
  outbox_id: number;
}

interface RefusedDocumentTable {
  outbox_id: number;
}

export interface OutboxTables {
  outbox: OutboxTable;
  outbox_attempt: OutboxAttemptTable;
  outbox_candidate: OutboxCandidateTable;
  outbox_evidence: OutboxEvidenceTable;
  outbox_transition: OutboxTransitionTable;
  refund_awaited: RefundAwaitedTable;
  refused_document: RefusedDocumentTable;
  reference_spelling: ReferenceSpellingTable;
}
