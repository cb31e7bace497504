-- Documents that the ERP handed in, by which door, and how far it has been told about them.

CREATE TABLE intake (
  outbox_id INTEGER PRIMARY KEY,
  door TEXT NOT NULL CHECK (door IN ('sql', 'folder', 'http', 'cli')),
  -- Which row, file and line, client or person.
  source TEXT NOT NULL,
  received_at INTEGER NOT NULL,
  -- The same document again, by whatever door.
  repeats INTEGER NOT NULL DEFAULT 0,
  last_repeat_at INTEGER,
  -- Changes that the row in exchange.db does not show yet.
  receipt_due INTEGER NOT NULL DEFAULT 1,
  -- When the command of the configuration is to be told of the end; null: nothing to tell.
  callback_due_at INTEGER,
  callback_attempts INTEGER NOT NULL DEFAULT 0,
  callback_error TEXT
) STRICT;
CREATE INDEX intake_receipt_due ON intake (outbox_id) WHERE receipt_due > 0;
CREATE INDEX intake_callback_due ON intake (callback_due_at) WHERE callback_due_at IS NOT NULL;

-- Files of the drop folder. The same name and content is the same file.
CREATE TABLE intake_file (
  file_id INTEGER PRIMARY KEY AUTOINCREMENT,
  name TEXT NOT NULL,
  sha256 TEXT NOT NULL,
  taken_at INTEGER NOT NULL,
  folder TEXT NOT NULL CHECK (folder IN ('done', 'refused')),
  -- Its name there; another file of the same name may have come later.
  stored_as TEXT NOT NULL,
  receipt_due INTEGER NOT NULL DEFAULT 1,
  UNIQUE (name, sha256)
) STRICT;
CREATE INDEX intake_file_due ON intake_file (file_id) WHERE receipt_due > 0;

CREATE TABLE intake_file_document (
  file_id INTEGER NOT NULL,
  line INTEGER NOT NULL,
  outbox_id INTEGER,
  -- In its place, the receipt of a document that was refused at the door (JSON).
  refusal TEXT,
  PRIMARY KEY (file_id, line)
) STRICT, WITHOUT ROWID;
CREATE INDEX intake_file_document_outbox ON intake_file_document (outbox_id)
WHERE outbox_id IS NOT NULL;

-- Idempotency keys of HTTP clients.
CREATE TABLE intake_key (
  client TEXT NOT NULL,
  key TEXT NOT NULL,
  outbox_id INTEGER NOT NULL,
  at INTEGER NOT NULL,
  PRIMARY KEY (client, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX intake_key_at ON intake_key (at);

-- Whatever moves a document also makes its receipts due, in the same transaction.
CREATE TRIGGER outbox_tells_intake AFTER UPDATE ON outbox
WHEN (
  NEW.state <> OLD.state OR NEW.result IS NOT OLD.result OR NEW.problems <> OLD.problems
  OR NEW.last_error IS NOT OLD.last_error OR NEW.desk_reason IS NOT OLD.desk_reason
  OR NEW.order_id IS NOT OLD.order_id
) AND EXISTS (SELECT 1 FROM intake WHERE outbox_id = NEW.outbox_id)
BEGIN
  UPDATE intake SET receipt_due = receipt_due + 1 WHERE outbox_id = NEW.outbox_id;
  UPDATE intake SET callback_due_at = NEW.ended_at, callback_attempts = 0, callback_error = NULL
  WHERE outbox_id = NEW.outbox_id AND NEW.ended_at IS NOT NULL AND OLD.ended_at IS NULL;
  UPDATE intake_file SET receipt_due = receipt_due + 1 WHERE file_id IN (
    SELECT file_id FROM intake_file_document WHERE outbox_id = NEW.outbox_id
  );
END;
-- The refund that the service made of a pending one belongs into the receipt.
CREATE TRIGGER refund_tells_intake AFTER INSERT ON refund
WHEN NEW.pending_refund_id IS NOT NULL
BEGIN
  UPDATE intake SET receipt_due = receipt_due + 1 WHERE outbox_id IN (
    SELECT outbox_id FROM outbox WHERE kind = 'pending_refund' AND order_id = NEW.order_id
  );
END;
