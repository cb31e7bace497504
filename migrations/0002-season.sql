-- Of 0.2.0, not released yet: what a season and years need. Cheap on a large database.

-- When the ERP last wrote one of its customers: accepts wait for a list that it renews no more.
INSERT OR IGNORE INTO daemon_state (key, value, updated_at)
SELECT 'customers_renewed', max(changed_at), max(changed_at) FROM erp_customer
HAVING max(changed_at) IS NOT NULL;

-- ---- Statements that never look at the past ----------------------------------------------------
-- What is asked of each decision, event, tick and page is found by an index over what is open or
-- new, however much lies behind it. The partial ones are as small as what they are about.

-- Deliveries evaluated today, of which the safeguards of accepts and rejects allow a share.
CREATE INDEX evaluation_at ON evaluation (evaluated_at);
-- Decisions that a reject rule matched, among all.
CREATE INDEX decision_matched ON decision (decision_id) WHERE matched <> '[]';
-- Rejects by their end, of which safeguards ask for those since the last reset.
CREATE INDEX reject_entry_ended ON reject_entry (ended_at) WHERE ended_at IS NOT NULL;
-- Runs under way, and the last complete one of a stream, among those of months.
CREATE INDEX sync_run_running ON sync_run (stream, run_id) WHERE outcome = 'running';
CREATE INDEX sync_run_complete ON sync_run (stream, run_id) WHERE outcome = 'complete';
-- Runs whose changes wait for a person, however few rows they changed: lists may be short.
DROP INDEX sync_run_drastic;
CREATE INDEX sync_run_changed ON sync_run (stream, run_id) WHERE change_guard = 'open';
-- Ended incidents that are old enough to be deleted, which are looked for every minute.
CREATE INDEX incident_ended ON incident (resolved_at) WHERE resolved_at IS NOT NULL;
-- Pushes of one kind, those that a person must look at, and those that ended without success, the
-- latest first: what lists show.
CREATE INDEX outbox_kind ON outbox (kind, outbox_id);
CREATE INDEX outbox_blocked ON outbox (outbox_id) WHERE blocked_reason IS NOT NULL;
CREATE INDEX outbox_failed ON outbox (outbox_id) WHERE state IN ('refused', 'dead', 'canceled');
-- Reads of orders in the order in which they are done: events before sweeps, new before failed.
CREATE INDEX refresh_next ON refresh (
  (cause LIKE 'sweep%'), (attempts > 0), requested_at, order_id);
-- The latest sets of rules, whose texts are long.
CREATE INDEX rule_set_used ON rule_set (first_used_at);
-- Deliveries of which a push failed.
CREATE INDEX outbox_refused ON outbox (order_delivery_id)
WHERE state IN ('refused', 'dead') AND order_delivery_id IS NOT NULL;
-- Documents about the refunds of one order.
CREATE INDEX outbox_refunds ON outbox (ordering_key) WHERE kind = 'pending_refund';
-- Deliveries are named by their number, too.
CREATE INDEX delivery_number ON delivery (delivery_no) WHERE delivery_no IS NOT NULL;

-- The first order of a customer that is not canceled.
CREATE INDEX sales_order_first ON sales_order (account_no, coalesce(created_at, first_seen_at))
WHERE deleted_at IS NULL AND status <> 'canceled';

-- Deliveries that are open: those that are pending, and those that were accepted lately. They are few
-- among all that an article or a customer ever had, whose pieces and credit they may claim.
CREATE TABLE claim (
  order_delivery_id INTEGER PRIMARY KEY,
  order_id INTEGER NOT NULL,
  -- Of an accepted one, when it last changed: its claim is over weeks later. Null: it is pending.
  changed_at INTEGER,
  -- The others are of pending ones only. When it is decided again at the latest; -1: at once, for it
  -- is new; 0: at once, for it, its order or its push has changed; null: it is left to people.
  due_at INTEGER,
  -- Its latest decision, and the outcome; 'undecided': there is none.
  decision_id INTEGER,
  outcome TEXT,
  first_seen_at INTEGER,
  packed_at INTEGER,
  -- 1: it waits for a person, for no rule and no push will move it.
  waits INTEGER NOT NULL DEFAULT 0
) STRICT;
-- Decisions after which a delivery that is pending still waits for a person: all but accepts and
-- rejects, which are sent or wait for their time; while the rules only observe, these as well.
CREATE VIEW decision_waits AS
SELECT decision_id, outcome,
  outcome NOT IN ('accept', 'reject') OR (actor = 'daemon' AND mode <> 'live') AS waits
FROM decision;
-- The row of a delivery that is new here or has changed.
CREATE VIEW claim_of AS
SELECT order_delivery_id, order_id, iif(status = 'pending', NULL, changed_at) AS changed_at,
  iif(status = 'pending', iif(e.order_delivery_id IS NULL, -1, 0), NULL) AS due_at,
  iif(status = 'pending', e.decision_id, NULL) AS decision_id,
  iif(status = 'pending', coalesce(
    (SELECT outcome FROM decision n WHERE n.decision_id = e.decision_id), 'undecided'),
    NULL) AS outcome,
  iif(status = 'pending', first_seen_at, NULL) AS first_seen_at,
  iif(status = 'pending', coalesce(created_at, first_seen_at), NULL) AS packed_at,
  iif(status = 'pending', coalesce(
    (SELECT waits FROM decision_waits n WHERE n.decision_id = e.decision_id), 0), 0) AS waits
FROM delivery d LEFT JOIN evaluation e USING (order_delivery_id)
WHERE deleted_at IS NULL AND status IN ('pending', 'accepted');
INSERT INTO claim SELECT * FROM claim_of
WHERE changed_at IS NULL OR changed_at >= (unixepoch() - 45 * 86400) * 1000;
UPDATE claim SET due_at = e.due_at
FROM evaluation e JOIN delivery d ON d.order_delivery_id = e.order_delivery_id
WHERE e.order_delivery_id = claim.order_delivery_id AND claim.changed_at IS NULL
  AND e.rules_key <> '' AND e.delivery_hash = d.content_hash;
