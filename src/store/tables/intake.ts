/** Kysely's view of the tables with documents that the ERP submitted. */
import type { Generated } from 'kysely';

interface IntakeTable {
  outbox_id: number;
  channel: 'sql' | 'folder' | 'http' | 'cli';
  source: string;
  received_at: number;
  repeats: Generated<number>;
  last_repeat_at: number | null;
  receipt_due: Generated<number>;
  callback_due_at: number | null;
  callback_attempts: Generated<number>;
  callback_error: string | null;
}

interface IntakeFileTable {
  file_id: Generated<number>;
  name: string;
  sha256: string;
  taken_at: number;
  folder: 'done' | 'refused';
  stored_as: string;
  receipt_due: Generated<number>;
  mark: string | null;
}

interface IntakeFileDocumentTable {
  file_id: number;
  line: number;
  outbox_id: number | null;
  refusal: string | null;
}

interface IntakeKeyTable {
  client: string;
  key: string;
  outbox_id: number;
  at: number;
}

interface OutcomeTable {
  outcome_id: Generated<number>;
  decision_id: number;
  state: 'confirmed' | 'refused';
  problem: string | null;
  at: number;
  row_due: Generated<number>;
  callback_due_at: number | null;
  callback_attempts: Generated<number>;
  callback_error: string | null;
}

interface OutboxLostTable {
  outbox_id: number;
  order_id: number;
  since: number;
  reference: string | null;
  read_seq: number;
  noted_at: number | null;
}

interface OutboxRevisionTable {
  outbox_id: number;
  revision: number;
  body: string;
  cause: string;
  submitted_at: number;
  state: string;
  problems: string;
  last_error: string | null;
  ended_at: number | null;
  replaced_at: number;
}

export interface IntakeTables {
  intake: IntakeTable;
  intake_file: IntakeFileTable;
  intake_file_document: IntakeFileDocumentTable;
  intake_key: IntakeKeyTable;
  outcome: OutcomeTable;
  outbox_lost: OutboxLostTable;
  outbox_revision: OutboxRevisionTable;
}
