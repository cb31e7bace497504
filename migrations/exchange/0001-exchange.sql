-- What the ERP and the daemon hand to each other: a file of its own in rollback-journal mode, which
-- any SQLite client from 3.37 on may open. Times are ISO texts in UTC, amounts decimal numbers.
--
-- This file is the schema of 0.1.0, and once that is released it is never edited: a change of it is a
-- file of its own (0002-….sql). A file that ran another text of it is refused as one that was made
-- before 0.1.0, as its mirror is: the numbers of its documents are those of that mirror.

-- ---- The ERP hands documents over ----------------------------------------------------------

-- A row is a document: it is written once and never changed.
CREATE TABLE intake (
  intake_id INTEGER PRIMARY KEY AUTOINCREMENT,
  kind TEXT NOT NULL CHECK (length(kind) BETWEEN 1 AND 40),
  reference TEXT NOT NULL CHECK (length(reference) BETWEEN 1 AND 200),
  -- JSON, as for the other doors; at most 1 MiB.
  payload TEXT NOT NULL CHECK (length(payload) BETWEEN 2 AND 1048576),
  handed_in_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))
) STRICT;

-- What became of a document. Written by the daemon; one row for each row of intake, there from the
-- moment of the INSERT, and one for each document that came in through another door.
CREATE TABLE receipt (
  receipt_id INTEGER PRIMARY KEY AUTOINCREMENT,
  -- The row of intake; null when the document came through another door.
  intake_id INTEGER UNIQUE,
  -- The daemon's number of the document; the same content again has the same number. Null until
  -- the document is taken, and for one that was refused at the door.
  document_id INTEGER,
  kind TEXT NOT NULL,
  -- Letters' case makes no difference to which document it is.
  reference TEXT NOT NULL COLLATE NOCASE,
  state TEXT NOT NULL,
  -- 1: the state does not change any more.
  final INTEGER NOT NULL DEFAULT 0 CHECK (final IN (0, 1)),
  order_id INTEGER,
  order_no TEXT,
  -- A JSON array of {"orderDeliveryId", "deliveryNo", "status"}.
  deliveries TEXT NOT NULL DEFAULT '[]',
  pending_refund_id INTEGER,
  refund_id INTEGER,
  -- A JSON array of {"path", "message"}.
  problems TEXT NOT NULL DEFAULT '[]',
  next_step TEXT NOT NULL,
  handed_in_at TEXT NOT NULL,
  changed_at TEXT NOT NULL,
  ended_at TEXT
) STRICT;
CREATE INDEX receipt_document ON receipt (document_id);
CREATE INDEX receipt_reference ON receipt (reference, kind);
CREATE INDEX receipt_waiting ON receipt (receipt_id) WHERE state = 'waiting';
CREATE INDEX receipt_ended ON receipt (ended_at) WHERE final = 1;

-- A public contract, described in docs/views.md. A reference may have several receipts: the same
-- document again, a correction, or another one that was refused. What still waits counts first,
-- then the document that is under way or at the service, then the last word.
CREATE VIEW v_document AS
SELECT
  r.kind, r.reference, r.state, r.final, r.order_id, r.order_no, r.deliveries,
  r.pending_refund_id, r.refund_id, r.problems, r.next_step, r.document_id, r.intake_id,
  (SELECT count(*) FROM receipt a WHERE a.reference = r.reference AND a.kind = r.kind) AS receipts,
  r.handed_in_at, r.changed_at, r.ended_at
FROM receipt r
WHERE r.receipt_id = (
  SELECT b.receipt_id FROM receipt b WHERE b.reference = r.reference AND b.kind = r.kind
  ORDER BY
    CASE
      WHEN b.state = 'waiting' THEN 0
      WHEN b.document_id IS NOT NULL AND b.state NOT IN ('refused', 'canceled') THEN 1
      ELSE 2
    END,
    b.receipt_id DESC
  LIMIT 1
);

CREATE TRIGGER intake_is_new BEFORE INSERT ON intake
WHEN EXISTS (SELECT 1 FROM intake WHERE intake_id = NEW.intake_id)
BEGIN
  SELECT RAISE(ABORT, 'intake: this intake_id is taken; leave intake_id out of the INSERT');
END;
CREATE TRIGGER intake_waits AFTER INSERT ON intake
BEGIN
  INSERT INTO receipt (intake_id, kind, reference, state, next_step, handed_in_at, changed_at)
  VALUES (NEW.intake_id, NEW.kind, NEW.reference, 'waiting',
    'Nothing: the daemon takes the document within a second, as soon as it runs.',
    NEW.handed_in_at, NEW.handed_in_at);