-- What was accepted before stands in no row; whoever asks for that reads all there ever was.
INSERT INTO daemon_state (key, value, updated_at)
SELECT 'claims_since', (unixepoch() - 45 * 86400) * 1000, unixepoch() * 1000
WHERE EXISTS (SELECT 1 FROM delivery);
CREATE INDEX claim_order ON claim (order_id);
CREATE INDEX claim_changed ON claim (changed_at) WHERE changed_at IS NOT NULL;
CREATE INDEX claim_due ON claim (due_at, order_delivery_id) WHERE due_at IS NOT NULL;
-- The oldest of each outcome: by when they came here, and by when they were packed.
CREATE INDEX claim_seen ON claim (outcome, first_seen_at) WHERE outcome IS NOT NULL;
CREATE INDEX claim_packed ON claim (outcome, packed_at, order_delivery_id) WHERE outcome IS NOT NULL;
-- Those that wait for a person, the oldest first.
CREATE INDEX claim_waits ON claim (packed_at, order_delivery_id) WHERE waits = 1;
CREATE TRIGGER delivery_claims AFTER INSERT ON delivery
WHEN NEW.status IN ('pending', 'accepted') AND NEW.deleted_at IS NULL
BEGIN
  INSERT INTO claim SELECT * FROM claim_of WHERE order_delivery_id = NEW.order_delivery_id;
END;
CREATE TRIGGER delivery_claims_otherwise
AFTER UPDATE OF order_id, status, created_at, content_hash, first_seen_at, changed_at, deleted_at
ON delivery
BEGIN
  DELETE FROM claim WHERE order_delivery_id = OLD.order_delivery_id;
  INSERT INTO claim SELECT * FROM claim_of WHERE order_delivery_id = NEW.order_delivery_id;
END;
CREATE TRIGGER delivery_claims_no_more AFTER DELETE ON delivery
BEGIN
  DELETE FROM claim WHERE order_delivery_id = OLD.order_delivery_id;
END;
-- A pending delivery is due at once when its order changes, and when its push comes to nothing.
CREATE TRIGGER sales_order_makes_due AFTER UPDATE OF content_hash, deleted_at ON sales_order
WHEN NEW.content_hash <> OLD.content_hash OR (NEW.deleted_at IS NULL) <> (OLD.deleted_at IS NULL)
BEGIN
  UPDATE claim SET due_at = min(ifnull(due_at, 0), 0) WHERE order_id = NEW.order_id AND outcome IS NOT NULL;
END;
CREATE TRIGGER outbox_makes_due AFTER UPDATE OF state, ended_at ON outbox
WHEN NEW.order_delivery_id IS NOT NULL AND NEW.ended_at IS NOT NULL AND NEW.state <> 'confirmed'
BEGIN
  UPDATE claim SET due_at = min(ifnull(due_at, 0), 0)
  WHERE order_delivery_id = NEW.order_delivery_id AND outcome IS NOT NULL;
END;
-- An evaluation says when the next one is due; whoever only moves that time does not make one that
-- is due at once wait.
CREATE TRIGGER evaluation_makes_due AFTER INSERT ON evaluation
BEGIN
  UPDATE claim SET due_at = iif(NEW.rules_key = '', 0, NEW.due_at), decision_id = NEW.decision_id,
    outcome = coalesce(
      (SELECT outcome FROM decision WHERE decision_id = NEW.decision_id), 'undecided'),
    waits = coalesce(
      (SELECT waits FROM decision_waits WHERE decision_id = NEW.decision_id), 0)
  WHERE order_delivery_id = NEW.order_delivery_id AND outcome IS NOT NULL;
END;
CREATE TRIGGER evaluation_makes_due_again AFTER UPDATE OF evaluated_at ON evaluation
BEGIN
  UPDATE claim SET due_at = iif(NEW.rules_key = '', 0, NEW.due_at)
  WHERE order_delivery_id = NEW.order_delivery_id AND outcome IS NOT NULL;
END;
CREATE TRIGGER evaluation_makes_due_otherwise AFTER UPDATE OF due_at, rules_key ON evaluation
BEGIN
  UPDATE claim SET due_at = iif(NEW.rules_key = '', 0, NEW.due_at)
  WHERE order_delivery_id = NEW.order_delivery_id AND outcome IS NOT NULL
    AND ifnull(due_at, 1) > 0;
END;
CREATE TRIGGER evaluation_has_outcome AFTER UPDATE OF decision_id ON evaluation
WHEN NEW.decision_id <> OLD.decision_id
BEGIN
  UPDATE claim SET decision_id = NEW.decision_id,
    outcome = coalesce(
      (SELECT outcome FROM decision WHERE decision_id = NEW.decision_id), 'undecided'),
    waits = coalesce(
      (SELECT waits FROM decision_waits WHERE decision_id = NEW.decision_id), 0)
  WHERE order_delivery_id = NEW.order_delivery_id AND outcome IS NOT NULL;
END;

-- How many rows of each kind there are, of tables that nobody counts any more: `entity` is the table,
-- or pending deliveries (`waiting`: those that wait for a person); `name` a status or a state, the
-- outcome of the latest decision, or a rule that decided it (`held`) or holds it (`hold`).
CREATE TABLE tally (
  entity TEXT NOT NULL CHECK (entity IN (
    'delivery', 'pending', 'waiting', 'held', 'hold', 'outbox', 'webhook_event')),
  name TEXT NOT NULL,
  rows INTEGER NOT NULL,
  -- Of what is held, when the rule last decided so.
  latest_at INTEGER,
  PRIMARY KEY (entity, name)
) STRICT, WITHOUT ROWID;
INSERT INTO tally (entity, name, rows)
SELECT 'delivery', status, count(*) FROM delivery WHERE deleted_at IS NULL GROUP BY status
UNION ALL SELECT 'outbox', state, count(*) FROM outbox GROUP BY state
UNION ALL SELECT 'pending', outcome, count(*) FROM claim WHERE outcome IS NOT NULL GROUP BY outcome
UNION ALL SELECT 'waiting', outcome, count(*) FROM claim WHERE waits = 1 GROUP BY outcome
UNION ALL SELECT 'hold', rule_id, count(*) FROM hold GROUP BY rule_id
UNION ALL SELECT 'webhook_event', '', count(*) FROM webhook_event;
INSERT INTO tally (entity, name, rows, latest_at)
SELECT 'held', r.value, count(*), max(n.at)
FROM claim c JOIN decision n ON n.decision_id = c.decision_id, json_each(n.rules) r
WHERE c.outcome = 'hold' GROUP BY r.value;
CREATE TRIGGER pending_tallied AFTER INSERT ON claim WHEN NEW.outcome IS NOT NULL
BEGIN
  INSERT INTO tally (entity, name, rows) VALUES ('pending', NEW.outcome, 1)
  ON CONFLICT DO UPDATE SET rows = rows + 1;
