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
-- Ended incidents that are old enough to be deleted, which are looked for every minute.
CREATE INDEX incident_ended ON incident (resolved_at) WHERE resolved_at IS NOT NULL;
-- Pushes of one kind, those that a person must look at, and those that ended without success, the
-- latest first: what lists show.
CREATE INDEX outbox_kind ON outbox (kind, outbox_id);
CREATE INDEX outbox_blocked ON outbox (outbox_id) WHERE blocked_reason IS NOT NULL;
CREATE INDEX outbox_failed ON outbox (outbox_id) WHERE state IN ('refused', 'dead', 'canceled');
-- Documents about the refunds of one order.
CREATE INDEX outbox_refunds ON outbox (ordering_key) WHERE kind = 'pending_refund';
-- Deliveries are named by their number, too.
CREATE INDEX delivery_number ON delivery (delivery_no) WHERE delivery_no IS NOT NULL;

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

-- ---- Rules (decisions/) ------------------------------------------------------------------------

-- Long texts of rule files, each once; rule_set.files names them by their hash.
CREATE TABLE rule_text (
  hash TEXT PRIMARY KEY,
  text TEXT NOT NULL
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
