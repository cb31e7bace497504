CREATE TABLE schema_migration (
    version INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    checksum TEXT NOT NULL,
    applied_at INTEGER NOT NULL
  ) STRICT
;
CREATE TABLE daemon_state (
  key TEXT PRIMARY KEY,
  value TEXT NOT NULL,
  updated_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE lease (
  name TEXT PRIMARY KEY,
  holder TEXT NOT NULL,
  fencing INTEGER NOT NULL,
  acquired_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE brand (
  brand_name TEXT PRIMARY KEY,
  extra TEXT NOT NULL,
  content_hash TEXT NOT NULL,
  first_seen_at INTEGER NOT NULL,
  changed_at INTEGER NOT NULL,
  deleted_at INTEGER,
  read_seq INTEGER NOT NULL,
  source TEXT NOT NULL
) STRICT;
CREATE TABLE stock_variant (
  barcode TEXT PRIMARY KEY,
  quantity INTEGER NOT NULL,
  variant_type TEXT,
  season_name TEXT,
  style_no TEXT,
  style_name TEXT,
  brand_name TEXT,
  color_code TEXT,
  color_name TEXT,
  size TEXT,
  currency TEXT,
  price INTEGER,
  wsp_price INTEGER,
  price_original INTEGER,
  b2c_sale_price INTEGER,
  category TEXT,
  gender TEXT,
  b2b_hidden INTEGER,
  color_active INTEGER,
  extra TEXT NOT NULL,
  content_hash TEXT NOT NULL,
  first_seen_at INTEGER NOT NULL,
  changed_at INTEGER NOT NULL,
  deleted_at INTEGER,
  read_seq INTEGER NOT NULL,
  source TEXT NOT NULL
) STRICT;
CREATE INDEX stock_variant_style ON stock_variant (style_no, color_code, size);
CREATE TABLE sales_order (
  order_id INTEGER PRIMARY KEY,
  reference TEXT,
  order_no TEXT,
  status TEXT NOT NULL,
  completed INTEGER NOT NULL,
  comment TEXT,
  created_at INTEGER,
  currency TEXT,
  season_name TEXT,
  country_code TEXT,
  company TEXT,
  account_no TEXT,
  shipping_address TEXT NOT NULL,
  freight_type TEXT,
  freight_amount INTEGER,
  extra TEXT NOT NULL,
  content_hash TEXT NOT NULL,
  first_seen_at INTEGER NOT NULL,
  changed_at INTEGER NOT NULL,
  deleted_at INTEGER,
  read_seq INTEGER NOT NULL,
  source TEXT NOT NULL
, details_read_at INTEGER) STRICT;
CREATE INDEX sales_order_reference ON sales_order (reference);
CREATE INDEX sales_order_open ON sales_order (order_id) WHERE completed = 0;
CREATE TABLE sales_order_line (
  order_id INTEGER NOT NULL,
  line_no INTEGER NOT NULL,
  barcode TEXT NOT NULL,
  quantity INTEGER NOT NULL,
  fulfilled_quantity INTEGER,
  size_quantity INTEGER,
  fulfilled_size_quantity INTEGER,
  price INTEGER,
  season_name TEXT,
  delivery_name TEXT,
  extra TEXT NOT NULL,
  PRIMARY KEY (order_id, line_no)
) STRICT, WITHOUT ROWID;
CREATE INDEX sales_order_line_barcode ON sales_order_line (barcode);
CREATE TABLE delivery (
  order_delivery_id INTEGER PRIMARY KEY,
  delivery_no TEXT,
  order_id INTEGER NOT NULL,
  reference TEXT,
  order_no TEXT,
  status TEXT NOT NULL,
  created_at INTEGER,
  tracking_numbers TEXT NOT NULL,
  tracking_links TEXT NOT NULL,
  extra TEXT NOT NULL,
  content_hash TEXT NOT NULL,
  first_seen_at INTEGER NOT NULL,
  changed_at INTEGER NOT NULL,
  deleted_at INTEGER,
  read_seq INTEGER NOT NULL,
  source TEXT NOT NULL
) STRICT;
CREATE INDEX delivery_order ON delivery (order_id);
CREATE INDEX delivery_status ON delivery (status, order_delivery_id);
CREATE TABLE delivery_line (
  order_delivery_id INTEGER NOT NULL,
  line_no INTEGER NOT NULL,
  barcode TEXT NOT NULL,
  fulfilled_quantity INTEGER NOT NULL,
  fulfilled_size_quantity INTEGER,
  price INTEGER,
  season_name TEXT,
  delivery_name TEXT,
  extra TEXT NOT NULL,
  PRIMARY KEY (order_delivery_id, line_no)
) STRICT, WITHOUT ROWID;
CREATE INDEX delivery_line_barcode ON delivery_line (barcode);
CREATE TABLE change (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  at INTEGER NOT NULL,
  entity TEXT NOT NULL,
  key TEXT NOT NULL,
  op TEXT NOT NULL CHECK (op IN ('insert', 'update', 'delete', 'restore')),
  diff TEXT NOT NULL,
  cause TEXT NOT NULL
) STRICT;
CREATE INDEX change_entity_key ON change (entity, key, seq);
CREATE TABLE sync_run (
  run_id INTEGER PRIMARY KEY AUTOINCREMENT,
  stream TEXT NOT NULL,
  cause TEXT NOT NULL,
  started_at INTEGER NOT NULL,
  ended_at INTEGER,
  read_seq INTEGER NOT NULL,
  -- What the run was asked for; a run with other options does not resume this one.
  options TEXT NOT NULL,
  -- Where to go on after a stop: written in the transaction of the page it follows.
  checkpoint TEXT NOT NULL,
  pages INTEGER NOT NULL DEFAULT 0,
  rows_seen INTEGER NOT NULL DEFAULT 0,
  rows_changed INTEGER NOT NULL DEFAULT 0,
  rows_unchanged INTEGER NOT NULL DEFAULT 0,
  rows_deleted INTEGER NOT NULL DEFAULT 0,
  rows_quarantined INTEGER NOT NULL DEFAULT 0,
  bytes INTEGER NOT NULL DEFAULT 0,
  resumes INTEGER NOT NULL DEFAULT 0,
  outcome TEXT NOT NULL DEFAULT 'running' CHECK (
    outcome IN ('running', 'complete', 'partial', 'skipped', 'suspicious', 'failed')
  ),
  reason TEXT
, rows_held INTEGER NOT NULL DEFAULT 0, released_at INTEGER, retries INTEGER NOT NULL DEFAULT 0, waits INTEGER NOT NULL DEFAULT 0, wait_ms INTEGER NOT NULL DEFAULT 0) STRICT;
CREATE INDEX sync_run_stream ON sync_run (stream, run_id);
CREATE TABLE stream_state (
  stream TEXT PRIMARY KEY,
  due_at INTEGER NOT NULL,
  paused INTEGER NOT NULL DEFAULT 0,
  last_run_id INTEGER,
  -- Moved by complete runs only: the start of the last one.
  complete_at INTEGER,
  complete_rows INTEGER,
  failures INTEGER NOT NULL DEFAULT 0,
  last_error TEXT
, requested TEXT) STRICT, WITHOUT ROWID;
CREATE TABLE quarantine (
  id INTEGER PRIMARY KEY,
  entity TEXT NOT NULL,
  raw TEXT NOT NULL,
  raw_hash TEXT NOT NULL,
  path TEXT NOT NULL,
  reason TEXT NOT NULL,
  source TEXT NOT NULL,
  first_seen_at INTEGER NOT NULL,
  last_seen_at INTEGER NOT NULL,
  times INTEGER NOT NULL DEFAULT 1,
  UNIQUE (entity, raw_hash)
) STRICT;
CREATE TABLE webhook_event (
  event_id TEXT PRIMARY KEY,
  received_at INTEGER NOT NULL,
  -- The relay's own time stamp of the attempt that reached us first.
  sent_at INTEGER NOT NULL,
  type TEXT,
  order_id INTEGER,
  body BLOB NOT NULL,
  secret_name TEXT NOT NULL,
  duplicates INTEGER NOT NULL DEFAULT 0,
  last_duplicate_at INTEGER,
  -- What became of it: 'refresh' (an order is read again) or 'stored' (nothing to read).
  outcome TEXT NOT NULL CHECK (outcome IN ('refresh', 'stored'))
) STRICT;
CREATE INDEX webhook_event_received ON webhook_event (received_at);
CREATE INDEX webhook_event_order ON webhook_event (order_id);
CREATE TABLE refresh (
  order_id INTEGER PRIMARY KEY,
  generation INTEGER NOT NULL DEFAULT 1,
  requested_at INTEGER NOT NULL,
  due_at INTEGER NOT NULL,
  attempts INTEGER NOT NULL DEFAULT 0,
  cause TEXT NOT NULL,
  last_error TEXT
, refunds INTEGER NOT NULL DEFAULT 1) STRICT;
CREATE INDEX refresh_due ON refresh (due_at);
CREATE TABLE incident (
  id INTEGER PRIMARY KEY,
  at INTEGER NOT NULL,
  kind TEXT NOT NULL,
  entity TEXT NOT NULL,
  key TEXT NOT NULL,
  detail TEXT NOT NULL,
  resolved_at INTEGER
) STRICT;
CREATE UNIQUE INDEX incident_open ON incident (kind, entity, key) WHERE resolved_at IS NULL;
CREATE TABLE rule_set (
  hash TEXT PRIMARY KEY,
  first_used_at INTEGER NOT NULL,
  files TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE fact_snapshot (
  digest TEXT PRIMARY KEY,
  at INTEGER NOT NULL,
  -- Deflated canonical JSON.
  facts BLOB NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE decision (
  decision_id INTEGER PRIMARY KEY AUTOINCREMENT,
  order_delivery_id INTEGER NOT NULL,
  order_id INTEGER NOT NULL,
  at INTEGER NOT NULL,
  trigger TEXT NOT NULL,
  actor TEXT NOT NULL,
  rule_set_hash TEXT NOT NULL,
  facts_digest TEXT NOT NULL,
  mode TEXT NOT NULL,
  outcome TEXT NOT NULL CHECK (outcome IN ('accept', 'hold', 'reject', 'nothing')),
  reason TEXT NOT NULL,
  rules TEXT NOT NULL,
  shadow TEXT NOT NULL,
  -- Every rule with its clauses and operand values, as explained to people.
  evaluation TEXT NOT NULL,
  previous_hash TEXT NOT NULL,
  hash TEXT NOT NULL UNIQUE
) STRICT;
CREATE INDEX decision_delivery ON decision (order_delivery_id, decision_id);
CREATE TRIGGER decision_is_final BEFORE UPDATE ON decision
BEGIN
  SELECT RAISE(ABORT, 'decisions are append-only');
END;
CREATE TRIGGER decision_stays BEFORE DELETE ON decision
BEGIN
  SELECT RAISE(ABORT, 'decisions are append-only');
END;
CREATE TABLE evaluation (
  order_delivery_id INTEGER PRIMARY KEY,
  decision_id INTEGER NOT NULL,
  delivery_hash TEXT NOT NULL,
  order_hash TEXT NOT NULL,
  -- Mode and hash of the rule set: another mode is another decision.
  rules_key TEXT NOT NULL,
  -- The facts without the clock.
  facts_digest TEXT NOT NULL,
  evaluated_at INTEGER NOT NULL,
  due_at INTEGER
) STRICT;
CREATE INDEX evaluation_due ON evaluation (due_at) WHERE due_at IS NOT NULL;
CREATE TABLE outbox (
  outbox_id INTEGER PRIMARY KEY AUTOINCREMENT,
  kind TEXT NOT NULL,
  -- Rows of one lane go out one after the other, in order.
  lane TEXT NOT NULL,
  reference TEXT NOT NULL,
  body TEXT NOT NULL,
  body_hash TEXT NOT NULL,
  state TEXT NOT NULL DEFAULT 'queued' CHECK (
    state IN ('queued', 'sending', 'sent', 'confirmed', 'refused', 'in_doubt', 'dead', 'canceled')
  ),
  -- The status the service must show for this push still to make sense (compare before write).
  expected_from TEXT,
  due_at INTEGER NOT NULL,
  attempts INTEGER NOT NULL DEFAULT 0,
  in_doubt_since INTEGER,
  created_at INTEGER NOT NULL,
  ended_at INTEGER,
  cause TEXT NOT NULL,
  result TEXT,
  last_error TEXT, reference_key TEXT, problems TEXT NOT NULL DEFAULT '[]', desk_reason TEXT, order_id INTEGER,
  UNIQUE (kind, reference)
) STRICT;
CREATE INDEX outbox_work ON outbox (due_at) WHERE ended_at IS NULL;
CREATE INDEX outbox_lane ON outbox (lane, outbox_id) WHERE ended_at IS NULL;
CREATE TABLE outbox_transition (
  from_state TEXT NOT NULL,
  to_state TEXT NOT NULL,
  PRIMARY KEY (from_state, to_state)
) STRICT, WITHOUT ROWID;
CREATE TRIGGER outbox_moves_along BEFORE UPDATE OF state ON outbox
WHEN NEW.state <> OLD.state AND NOT EXISTS (
  SELECT 1 FROM outbox_transition WHERE from_state = OLD.state AND to_state = NEW.state
)
BEGIN
  SELECT RAISE(ABORT, 'outbox: no such transition');
END;
CREATE TABLE outbox_attempt (
  outbox_id INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  started_at INTEGER NOT NULL,
  -- The highest order id we knew before sending: a look-up down to it is complete.
  max_order_id_before INTEGER,
  ended_at INTEGER,
  class TEXT,
  http_status INTEGER,
  error_code TEXT,
  answer TEXT, count_before INTEGER,
  PRIMARY KEY (outbox_id, attempt)
) STRICT, WITHOUT ROWID;
CREATE TABLE outbox_evidence (
  id INTEGER PRIMARY KEY,
  outbox_id INTEGER NOT NULL,
  at INTEGER NOT NULL,
  source TEXT NOT NULL,
  found TEXT NOT NULL CHECK (found IN ('yes', 'no', 'unclear')),
  detail TEXT NOT NULL
, complete INTEGER NOT NULL DEFAULT 1) STRICT;
CREATE INDEX outbox_evidence_outbox ON outbox_evidence (outbox_id);
CREATE TABLE audit (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  at INTEGER NOT NULL,
  actor TEXT NOT NULL,
  action TEXT NOT NULL,
  subject TEXT NOT NULL,
  reason TEXT NOT NULL,
  detail TEXT NOT NULL
) STRICT;
CREATE TABLE freight_option (
  freight_type TEXT PRIMARY KEY,
  extra TEXT NOT NULL,
  content_hash TEXT NOT NULL,
  first_seen_at INTEGER NOT NULL,
  changed_at INTEGER NOT NULL,
  deleted_at INTEGER,
  read_seq INTEGER NOT NULL,
  source TEXT NOT NULL
) STRICT;
CREATE TABLE season (
  season_name TEXT PRIMARY KEY,
  extra TEXT NOT NULL,
  content_hash TEXT NOT NULL,
  first_seen_at INTEGER NOT NULL,
  changed_at INTEGER NOT NULL,
  deleted_at INTEGER,
  read_seq INTEGER NOT NULL,
  source TEXT NOT NULL
) STRICT;
CREATE TABLE season_delivery (
  season_name TEXT NOT NULL,
  line_no INTEGER NOT NULL,
  delivery_name TEXT NOT NULL,
  PRIMARY KEY (season_name, line_no)
) STRICT, WITHOUT ROWID;
CREATE TABLE season_variant (
  season_barcode TEXT PRIMARY KEY,
  season_name TEXT NOT NULL,
  barcode TEXT NOT NULL,
  quantity INTEGER NOT NULL,
  variant_type TEXT,
  style_no TEXT,
  style_name TEXT,
  brand_name TEXT,
  color_code TEXT,
  color_name TEXT,
  size TEXT,
  currency TEXT,
  price INTEGER,
  wsp_price INTEGER,
  price_original INTEGER,
  b2c_sale_price INTEGER,
  category TEXT,
  gender TEXT,
  b2b_hidden INTEGER,
  color_active INTEGER,
  extra TEXT NOT NULL,
  content_hash TEXT NOT NULL,
  first_seen_at INTEGER NOT NULL,
  changed_at INTEGER NOT NULL,
  deleted_at INTEGER,
  read_seq INTEGER NOT NULL,
  source TEXT NOT NULL
) STRICT;
CREATE INDEX season_variant_barcode ON season_variant (barcode);
CREATE INDEX season_variant_style ON season_variant (style_no, color_code, size);
CREATE TABLE style (
  style_id TEXT PRIMARY KEY,
  style_no TEXT,
  style_name TEXT,
  description TEXT,
  designer TEXT,
  active INTEGER,
  updated_at INTEGER,
  brand_id TEXT,
  type_id TEXT,
  gender_id TEXT,
  country_id TEXT,
  -- A JSON array of ids.
  style_color_ids TEXT NOT NULL,
  extra TEXT NOT NULL,
  content_hash TEXT NOT NULL,
  first_seen_at INTEGER NOT NULL,
  changed_at INTEGER NOT NULL,
  deleted_at INTEGER,
  read_seq INTEGER NOT NULL,
  source TEXT NOT NULL
) STRICT;
CREATE INDEX style_style_no ON style (style_no);
CREATE TABLE style_color (
  style_color_id TEXT PRIMARY KEY,
  active INTEGER,
  noos_type TEXT,
  color_id TEXT,
  extra TEXT NOT NULL,
  content_hash TEXT NOT NULL,
  first_seen_at INTEGER NOT NULL,
  changed_at INTEGER NOT NULL,
  deleted_at INTEGER,
  read_seq INTEGER NOT NULL,
  source TEXT NOT NULL
) STRICT;
CREATE TABLE color (
  color_id TEXT PRIMARY KEY,
  name TEXT,
  code TEXT,
  active INTEGER,
  extra TEXT NOT NULL,
  content_hash TEXT NOT NULL,
  first_seen_at INTEGER NOT NULL,
  changed_at INTEGER NOT NULL,
  deleted_at INTEGER,
  read_seq INTEGER NOT NULL,
  source TEXT NOT NULL
) STRICT;
CREATE TABLE pdm_brand (
  brand_id TEXT PRIMARY KEY,
  name TEXT,
  extra TEXT NOT NULL,
  content_hash TEXT NOT NULL,
  first_seen_at INTEGER NOT NULL,
  changed_at INTEGER NOT NULL,
  deleted_at INTEGER,
  read_seq INTEGER NOT NULL,
  source TEXT NOT NULL
) STRICT;
CREATE TABLE style_type (
  type_id TEXT PRIMARY KEY,
  name TEXT,
  extra TEXT NOT NULL,
  content_hash TEXT NOT NULL,
  first_seen_at INTEGER NOT NULL,
  changed_at INTEGER NOT NULL,
  deleted_at INTEGER,
  read_seq INTEGER NOT NULL,
  source TEXT NOT NULL
) STRICT;
CREATE TABLE gender (
  gender_id TEXT PRIMARY KEY,
  name TEXT,
  extra TEXT NOT NULL,
  content_hash TEXT NOT NULL,
  first_seen_at INTEGER NOT NULL,
  changed_at INTEGER NOT NULL,
  deleted_at INTEGER,
  read_seq INTEGER NOT NULL,
  source TEXT NOT NULL
) STRICT;
CREATE TABLE country (
  country_id TEXT PRIMARY KEY,
  name TEXT,
  code TEXT,
  extra TEXT NOT NULL,
  content_hash TEXT NOT NULL,
  first_seen_at INTEGER NOT NULL,
  changed_at INTEGER NOT NULL,
  deleted_at INTEGER,
  read_seq INTEGER NOT NULL,
  source TEXT NOT NULL
) STRICT;
CREATE TABLE refund (
  order_refund_id INTEGER PRIMARY KEY,
  refund_no TEXT,
  order_id INTEGER NOT NULL,
  reference TEXT,
  order_no TEXT,
  status TEXT NOT NULL,
  pending_refund_id INTEGER,
  created_at INTEGER,
  extra TEXT NOT NULL,
  content_hash TEXT NOT NULL,
  first_seen_at INTEGER NOT NULL,
  changed_at INTEGER NOT NULL,
  deleted_at INTEGER,
  read_seq INTEGER NOT NULL,
  source TEXT NOT NULL
) STRICT;
CREATE INDEX refund_order ON refund (order_id);
CREATE TABLE refund_line (
  order_refund_id INTEGER NOT NULL,
  line_no INTEGER NOT NULL,
  barcode TEXT NOT NULL,
  refunded_quantity INTEGER NOT NULL,
  refunded_size_quantity INTEGER,
  price INTEGER,
  restock INTEGER,
  refund_type TEXT,
  extra TEXT NOT NULL,
  PRIMARY KEY (order_refund_id, line_no)
) STRICT, WITHOUT ROWID;
CREATE TABLE pending_refund (
  pending_refund_id INTEGER PRIMARY KEY,
  order_id INTEGER NOT NULL,
  reference TEXT,
  status TEXT NOT NULL,
  comment TEXT,
  created_at INTEGER,
  extra TEXT NOT NULL,
  content_hash TEXT NOT NULL,
  first_seen_at INTEGER NOT NULL,
  changed_at INTEGER NOT NULL,
  deleted_at INTEGER,
  read_seq INTEGER NOT NULL,
  source TEXT NOT NULL
) STRICT;
CREATE INDEX pending_refund_order ON pending_refund (order_id);
CREATE TABLE pending_refund_line (
  pending_refund_id INTEGER NOT NULL,
  line_no INTEGER NOT NULL,
  barcode TEXT NOT NULL,
  quantity INTEGER NOT NULL,
  price INTEGER,
  restock INTEGER,
  refund_type TEXT,
  extra TEXT NOT NULL,
  PRIMARY KEY (pending_refund_id, line_no)
) STRICT, WITHOUT ROWID;
CREATE TABLE segment (
  stream TEXT NOT NULL,
  -- '' for a list in one piece, else the part (a season).
  part TEXT NOT NULL,
  first_row INTEGER NOT NULL,
  row_count INTEGER NOT NULL,
  -- Null: the rows must be compared again, whatever comes.
  digest BLOB,
  -- A JSON array.
  keys TEXT NOT NULL,
  PRIMARY KEY (stream, part, first_row)
) STRICT, WITHOUT ROWID;
CREATE TABLE absence (
  stream TEXT NOT NULL,
  -- As text.
  key TEXT NOT NULL,
  run_id INTEGER NOT NULL,
  PRIMARY KEY (stream, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX stock_variant_deleted ON stock_variant (deleted_at) WHERE deleted_at IS NOT NULL;
CREATE INDEX season_variant_deleted ON season_variant (deleted_at) WHERE deleted_at IS NOT NULL;
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
CREATE TABLE match_seen (
  rule_hash TEXT NOT NULL,
  decision_id INTEGER NOT NULL,
  order_delivery_id INTEGER NOT NULL,
  at INTEGER NOT NULL,
  actor TEXT NOT NULL,
  PRIMARY KEY (rule_hash, decision_id)
) STRICT, WITHOUT ROWID;
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
CREATE TABLE erp_customer (
  account_no TEXT PRIMARY KEY,
  credit_limit INTEGER,
  -- What the customer owes, without deliveries that are not accepted yet.
  balance INTEGER,
  currency TEXT,
  overdue_days INTEGER,
  blocked INTEGER,
  as_of INTEGER,
  -- More fields of the ERP, a JSON object.
  extra TEXT NOT NULL,
  content_hash TEXT NOT NULL,
  first_seen_at INTEGER NOT NULL,
  -- When the import last brought something new.
  changed_at INTEGER NOT NULL,
  deleted_at INTEGER,
  read_seq INTEGER NOT NULL,
  source TEXT NOT NULL
) STRICT;
CREATE INDEX sales_order_account ON sales_order (account_no);
CREATE UNIQUE INDEX outbox_reference_key ON outbox (kind, reference_key)
WHERE reference_key IS NOT NULL;
CREATE INDEX outbox_order ON outbox (order_id) WHERE order_id IS NOT NULL;
CREATE INDEX outbox_ended ON outbox (kind, state, ended_at);
CREATE TABLE sighting (
  -- The entry of the change feed.
  change_seq INTEGER PRIMARY KEY,
  at INTEGER NOT NULL,
  order_id INTEGER NOT NULL,
  -- The type of the event that should have told us.
  type TEXT NOT NULL,
  seen_by TEXT NOT NULL CHECK (seen_by IN ('event', 'sweep')),
  -- From the change to the mirror; where its time is not known, at the most.
  late_ms INTEGER NOT NULL,
  event_id TEXT,
  -- 'late': the event came after the sweep. Null: it may still come.
  verdict TEXT CHECK (verdict IN ('announced', 'late', 'lost', 'excused'))
) STRICT;
CREATE INDEX sighting_at ON sighting (at);
CREATE INDEX sighting_open ON sighting (change_seq) WHERE verdict IS NULL;
CREATE INDEX sighting_event ON sighting (event_id) WHERE event_id IS NOT NULL;