END;
CREATE TRIGGER pending_tallied_otherwise AFTER UPDATE OF outcome ON claim
WHEN NEW.outcome <> OLD.outcome
BEGIN
  UPDATE tally SET rows = rows - 1 WHERE entity = 'pending' AND name = OLD.outcome;
  INSERT INTO tally (entity, name, rows) VALUES ('pending', NEW.outcome, 1)
  ON CONFLICT DO UPDATE SET rows = rows + 1;
END;
CREATE TRIGGER pending_tallied_no_more AFTER DELETE ON claim WHEN OLD.outcome IS NOT NULL
BEGIN
  UPDATE tally SET rows = rows - 1 WHERE entity = 'pending' AND name = OLD.outcome;
END;
CREATE TRIGGER waiting_tallied AFTER INSERT ON claim WHEN NEW.waits = 1
BEGIN
  INSERT INTO tally (entity, name, rows) VALUES ('waiting', NEW.outcome, 1)
  ON CONFLICT DO UPDATE SET rows = rows + 1;
END;
CREATE TRIGGER waiting_tallied_otherwise AFTER UPDATE OF outcome, waits ON claim
WHEN NEW.waits <> OLD.waits OR NEW.outcome <> OLD.outcome
BEGIN
  UPDATE tally SET rows = rows - 1
  WHERE entity = 'waiting' AND name = OLD.outcome AND OLD.waits = 1;
  INSERT INTO tally (entity, name, rows) SELECT 'waiting', NEW.outcome, 1 WHERE NEW.waits = 1
  ON CONFLICT DO UPDATE SET rows = rows + 1;
END;
CREATE TRIGGER waiting_tallied_no_more AFTER DELETE ON claim WHEN OLD.waits = 1
BEGIN
  UPDATE tally SET rows = rows - 1 WHERE entity = 'waiting' AND name = OLD.outcome;
END;
CREATE TRIGGER held_tallied AFTER INSERT ON claim WHEN NEW.outcome = 'hold'
BEGIN
  INSERT INTO tally (entity, name, rows, latest_at)
  SELECT 'held', r.value, 1, n.at FROM decision n, json_each(n.rules) r
  WHERE n.decision_id = NEW.decision_id
  ON CONFLICT DO UPDATE SET rows = rows + 1,
    latest_at = max(ifnull(latest_at, 0), excluded.latest_at);
END;
CREATE TRIGGER held_tallied_otherwise AFTER UPDATE OF outcome, decision_id ON claim
WHEN NEW.decision_id IS NOT OLD.decision_id
BEGIN
  UPDATE tally SET rows = rows - 1 WHERE entity = 'held' AND OLD.outcome = 'hold' AND name IN (
    SELECT r.value FROM decision n, json_each(n.rules) r WHERE n.decision_id = OLD.decision_id);
  INSERT INTO tally (entity, name, rows, latest_at)
  SELECT 'held', r.value, 1, n.at FROM decision n, json_each(n.rules) r
  WHERE n.decision_id = NEW.decision_id AND NEW.outcome = 'hold'
  ON CONFLICT DO UPDATE SET rows = rows + 1,
    latest_at = max(ifnull(latest_at, 0), excluded.latest_at);
END;
CREATE TRIGGER held_tallied_no_more AFTER DELETE ON claim WHEN OLD.outcome = 'hold'
BEGIN
  UPDATE tally SET rows = rows - 1 WHERE entity = 'held' AND name IN (
    SELECT r.value FROM decision n, json_each(n.rules) r WHERE n.decision_id = OLD.decision_id);
END;
CREATE TRIGGER hold_tallied AFTER INSERT ON hold
BEGIN
  INSERT INTO tally (entity, name, rows) VALUES ('hold', NEW.rule_id, 1)
  ON CONFLICT DO UPDATE SET rows = rows + 1;
END;
CREATE TRIGGER hold_tallied_no_more AFTER DELETE ON hold
BEGIN
  UPDATE tally SET rows = rows - 1 WHERE entity = 'hold' AND name = OLD.rule_id;
END;
-- The oldest hold of each rule.
CREATE INDEX hold_since ON hold (rule_id, since);
CREATE TRIGGER delivery_tallied AFTER INSERT ON delivery WHEN NEW.deleted_at IS NULL
BEGIN
  INSERT INTO tally (entity, name, rows) VALUES ('delivery', NEW.status, 1)
  ON CONFLICT DO UPDATE SET rows = rows + 1;
END;
CREATE TRIGGER delivery_tallied_otherwise AFTER UPDATE OF status, deleted_at ON delivery
WHEN NEW.status <> OLD.status OR (NEW.deleted_at IS NULL) <> (OLD.deleted_at IS NULL)
BEGIN
  UPDATE tally SET rows = rows - 1
  WHERE entity = 'delivery' AND name = OLD.status AND OLD.deleted_at IS NULL;
  INSERT INTO tally (entity, name, rows)
  SELECT 'delivery', NEW.status, 1 WHERE NEW.deleted_at IS NULL
  ON CONFLICT DO UPDATE SET rows = rows + 1;
END;
CREATE TRIGGER delivery_tallied_no_more AFTER DELETE ON delivery WHEN OLD.deleted_at IS NULL
BEGIN
  UPDATE tally SET rows = rows - 1 WHERE entity = 'delivery' AND name = OLD.status;
END;
CREATE TRIGGER outbox_tallied AFTER INSERT ON outbox
BEGIN
  INSERT INTO tally (entity, name, rows) VALUES ('outbox', NEW.state, 1)
  ON CONFLICT DO UPDATE SET rows = rows + 1;