END;
CREATE TRIGGER intake_is_immutable BEFORE UPDATE ON intake
BEGIN
  SELECT RAISE(ABORT, 'intake: rows are immutable; hand a corrected document in as a new row');
END;
CREATE TRIGGER intake_stays BEFORE DELETE ON intake
WHEN NOT EXISTS (SELECT 1 FROM receipt WHERE intake_id = OLD.intake_id AND final = 1)
BEGIN
  SELECT RAISE(ABORT, 'intake: a row stays until its receipt is final');
END;
CREATE TRIGGER receipt_stays BEFORE DELETE ON receipt
WHEN OLD.final = 0
BEGIN
  SELECT RAISE(ABORT, 'receipt: a row stays until it is final');
END;

-- ---- What became of packed deliveries ------------------------------------------------------

-- A row for each decision that is so at the service, or was refused there; numbers only grow.
-- Written by the daemon once; the ERP may delete what it has read.
CREATE TABLE outcome (
  outcome_id INTEGER PRIMARY KEY,
  -- The number of the decision in the daemon's journal.
  decision_id INTEGER NOT NULL,
  order_delivery_id INTEGER NOT NULL,
  delivery_no TEXT,
  order_id INTEGER NOT NULL,
  order_no TEXT,
  -- The reference of the order, which the ERP gave it if it came from there.
  reference TEXT,
  -- accept, hold, reject, or release (a person left it to the rules again).
  outcome TEXT NOT NULL,
  -- confirmed, or refused: the service did not take it.
  state TEXT NOT NULL,
  reason TEXT NOT NULL,
  -- A JSON array of the rules that decided.
  rules TEXT NOT NULL,
  -- daemon: the rules; external: somebody in the service; else a person here.
  decided_by TEXT NOT NULL,
  -- Why the service refused it.
  problem TEXT,
  decided_at TEXT NOT NULL,
  ended_at TEXT NOT NULL
) STRICT;
CREATE INDEX outcome_delivery ON outcome (order_delivery_id);
CREATE INDEX outcome_reference ON outcome (reference);
CREATE INDEX outcome_ended ON outcome (ended_at);

-- ---- What the ERP knows about its customers ------------------------------------------------

-- Insert, update and delete as you like; the daemon takes the changes over within a second.
CREATE TABLE erp_customer (
  -- The account number as it stands in the shipping address of orders.
  account_no TEXT NOT NULL PRIMARY KEY CHECK (length(account_no) BETWEEN 1 AND 100),
  -- Decimal numbers in `currency`; null: not known.
  credit_limit REAL,
  balance REAL,
  -- ISO 4217, such as EUR.
  currency TEXT,
  -- Days that the oldest open invoice is overdue; 0: none is.
  overdue_days INTEGER,
  -- 1: deliver nothing.
  blocked INTEGER CHECK (blocked IN (0, 1)),
  -- When the figures were taken, such as 2026-11-21T08:00:00Z.
  as_of TEXT,
  -- A JSON object with further fields, for rules that use them.
  extra TEXT NOT NULL DEFAULT '{}' CHECK (length(extra) <= 65536)
) STRICT, WITHOUT ROWID;

-- Which customers the daemon has yet to take over.
CREATE TABLE erp_customer_change (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  account_no TEXT NOT NULL UNIQUE
) STRICT;

-- Customers that could not be taken over, and why. Written by the daemon.
CREATE TABLE erp_customer_problem (
  account_no TEXT NOT NULL PRIMARY KEY,
  path TEXT NOT NULL,
  message TEXT NOT NULL,
  found_at TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- A change always gets a new number: one that comes while the last is taken over is not lost.
CREATE TRIGGER erp_customer_inserted AFTER INSERT ON erp_customer
BEGIN
  DELETE FROM erp_customer_change WHERE account_no = NEW.account_no;
  INSERT INTO erp_customer_change (account_no) VALUES (NEW.account_no);
END;
CREATE TRIGGER erp_customer_updated AFTER UPDATE ON erp_customer
BEGIN
  DELETE FROM erp_customer_change WHERE account_no IN (OLD.account_no, NEW.account_no);
  INSERT INTO erp_customer_change (account_no) VALUES (OLD.account_no);
  INSERT INTO erp_customer_change (account_no)
  SELECT NEW.account_no WHERE NEW.account_no <> OLD.account_no;
END;
CREATE TRIGGER erp_customer_deleted AFTER DELETE ON erp_customer
BEGIN
  DELETE FROM erp_customer_change WHERE account_no = OLD.account_no;
  INSERT INTO erp_customer_change (account_no) VALUES (OLD.account_no);
END;
