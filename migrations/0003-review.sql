-- What people decide themselves, and the rails of rejects. Times are epoch milliseconds (UTC).

-- The last word of a person about a delivery. While its lines are as they were then, the rules
-- leave the delivery alone.
CREATE TABLE review (
  order_delivery_id INTEGER PRIMARY KEY,
  action TEXT NOT NULL CHECK (action IN ('accept', 'reject', 'hold', 'release')),
  at INTEGER NOT NULL,
  actor TEXT NOT NULL,
  reason TEXT NOT NULL,
  -- From the short list of reasons, where the action asks for one.
  why TEXT,
  -- Digest of barcodes, quantities and prices.
  lines_hash TEXT NOT NULL,
  decision_id INTEGER NOT NULL
) STRICT;

-- Backtests that somebody kept: the ground on which a reject rule is armed.
CREATE TABLE backtest_report (
  report_id INTEGER PRIMARY KEY AUTOINCREMENT,
  at INTEGER NOT NULL,
  actor TEXT NOT NULL,
  rule_set_hash TEXT NOT NULL,
  since INTEGER NOT NULL,
  until INTEGER NOT NULL,
  deliveries INTEGER NOT NULL,
  -- JSON: the hash of each rule on trial, by its id.
  rules TEXT NOT NULL,
  report TEXT NOT NULL
) STRICT;

-- Deliveries that a rule would have rejected, and who has looked at them.
CREATE TABLE match_seen (
  rule_hash TEXT NOT NULL,
  decision_id INTEGER NOT NULL,
  order_delivery_id INTEGER NOT NULL,
  at INTEGER NOT NULL,
  actor TEXT NOT NULL,
  PRIMARY KEY (rule_hash, decision_id)
) STRICT, WITHOUT ROWID;

-- A reject rule acts only in exactly the text (and with the lists and tables) that it was armed in.
CREATE TABLE arming (
  arming_id INTEGER PRIMARY KEY AUTOINCREMENT,
  rule_id TEXT NOT NULL,
  rule_hash TEXT NOT NULL,
  at INTEGER NOT NULL,
  actor TEXT NOT NULL,
  reason TEXT NOT NULL,
  report_id INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  ended_at INTEGER,
  ended_by TEXT,
  end_reason TEXT
) STRICT;
CREATE UNIQUE INDEX arming_open ON arming (rule_id) WHERE ended_at IS NULL;

-- Rejects from the decision to their end. One that waits can be stopped by anybody.
CREATE TABLE reject_entry (
  entry_id INTEGER PRIMARY KEY AUTOINCREMENT,
  order_delivery_id INTEGER NOT NULL,
  order_id INTEGER NOT NULL,
  rule_id TEXT NOT NULL,
  rule_hash TEXT NOT NULL,
  -- Content of the delivery when the wait began; another content is another reject.
  delivery_hash TEXT NOT NULL,
  decision_id INTEGER NOT NULL,
  queued_at INTEGER NOT NULL,
  -- When it is looked at next: the end of the grace, or later where a rail puts it off.
  due_at INTEGER NOT NULL,
  state TEXT NOT NULL CHECK (
    state IN ('waiting', 'pushing', 'rejected', 'stopped', 'held', 'withdrawn', 'failed')
  ),
  -- The rail that is or was in its way, and what it says.
  rail TEXT,
  detail TEXT,
  -- Known from the moment the push is meant: what the caps count.
  intent_at INTEGER,
  intent_decision_id INTEGER,
  account_no TEXT,
  -- In hundredths.
  amount INTEGER,
  currency TEXT,
  ended_at INTEGER,
  ended_by TEXT
) STRICT;
CREATE UNIQUE INDEX reject_entry_open ON reject_entry (order_delivery_id) WHERE ended_at IS NULL;
CREATE INDEX reject_entry_delivery ON reject_entry (order_delivery_id, entry_id);
CREATE INDEX reject_entry_intent ON reject_entry (intent_at) WHERE intent_at IS NOT NULL;