END;
CREATE TRIGGER outbox_tallied_otherwise AFTER UPDATE OF state ON outbox
WHEN NEW.state <> OLD.state
BEGIN
  UPDATE tally SET rows = rows - 1 WHERE entity = 'outbox' AND name = OLD.state;
  INSERT INTO tally (entity, name, rows) VALUES ('outbox', NEW.state, 1)
  ON CONFLICT DO UPDATE SET rows = rows + 1;
END;
CREATE TRIGGER outbox_tallied_no_more AFTER DELETE ON outbox
BEGIN
  UPDATE tally SET rows = rows - 1 WHERE entity = 'outbox' AND name = OLD.state;
END;
CREATE TRIGGER webhook_event_tallied AFTER INSERT ON webhook_event
BEGIN
  UPDATE tally SET rows = rows + 1 WHERE entity = 'webhook_event';
END;
CREATE TRIGGER webhook_event_tallied_no_more AFTER DELETE ON webhook_event
BEGIN
  UPDATE tally SET rows = rows - 1 WHERE entity = 'webhook_event';
END;

-- CROSS JOIN keeps SQLite on the deliveries that are asked for: it would read every entry of the
-- feed about any delivery. A sweep does not look at every order: where its look before was longer
-- ago than the sweep before, its cause names it, and the delivery may be as old as that.
DROP VIEW event_coverage;
CREATE VIEW event_coverage AS
SELECT order_delivery_id, order_id, at, created_at, by_event, since,
  by_event OR EXISTS (
    SELECT 1 FROM webhook_event e
    WHERE e.order_id = found.order_id AND e.type = 'sales_order.delivery_created'
      AND e.received_at BETWEEN since - 300000 AND at + 300000
  ) AS announced
FROM (
  SELECT d.order_delivery_id, d.order_id, d.first_seen_at AS at, d.created_at,
    c.cause LIKE 'refresh:event:%' AS by_event,
    iif(c.cause LIKE '%:first', o.first_seen_at, NULL) AS order_seen_at,
    iif(instr(c.cause, ':since:') = 0, p.started_at, min(p.started_at,
      CAST(substr(c.cause, instr(c.cause, ':since:') + 7) AS INTEGER))) AS since,
    p.ended_at AS swept_at
  FROM delivery d
  CROSS JOIN change c ON c.entity = 'delivery' AND c.key = CAST(d.order_delivery_id AS TEXT)
    AND c.op = 'insert'
  LEFT JOIN sales_order o ON o.order_id = d.order_id
  LEFT JOIN sync_run r ON r.run_id =
    CAST(replace(replace(c.cause, 'refresh:sweep:', ''), 'run:', '') AS INTEGER)
  LEFT JOIN sync_run p ON p.run_id = (
    SELECT max(run_id) FROM (
      SELECT * FROM (
        SELECT run_id FROM sync_run WHERE stream = 'orders' AND outcome = 'complete'
          AND run_id < r.run_id AND ended_at <= r.started_at ORDER BY run_id DESC LIMIT 1)
      UNION ALL
      SELECT * FROM (
        SELECT run_id FROM sync_run WHERE stream = 'ordersFull' AND outcome = 'complete'
          AND run_id < r.run_id AND ended_at <= r.started_at ORDER BY run_id DESC LIMIT 1)))
) found
WHERE by_event OR (since IS NOT NULL AND (order_seen_at IS NULL OR order_seen_at > swept_at));

-- Pending refunds that the service has not been seen to make or to call off: few of all there were.
CREATE TABLE refund_awaited (
  outbox_id INTEGER PRIMARY KEY
) STRICT;
INSERT INTO refund_awaited SELECT outbox_id FROM outbox WHERE kind = 'pending_refund';
CREATE TRIGGER outbox_awaits_refund AFTER INSERT ON outbox WHEN NEW.kind = 'pending_refund'
BEGIN
  INSERT OR IGNORE INTO refund_awaited (outbox_id) VALUES (NEW.outbox_id);
END;

-- ---- What waits for a person ---------------------------------------------------------------------
-- Documents of the ERP that were refused, until they are corrected or a person takes note of them.
-- Those of long ago were seen to before this was counted.
CREATE TABLE refused_document (
  outbox_id INTEGER PRIMARY KEY
) STRICT;
INSERT INTO refused_document SELECT outbox_id FROM outbox
WHERE state = 'refused' AND order_delivery_id IS NULL
  AND ended_at >= (unixepoch() - 7 * 86400) * 1000;
CREATE TRIGGER outbox_refuses AFTER INSERT ON outbox
WHEN NEW.state = 'refused' AND NEW.order_delivery_id IS NULL
BEGIN
  INSERT OR IGNORE INTO refused_document (outbox_id) VALUES (NEW.outbox_id);
END;
CREATE TRIGGER outbox_refuses_otherwise AFTER UPDATE OF state ON outbox
WHEN NEW.state <> OLD.state AND 'refused' IN (NEW.state, OLD.state) AND NEW.order_delivery_id IS NULL
BEGIN
  DELETE FROM refused_document WHERE outbox_id = NEW.outbox_id;
  INSERT INTO refused_document (outbox_id) SELECT NEW.outbox_id WHERE NEW.state = 'refused';
END;
CREATE TRIGGER outbox_refuses_no_more AFTER DELETE ON outbox WHEN OLD.state = 'refused'
BEGIN
  DELETE FROM refused_document WHERE outbox_id = OLD.outbox_id;
END;
-- Runs that a person may release, among those of months.
CREATE INDEX sync_run_suspicious ON sync_run (stream, run_id)
WHERE outcome = 'suspicious' AND released_at IS NULL;

-- ---- Rules (decisions/) ------------------------------------------------------------------------

-- Long texts of rule files, each once; rule_set.files names them by their hash.
CREATE TABLE rule_text (
  hash TEXT PRIMARY KEY,
  text TEXT NOT NULL
) STRICT;

-- Deliveries that a person stopped after the backup that was restored: the rules accept and reject
-- none of them until a person decides.
CREATE TABLE restored_stop (
  order_delivery_id INTEGER PRIMARY KEY,
  at INTEGER NOT NULL,
  actor TEXT NOT NULL,
  -- Name of the act in the audit, as in delivery.hold.
  action TEXT NOT NULL
) STRICT;

-- ---- The book of open orders --------------------------------------------------------------------
-- When an open order was last read with all that it has: the order itself, its deliveries, and its
-- refunds as far as it can have any. A look at an active order may read its deliveries only, and
-- then moves details_read_at alone. Null: never.
ALTER TABLE sales_order ADD COLUMN whole_read_at INTEGER;
-- What a sweep waits for: 0 nothing, 1 a look at the deliveries, 2 a look at the whole order.
ALTER TABLE refresh ADD COLUMN look INTEGER NOT NULL DEFAULT 0;
-- The book of open orders: by number, and by the last look at the whole order.
CREATE INDEX sales_order_book ON sales_order (order_id)
  WHERE completed = 0 AND status <> 'canceled' AND deleted_at IS NULL;
UPDATE sales_order SET whole_read_at = details_read_at
  WHERE completed = 0 AND status <> 'canceled' AND deleted_at IS NULL;
CREATE INDEX sales_order_rotation ON sales_order (coalesce(whole_read_at, first_seen_at))
  WHERE completed = 0 AND status <> 'canceled' AND deleted_at IS NULL;
-- Closed orders that changed since they were read, so that none looks for them among all.
CREATE INDEX sales_order_unlooked ON sales_order (order_id)
  WHERE (completed = 1 OR status = 'canceled') AND deleted_at IS NULL
    AND changed_at > coalesce(details_read_at, -1);
-- And all closed ones by their last look, so that the oldest of them are found.
CREATE INDEX sales_order_closed ON sales_order (details_read_at)
  WHERE (completed = 1 OR status = 'canceled') AND deleted_at IS NULL;

-- ---- Forgetting an order -----------------------------------------------------------------------
-- Its decisions, and the pushes that name it in their bodies, are found without the others.
CREATE INDEX decision_order ON decision (order_id);
CREATE INDEX outbox_named_order ON outbox (body ->> '$.orderId') WHERE kind <> 'order';
CREATE INDEX outbox_named_reference ON outbox (lower(body ->> '$.orderReference'))
WHERE kind = 'pending_refund';

-- ---- Settings that have another name now --------------------------------------------------------
-- An open incident is ended by the name of its setting.
UPDATE incident SET key = 'service.dialect.v1.level'
WHERE kind = 'level_too_high' AND resolved_at IS NULL;

-- The refund that the service made of a pending one belongs into the receipt of a file, too.
CREATE TRIGGER refund_tells_file AFTER INSERT ON refund
WHEN NEW.pending_refund_id IS NOT NULL
BEGIN
  UPDATE intake_file SET receipt_due = receipt_due + 1 WHERE file_id IN (
    SELECT file_id FROM intake_file_document WHERE outbox_id IN (
      SELECT outbox_id FROM outbox WHERE kind = 'pending_refund' AND order_id = NEW.order_id
    )
  );
END;

-- Inode, size and time of a file as it was read, so that one that goes on growing is noticed.
ALTER TABLE intake_file ADD COLUMN mark TEXT;

-- ---- Days where the house is --------------------------------------------------------------------
-- By how much the zone of the house is ahead of UTC, from a moment on (seconds since 1970): for
-- plain SQL, which knows no zones. The daemon fills it; until then it is UTC.
CREATE TABLE zone_offset (
  since INTEGER PRIMARY KEY,
  until INTEGER NOT NULL,
  minutes INTEGER NOT NULL,
  -- The same as SQLite's date functions take it, such as '+120 minutes'.
  modifier TEXT NOT NULL
) STRICT;
INSERT INTO zone_offset (since, until, minutes, modifier)
VALUES (-8640000000000, 8640000000000, 0, '+0 minutes');

CREATE VIEW v_zone AS
SELECT since, until, minutes, modifier FROM zone_offset;

-- Local days on which the feed has an hour, or a part of one, and when they end. Of a midnight that
-- occurs twice the first counts, and one that the clocks skip is when they change.
CREATE VIEW feed_day AS
SELECT f.day, 1000 * (
    SELECT min(max(z.since, f.ends - 60 * z.minutes)) FROM zone_offset z
    WHERE z.until > f.ends - 60 * z.minutes) AS ends_at
FROM (
  SELECT DISTINCT h.day, unixepoch(h.day, '+1 day') AS ends
  FROM (
    SELECT date(c.at, 'unixepoch', (
      SELECT z.modifier FROM zone_offset z
      WHERE z.since <= c.at ORDER BY z.since DESC LIMIT 1)) AS day
    FROM (
      SELECT hour * 3600 AS at FROM change_hour
      UNION ALL SELECT hour * 3600 + 3599 FROM change_hour
    ) c
  ) h
) f;

DROP VIEW v_style_stock_day;
-- The stock of a style at the end of each day that the feed tells of, by undoing what came later.
-- A row for each variant that was there then.
CREATE VIEW v_style_stock_day AS
SELECT
  f.day, v.barcode,
  v.style_no, nullif(v.style_name, '') AS style_name, nullif(v.brand_name, '') AS brand_name,
  nullif(v.color_code, '') AS color_code, nullif(v.color_name, '') AS color_name,
  nullif(v.size, '') AS size, (SELECT r.rank FROM size_rank r WHERE r.size = v.size) AS size_rank,
  coalesce(
    (SELECT c.diff -> '$.quantity[0]' FROM change c
      WHERE c.entity = 'stock_variant' AND c.key = v.barcode AND c.seq >= f.next_seq
        AND json_type(c.diff, '$.quantity') IS NOT NULL
      ORDER BY c.seq LIMIT 1),
    json_quote(v.quantity)) ->> '$' AS quantity
FROM stock_variant_row v
JOIN (
  -- An hour may begin before the day ends, where a zone has half hours.
  SELECT d.day, d.ends_at, (
    SELECT c.seq FROM change c NOT INDEXED
    WHERE c.seq >= (SELECT min(h.first_seq) FROM change_hour h WHERE h.hour >= d.ends_at / 3600000)
      AND c.at >= d.ends_at
    ORDER BY c.seq LIMIT 1) AS next_seq
  FROM feed_day d LIMIT -1
) f ON v.first_seen_at < f.ends_at
WHERE CASE
  (SELECT c.op FROM change c
    WHERE c.entity = 'stock_variant' AND c.key = v.barcode AND c.seq >= f.next_seq
      AND c.op IN ('delete', 'restore')
    ORDER BY c.seq LIMIT 1)
  WHEN 'delete' THEN 1
  WHEN 'restore' THEN 0
  ELSE v.deleted_at IS NULL
END;

DROP VIEW v_decision_day;
CREATE VIEW v_decision_day AS
SELECT
  date(d.at / 1000, 'unixepoch', (
    SELECT z.modifier FROM zone_offset z
    WHERE z.since <= d.at / 1000 ORDER BY z.since DESC LIMIT 1)) AS day,
  d.outcome,
  coalesce(r.value, CASE d.actor WHEN 'daemon' THEN '(no rule)' ELSE '(a person)' END) AS rule,
  count(*) AS decisions
FROM decision d
LEFT JOIN json_each(d.rules) r
GROUP BY 1, 2, 3;

DROP VIEW v_recent_change;
-- NOT INDEXED keeps SQLite on the numbers: by the index of a kind of row it would read all of them.
CREATE VIEW v_recent_change AS
SELECT seq, strftime('%Y-%m-%dT%H:%M:%SZ', at / 1000, 'unixepoch') AS at, entity, key, op, diff,
  cause
FROM change NOT INDEXED, (
  -- The begin of yesterday, in seconds.
  SELECT min(max(z.since, y.starts - 60 * z.minutes)) AS begins
  FROM (
    SELECT unixepoch('now', n.modifier, 'start of day', '-1 day') AS starts
    FROM zone_offset n WHERE n.since <= unixepoch() ORDER BY n.since DESC LIMIT 1
  ) y, zone_offset z
  WHERE z.until > y.starts - 60 * z.minutes
)
WHERE seq >= (SELECT min(first_seq) FROM change_hour WHERE hour >= begins / 3600)
  AND at >= begins * 1000;

-- ---- New deliveries before the backlog of events ------------------------------------------------
-- When an event told last of a new delivery of the order, which a decision waits for; null: none
-- did. The latest is read first.
ALTER TABLE refresh ADD COLUMN urgent_at INTEGER;
CREATE INDEX refresh_urgent ON refresh (urgent_at DESC) WHERE urgent_at IS NOT NULL;

-- ---- Names of pre-orders ------------------------------------------------------------------------
-- 0.1.0 sent them as SeasonName; an account that has shown one as such reads them so.
INSERT OR IGNORE INTO daemon_state (key, value, updated_at)
SELECT 'outbox.preorder_names',
  json_object('account', a.value ->> 'address', 'names', 'SeasonName'), s.updated_at
FROM daemon_state s JOIN daemon_state a ON a.key = 'account'
WHERE s.key = 'outbox.preorders_shown' AND s.value ->> 'isShown';

-- ---- Review for a team --------------------------------------------------------------------------
-- Notes of people about deliveries; 0.1.0 kept the latest alone.
ALTER TABLE delivery_note RENAME TO delivery_note_latest;
CREATE TABLE delivery_note (
  note_id INTEGER PRIMARY KEY AUTOINCREMENT,
  order_delivery_id INTEGER NOT NULL,
  text TEXT NOT NULL,
  author TEXT NOT NULL,
  at INTEGER NOT NULL
) STRICT;
CREATE INDEX delivery_note_delivery ON delivery_note (order_delivery_id);
INSERT INTO delivery_note (order_delivery_id, text, author, at)
SELECT order_delivery_id, text, author, at FROM delivery_note_latest ORDER BY at;
DROP TABLE delivery_note_latest;

-- Person who sees to a delivery; without a row nobody does.
CREATE TABLE delivery_assignment (
  order_delivery_id INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  actor TEXT NOT NULL,
  at INTEGER NOT NULL
) STRICT;
CREATE INDEX delivery_assignment_name ON delivery_assignment (name);

-- Filters of the review list that are kept under a name, for all of the house.
CREATE TABLE saved_view (
  name TEXT PRIMARY KEY,
  -- Filter and order, as parameters of an address.
  filter TEXT NOT NULL,
  -- 1: shown to whoever asks for nothing else.
  is_default INTEGER NOT NULL,
  author TEXT NOT NULL,
  at INTEGER NOT NULL
) STRICT;

-- ---- Shipment and customs ------------------------------------------------------------------------
-- With what customs ask of each article. It stands in the members without a column, which all
-- variants have already: columns would be empty until each variant changes.
DROP VIEW v_delivery_line;
CREATE VIEW v_delivery_line AS
SELECT
  l.order_delivery_id, d.delivery_no, d.order_id, o.order_no, o.reference, o.account_no,
  nullif(o.company, '') AS company, nullif(o.country_code, '') AS country_code,
  strftime('%Y-%m-%dT%H:%M:%SZ', coalesce(d.created_at, d.first_seen_at) / 1000, 'unixepoch')
    AS packed_at,
  d.status, l.line_no,
  coalesce(nullif(l.season_name, ''), nullif(o.season_name, '')) AS season_name,
  nullif(l.delivery_name, '') AS delivery_name, l.barcode,
  v.style_no, nullif(v.style_name, '') AS style_name, nullif(v.brand_name, '') AS brand_name,
  nullif(v.color_code, '') AS color_code, nullif(v.color_name, '') AS color_name,
  nullif(v.size, '') AS size, (SELECT r.rank FROM size_rank r WHERE r.size = v.size) AS size_rank,
  l.fulfilled_quantity AS pieces, l.price / 10000.0 AS price,
  l.fulfilled_quantity * l.price / 10000.0 AS amount,
  (SELECT c.currency FROM order_currency c WHERE c.order_id = d.order_id) AS currency,
  d.deleted_at IS NOT NULL AS gone,
  nullif(CAST(coalesce((SELECT e.extra FROM variant_extra e WHERE e.extra_id = v.extra_id), v.extra)
    ->> '$.details.customsTariffNumber' AS TEXT), '') AS tariff_no,
  nullif(CAST(coalesce((SELECT e.extra FROM variant_extra e WHERE e.extra_id = v.extra_id), v.extra)
    ->> '$.details.countryOfOrigin' AS TEXT), '') AS origin,
  iif(json_type(coalesce((SELECT e.extra FROM variant_extra e WHERE e.extra_id = v.extra_id), v.extra),
    '$.details.weight') IN ('integer', 'real'),
    coalesce((SELECT e.extra FROM variant_extra e WHERE e.extra_id = v.extra_id), v.extra)
    ->> '$.details.weight', NULL) AS weight
FROM delivery_line l
JOIN delivery d ON d.order_delivery_id = l.order_delivery_id
LEFT JOIN sales_order o ON o.order_id = d.order_id
JOIN stock_variant_row v ON v.barcode = l.barcode
UNION ALL
SELECT
  l.order_delivery_id, d.delivery_no, d.order_id, o.order_no, o.reference, o.account_no,
  nullif(o.company, '') AS company, nullif(o.country_code, '') AS country_code,
  strftime('%Y-%m-%dT%H:%M:%SZ', coalesce(d.created_at, d.first_seen_at) / 1000, 'unixepoch')
    AS packed_at,
  d.status, l.line_no,
  coalesce(nullif(l.season_name, ''), nullif(o.season_name, '')) AS season_name,
  nullif(l.delivery_name, '') AS delivery_name, l.barcode,
  v.style_no, nullif(v.style_name, '') AS style_name, nullif(v.brand_name, '') AS brand_name,
  nullif(v.color_code, '') AS color_code, nullif(v.color_name, '') AS color_name,
  nullif(v.size, '') AS size, (SELECT r.rank FROM size_rank r WHERE r.size = v.size) AS size_rank,
  l.fulfilled_quantity AS pieces, l.price / 10000.0 AS price,
  l.fulfilled_quantity * l.price / 10000.0 AS amount,
  (SELECT c.currency FROM order_currency c WHERE c.order_id = d.order_id) AS currency,
  d.deleted_at IS NOT NULL AS gone,
  nullif(CAST(coalesce((SELECT e.extra FROM variant_extra e WHERE e.extra_id = v.extra_id), v.extra)
    ->> '$.details.customsTariffNumber' AS TEXT), '') AS tariff_no,
  nullif(CAST(coalesce((SELECT e.extra FROM variant_extra e WHERE e.extra_id = v.extra_id), v.extra)
    ->> '$.details.countryOfOrigin' AS TEXT), '') AS origin,
  iif(json_type(coalesce((SELECT e.extra FROM variant_extra e WHERE e.extra_id = v.extra_id), v.extra),
    '$.details.weight') IN ('integer', 'real'),
    coalesce((SELECT e.extra FROM variant_extra e WHERE e.extra_id = v.extra_id), v.extra)
    ->> '$.details.weight', NULL) AS weight
FROM delivery_line l
JOIN delivery d ON d.order_delivery_id = l.order_delivery_id
LEFT JOIN sales_order o ON o.order_id = d.order_id
LEFT JOIN season_variant_row v ON v.barcode = l.barcode AND v.season_barcode = (
  SELECT min(n.season_barcode) FROM season_variant_row n WHERE n.barcode = v.barcode)
WHERE NOT EXISTS (SELECT 1 FROM stock_variant_row s WHERE s.barcode = l.barcode);

-- Each line looks up its own article: joined with the lists of variants, all lines would be read.
CREATE VIEW line_article AS
SELECT
  x.order_delivery_id, x.fulfilled_quantity AS pieces,
  nullif(CAST(x.extra ->> '$.details.customsTariffNumber' AS TEXT), '') AS tariff_no,
  nullif(CAST(x.extra ->> '$.details.countryOfOrigin' AS TEXT), '') AS origin,
  iif(json_type(x.extra, '$.details.weight') IN ('integer', 'real'),
    x.extra ->> '$.details.weight', NULL) AS weight
FROM (
  SELECT l.order_delivery_id, l.fulfilled_quantity, coalesce(
    (SELECT coalesce((SELECT e.extra FROM variant_extra e WHERE e.extra_id = v.extra_id), v.extra)
      FROM stock_variant_row v WHERE v.barcode = l.barcode),
    (SELECT coalesce((SELECT e.extra FROM variant_extra e WHERE e.extra_id = v.extra_id), v.extra)
      FROM season_variant_row v WHERE v.barcode = l.barcode
      ORDER BY v.season_barcode LIMIT 1)) AS extra
  FROM delivery_line l
) x;

-- Deliveries with their parcels, their weight, and what customs ask.
CREATE VIEW v_shipment AS
SELECT
  d.order_delivery_id, d.delivery_no, d.order_id, o.order_no, o.reference, o.account_no,
  nullif(o.company, '') AS company, nullif(o.country_code, '') AS country_code,
  strftime('%Y-%m-%dT%H:%M:%SZ', coalesce(d.created_at, d.first_seen_at) / 1000, 'unixepoch')
    AS packed_at,
  d.status,
  strftime('%Y-%m-%dT%H:%M:%SZ', d.accepted_at / 1000, 'unixepoch') AS accepted_at,
  (SELECT strftime('%Y-%m-%dT%H:%M:%SZ', min(c.at) / 1000, 'unixepoch') FROM change c
    WHERE c.entity = 'delivery' AND c.key = CAST(d.order_delivery_id AS TEXT)
      AND json_extract(c.diff, '$.tracking_numbers[0]') = '[]') AS shipped_at,
  nullif((SELECT group_concat(t.value, ', ') FROM json_each(d.tracking_numbers) t), '')
    AS tracking_numbers,
  d.tracking_numbers <> '[]' AS shipped,
  d.status = 'accepted' AND d.tracking_numbers = '[]' AND d.deleted_at IS NULL AS to_ship,
  iif(d.status = 'accepted' AND d.tracking_numbers = '[]' AND d.deleted_at IS NULL,
    round((julianday('now') - 2440587.5
      - coalesce(d.accepted_at, d.created_at, d.first_seen_at) / 86400000.0) * 24, 1), NULL)
    AS age_hours,
  (SELECT CASE WHEN count(*) = count(l.fulfilled_quantity) THEN sum(l.fulfilled_quantity) END
    FROM delivery_line l WHERE l.order_delivery_id = d.order_delivery_id) AS pieces,
  (SELECT CASE WHEN count(*) = count(l.pieces * l.weight)
    THEN sum(l.pieces * l.weight) / 1000.0 END
    FROM line_article l WHERE l.order_delivery_id = d.order_delivery_id) AS weight_kg,
  (SELECT CASE WHEN count(*) = count(l.fulfilled_quantity * l.price)
    THEN sum(l.fulfilled_quantity * l.price) / 10000.0 END
    FROM delivery_line l WHERE l.order_delivery_id = d.order_delivery_id) AS amount,
  (SELECT c.currency FROM order_currency c WHERE c.order_id = d.order_id) AS currency,
  (SELECT group_concat(n.tariff_no, ', ') FROM (
    SELECT DISTINCT l.tariff_no FROM line_article l
    WHERE l.order_delivery_id = d.order_delivery_id AND l.tariff_no IS NOT NULL
    ORDER BY 1) n) AS tariff_nos,
  (SELECT group_concat(n.origin, ', ') FROM (
    SELECT DISTINCT l.origin FROM line_article l
    WHERE l.order_delivery_id = d.order_delivery_id AND l.origin IS NOT NULL
    ORDER BY 1) n) AS origins,
  (SELECT count(*) FROM line_article l WHERE l.order_delivery_id = d.order_delivery_id
    AND (l.tariff_no IS NULL OR l.origin IS NULL OR l.weight IS NULL)) AS lines_without_customs,
  d.deleted_at IS NOT NULL AS gone
FROM (
  SELECT x.*, (SELECT max(n.at) FROM decision n
    WHERE n.order_delivery_id = x.order_delivery_id AND n.outcome = 'accept'
      AND x.status = 'accepted') AS accepted_at
  FROM delivery x
) d
LEFT JOIN sales_order o ON o.order_id = d.order_id;

CREATE VIEW v_refund_line AS
SELECT
  l.order_refund_id, r.refund_no, r.order_id, o.order_no, o.reference, o.account_no,
  nullif(o.company, '') AS company, nullif(o.country_code, '') AS country_code,
  strftime('%Y-%m-%dT%H:%M:%SZ', coalesce(r.created_at, r.first_seen_at) / 1000, 'unixepoch')
    AS refunded_at,
  r.status, l.line_no, nullif(l.refund_type, '') AS refund_type, l.barcode,
  v.style_no, nullif(v.style_name, '') AS style_name, nullif(v.brand_name, '') AS brand_name,
  nullif(v.color_code, '') AS color_code, nullif(v.color_name, '') AS color_name,
  nullif(v.size, '') AS size, (SELECT z.rank FROM size_rank z WHERE z.size = v.size) AS size_rank,
  l.refunded_quantity AS pieces, iif(l.restock = 1, l.refunded_quantity, 0) AS restocked,
  l.price / 10000.0 AS price, l.refunded_quantity * l.price / 10000.0 AS amount,
  (SELECT c.currency FROM order_currency c WHERE c.order_id = r.order_id) AS currency,
  r.deleted_at IS NOT NULL AS gone
FROM refund_line l
JOIN refund r ON r.order_refund_id = l.order_refund_id
LEFT JOIN sales_order o ON o.order_id = r.order_id
JOIN stock_variant_row v ON v.barcode = l.barcode
UNION ALL
SELECT
  l.order_refund_id, r.refund_no, r.order_id, o.order_no, o.reference, o.account_no,
  nullif(o.company, '') AS company, nullif(o.country_code, '') AS country_code,
  strftime('%Y-%m-%dT%H:%M:%SZ', coalesce(r.created_at, r.first_seen_at) / 1000, 'unixepoch')
    AS refunded_at,
  r.status, l.line_no, nullif(l.refund_type, '') AS refund_type, l.barcode,
  v.style_no, nullif(v.style_name, '') AS style_name, nullif(v.brand_name, '') AS brand_name,
  nullif(v.color_code, '') AS color_code, nullif(v.color_name, '') AS color_name,
  nullif(v.size, '') AS size, (SELECT z.rank FROM size_rank z WHERE z.size = v.size) AS size_rank,
  l.refunded_quantity AS pieces, iif(l.restock = 1, l.refunded_quantity, 0) AS restocked,
  l.price / 10000.0 AS price, l.refunded_quantity * l.price / 10000.0 AS amount,
  (SELECT c.currency FROM order_currency c WHERE c.order_id = r.order_id) AS currency,
  r.deleted_at IS NOT NULL AS gone
FROM refund_line l
JOIN refund r ON r.order_refund_id = l.order_refund_id
LEFT JOIN sales_order o ON o.order_id = r.order_id
LEFT JOIN season_variant_row v ON v.barcode = l.barcode AND v.season_barcode = (
  SELECT min(n.season_barcode) FROM season_variant_row n WHERE n.barcode = v.barcode)
WHERE NOT EXISTS (SELECT 1 FROM stock_variant_row s WHERE s.barcode = l.barcode);

-- ---- Incidents that somebody looks after ---------------------------------------------------------
-- Who took it up last, and why; it stays open until its reason is gone.
CREATE TABLE incident_ack (
  incident_id INTEGER PRIMARY KEY,
  at INTEGER NOT NULL,
  actor TEXT NOT NULL,
  reason TEXT NOT NULL
) STRICT;

-- ---- Sales of a week ------------------------------------------------------------------------------
-- Deliveries by the time at which they were decided, and at which their first parcel was named: the
-- overview reads two weeks of each.
DROP INDEX decision_day;
CREATE INDEX decision_day ON decision (at, outcome, actor, rules, order_delivery_id, mode);
CREATE INDEX change_shipped ON change (at)
WHERE entity = 'delivery' AND diff ->> '$.tracking_numbers[0]' = '[]';

-- ---- What people look for, and what went wrong ----------------------------------------------------
-- Orders by their number, and pulls that went wrong by their time.
CREATE INDEX sales_order_number ON sales_order (order_no) WHERE order_no IS NOT NULL;
CREATE INDEX sync_run_wrong ON sync_run (started_at) WHERE outcome IN ('failed', 'suspicious');
