-- Views for reports: a public contract, described in docs/views.md. Amounts are decimals, times are
-- text (ISO 8601, UTC), booleans 0 and 1. Only functions of SQLite 3.40 and older are used, so that
-- the client of the system can read them.

CREATE INDEX delivery_created ON delivery (created_at);
CREATE INDEX decision_day ON decision (at, outcome, actor, rules);
CREATE INDEX decision_said ON decision (order_delivery_id, actor, decision_id, outcome);
CREATE INDEX sales_order_line_season ON sales_order_line (season_name, delivery_name)
  WHERE season_name IS NOT NULL;

CREATE VIEW v_delivery AS
SELECT
  d.order_delivery_id,
  d.delivery_no,
  d.order_id,
  o.order_no,
  o.reference,
  o.account_no,
  o.company,
  o.country_code,
  strftime('%Y-%m-%dT%H:%M:%SZ', coalesce(d.created_at, d.first_seen_at) / 1000, 'unixepoch')
    AS packed_at,
  d.status,
  (SELECT sum(l.fulfilled_quantity) FROM delivery_line l
    WHERE l.order_delivery_id = d.order_delivery_id) AS pieces,
  (SELECT CASE WHEN count(*) = count(l.price) THEN sum(l.fulfilled_quantity * l.price) / 100.0 END
    FROM delivery_line l WHERE l.order_delivery_id = d.order_delivery_id) AS amount,
  o.currency,
  e.decision_id,
  n.outcome AS decided,
  n.reason,
  n.actor AS decided_by,
  strftime('%Y-%m-%dT%H:%M:%SZ', n.at / 1000, 'unixepoch') AS decided_at,
  d.deleted_at IS NOT NULL AS gone
FROM delivery d
LEFT JOIN sales_order o ON o.order_id = d.order_id
LEFT JOIN evaluation e ON e.order_delivery_id = d.order_delivery_id
LEFT JOIN decision n ON n.decision_id = e.decision_id;

CREATE VIEW v_open_delivery AS
SELECT
  order_delivery_id, delivery_no, order_id, order_no, reference, account_no, company, country_code,
  packed_at, round((julianday('now') - julianday(packed_at)) * 24, 1) AS age_hours,
  pieces, amount, currency, decided, reason, decided_by, decided_at
FROM v_delivery
WHERE status = 'pending' AND gone = 0;

CREATE VIEW v_held_delivery AS
SELECT * FROM v_open_delivery WHERE decided = 'hold';

CREATE VIEW v_stock AS
SELECT
  barcode, style_no, style_name, brand_name, color_code, color_name, size, season_name, category,
  gender, quantity, currency, price / 100.0 AS price, wsp_price / 100.0 AS wsp_price,
  price_original / 100.0 AS price_original, b2c_sale_price / 100.0 AS b2c_sale_price,
  color_active,
  strftime('%Y-%m-%dT%H:%M:%SZ', changed_at / 1000, 'unixepoch') AS changed_at
FROM stock_variant
WHERE deleted_at IS NULL;

CREATE VIEW v_stock_grid AS
SELECT
  style_no, style_name, brand_name, color_code, color_name,
  count(*) AS sizes, sum(quantity) AS quantity, json_group_object(size, quantity) AS by_size
FROM stock_variant
WHERE deleted_at IS NULL AND style_no IS NOT NULL
GROUP BY style_no, color_code;

-- What open orders have packed but not shipped, a row for each barcode.
CREATE VIEW v_reserved AS
SELECT
  l.barcode,
  sum(CASE d.status WHEN 'pending' THEN l.fulfilled_quantity ELSE 0 END) AS pending,
  sum(CASE d.status WHEN 'accepted' THEN l.fulfilled_quantity ELSE 0 END) AS accepted
FROM sales_order o
JOIN delivery d ON d.order_id = o.order_id
JOIN delivery_line l ON l.order_delivery_id = d.order_delivery_id
WHERE o.completed = 0 AND o.deleted_at IS NULL
  AND d.status IN ('pending', 'accepted') AND d.deleted_at IS NULL
GROUP BY l.barcode;

CREATE VIEW v_availability AS
SELECT
  r.barcode, v.style_no, v.style_name, v.color_name, v.size,
  coalesce(v.quantity, 0) AS in_stock, r.pending, r.accepted,
  coalesce(v.quantity, 0) - r.pending - r.accepted AS free
FROM v_reserved r
LEFT JOIN stock_variant v ON v.barcode = r.barcode AND v.deleted_at IS NULL;

CREATE VIEW v_preorder_book AS
SELECT
  l.season_name, l.delivery_name,
  count(DISTINCT l.order_id) AS orders,
  sum(l.quantity) AS pieces,
  sum(coalesce(l.fulfilled_quantity, 0)) AS fulfilled,
  o.currency,
  sum(l.quantity * l.price) / 100.0 AS amount,
  sum(l.price IS NULL) AS lines_without_price
FROM sales_order_line l
JOIN sales_order o ON o.order_id = l.order_id
WHERE l.season_name IS NOT NULL AND o.status <> 'canceled' AND o.deleted_at IS NULL
GROUP BY l.season_name, l.delivery_name, o.currency;

CREATE VIEW v_season_cover AS
SELECT
  b.season_name, b.barcode, v.style_no, v.style_name, v.color_name, v.size,
  b.open AS open_preorders, coalesce(s.quantity, 0) AS in_stock,
  max(0, b.open - coalesce(s.quantity, 0)) AS missing,
  round(100.0 * min(b.open, coalesce(s.quantity, 0)) / b.open, 1) AS cover_percent
FROM (
  SELECT l.season_name, l.barcode, sum(l.quantity - coalesce(l.fulfilled_quantity, 0)) AS open
  FROM sales_order o
  JOIN sales_order_line l ON l.order_id = o.order_id
  WHERE o.completed = 0 AND o.status <> 'canceled' AND o.deleted_at IS NULL
    AND l.season_name IS NOT NULL
  GROUP BY l.season_name, l.barcode
  HAVING open > 0
) b
LEFT JOIN season_variant v ON v.season_barcode = json_array(b.season_name, b.barcode)
LEFT JOIN stock_variant s ON s.barcode = b.barcode AND s.deleted_at IS NULL;

CREATE VIEW v_decision AS
SELECT
  decision_id, order_delivery_id, order_id,
  strftime('%Y-%m-%dT%H:%M:%SZ', at / 1000, 'unixepoch') AS decided_at,
  actor, mode, outcome, reason, rules, trigger, rule_set_hash
FROM decision;

CREATE VIEW v_decision_day AS
SELECT
  date(d.at / 1000, 'unixepoch') AS day, d.outcome,
  coalesce(r.value, CASE d.actor WHEN 'daemon' THEN '(no rule)' ELSE '(a person)' END) AS rule,
  count(*) AS decisions
FROM decision d
LEFT JOIN json_each(d.rules) r
GROUP BY 1, 2, 3;

CREATE VIEW v_order_pushed AS
SELECT
  b.outbox_id, b.kind, b.reference, b.state,
  b.result ->> '$.orderId' AS order_id, b.result ->> '$.orderNo' AS order_no,
  b.attempts, b.last_error,
  strftime('%Y-%m-%dT%H:%M:%SZ', b.created_at / 1000, 'unixepoch') AS handed_in_at,
  strftime('%Y-%m-%dT%H:%M:%SZ', b.ended_at / 1000, 'unixepoch') AS ended_at
FROM outbox b
WHERE b.kind = 'order';

CREATE VIEW v_outbox AS
SELECT
  outbox_id, kind, reference, state, attempts, last_error,
  strftime('%Y-%m-%dT%H:%M:%SZ', created_at / 1000, 'unixepoch') AS created_at,
  strftime('%Y-%m-%dT%H:%M:%SZ', due_at / 1000, 'unixepoch') AS due_at,
  strftime('%Y-%m-%dT%H:%M:%SZ', in_doubt_since / 1000, 'unixepoch') AS in_doubt_since,
  strftime('%Y-%m-%dT%H:%M:%SZ', ended_at / 1000, 'unixepoch') AS ended_at
FROM outbox;

CREATE VIEW v_refund_pending AS
SELECT
  p.pending_refund_id, p.order_id, p.reference, p.status,
  strftime('%Y-%m-%dT%H:%M:%SZ', coalesce(p.created_at, p.first_seen_at) / 1000, 'unixepoch')
    AS created_at,
  (SELECT sum(l.quantity) FROM pending_refund_line l
    WHERE l.pending_refund_id = p.pending_refund_id) AS pieces,
  r.order_refund_id, r.status AS refund_status
FROM pending_refund p
LEFT JOIN refund r ON r.order_id = p.order_id AND r.pending_refund_id = p.pending_refund_id
WHERE p.deleted_at IS NULL;

CREATE VIEW v_sync_run AS
SELECT
  run_id, stream, cause, outcome, reason, pages, rows_seen, rows_changed, rows_unchanged,
  rows_deleted, rows_quarantined, rows_held, bytes, resumes,
  strftime('%Y-%m-%dT%H:%M:%SZ', started_at / 1000, 'unixepoch') AS started_at,
  strftime('%Y-%m-%dT%H:%M:%SZ', ended_at / 1000, 'unixepoch') AS ended_at,
  (ended_at - started_at) / 1000.0 AS seconds
FROM sync_run;

CREATE VIEW v_freshness AS
SELECT
  stream, complete_rows AS rows, paused,
  strftime('%Y-%m-%dT%H:%M:%SZ', complete_at / 1000, 'unixepoch') AS complete_at,
  CAST((julianday('now') - 2440587.5) * 86400 - complete_at / 1000.0 AS INTEGER) AS age_seconds,
  strftime('%Y-%m-%dT%H:%M:%SZ', due_at / 1000, 'unixepoch') AS due_at,
  failures, last_error
FROM stream_state;

CREATE VIEW v_orphan AS
SELECT 'delivery' AS entity, CAST(d.order_delivery_id AS TEXT) AS key,
  'its order ' || d.order_id || ' is not here' AS why
FROM delivery d
WHERE d.deleted_at IS NULL AND NOT EXISTS (SELECT 1 FROM sales_order o WHERE o.order_id = d.order_id)
UNION ALL
SELECT 'refund', CAST(r.order_refund_id AS TEXT), 'its order ' || r.order_id || ' is not here'
FROM refund r
WHERE r.deleted_at IS NULL AND NOT EXISTS (SELECT 1 FROM sales_order o WHERE o.order_id = r.order_id)
UNION ALL
SELECT 'pending_refund', CAST(p.pending_refund_id AS TEXT), 'its order ' || p.order_id || ' is not here'
FROM pending_refund p
WHERE p.deleted_at IS NULL AND NOT EXISTS (SELECT 1 FROM sales_order o WHERE o.order_id = p.order_id)
UNION ALL
SELECT 'stock_variant', l.barcode, 'order ' || o.order_id || ' asks for this unknown barcode'
FROM sales_order o
JOIN sales_order_line l ON l.order_id = o.order_id
WHERE o.completed = 0 AND o.deleted_at IS NULL
  AND NOT EXISTS (SELECT 1 FROM stock_variant v WHERE v.barcode = l.barcode)
  AND NOT EXISTS (SELECT 1 FROM season_variant v WHERE v.barcode = l.barcode);

CREATE VIEW v_quarantine AS
SELECT
  id, entity, path, reason, raw, source, times,
  strftime('%Y-%m-%dT%H:%M:%SZ', first_seen_at / 1000, 'unixepoch') AS first_seen_at,
  strftime('%Y-%m-%dT%H:%M:%SZ', last_seen_at / 1000, 'unixepoch') AS last_seen_at
FROM quarantine;

-- Members that the service sends and that have no column: in the newest 1,000 rows of each table.
CREATE VIEW v_drift AS
SELECT t.entity, m.key AS member, count(*) AS rows, min(substr(m.value, 1, 100)) AS example
FROM (
  SELECT 'stock_variant' AS entity, extra
  FROM (SELECT extra FROM stock_variant ORDER BY rowid DESC LIMIT 1000)
  UNION ALL
  SELECT 'season_variant', extra
  FROM (SELECT extra FROM season_variant ORDER BY rowid DESC LIMIT 1000)
  UNION ALL
  SELECT 'style', extra FROM (SELECT extra FROM style ORDER BY rowid DESC LIMIT 1000)
  UNION ALL
  SELECT 'style_color', extra FROM (SELECT extra FROM style_color ORDER BY rowid DESC LIMIT 1000)
  UNION ALL
  SELECT 'sales_order', extra
  FROM (SELECT extra FROM sales_order ORDER BY order_id DESC LIMIT 1000)
  UNION ALL
  SELECT 'delivery', extra
  FROM (SELECT extra FROM delivery ORDER BY order_delivery_id DESC LIMIT 1000)
  UNION ALL
  SELECT 'refund', extra FROM (SELECT extra FROM refund ORDER BY order_refund_id DESC LIMIT 1000)
) t, json_each(t.extra) m
GROUP BY t.entity, m.key;

-- What the rules said last of each delivery that was decided, and who decided in the end.
CREATE VIEW v_agreement AS
SELECT
  d.order_delivery_id, d.delivery_no, d.status,
  strftime('%Y-%m-%dT%H:%M:%SZ', coalesce(d.created_at, d.first_seen_at) / 1000, 'unixepoch')
    AS packed_at,
  (SELECT n.outcome FROM decision n
    WHERE n.order_delivery_id = d.order_delivery_id AND n.actor = 'daemon'
    ORDER BY n.decision_id DESC LIMIT 1) AS rules_said,
  CASE WHEN EXISTS (
    SELECT 1 FROM decision n JOIN outbox b
      ON b.kind = 'delivery_status'
      AND b.reference = 'delivery/' || n.order_delivery_id || '/decision/' || n.decision_id
    WHERE n.order_delivery_id = d.order_delivery_id AND n.actor = 'daemon'
      AND b.state IN ('sent', 'confirmed') AND b.body ->> '$.status' = d.status
  ) THEN 'the rules' ELSE 'people' END AS done_by
FROM delivery d
WHERE d.status IN ('accepted', 'rejected') AND d.deleted_at IS NULL
  AND EXISTS (SELECT 1 FROM decision n
    WHERE n.order_delivery_id = d.order_delivery_id AND n.actor = 'daemon');

CREATE VIEW v_incident AS
SELECT
  id, kind, entity, key, detail,
  strftime('%Y-%m-%dT%H:%M:%SZ', at / 1000, 'unixepoch') AS at,
  strftime('%Y-%m-%dT%H:%M:%SZ', resolved_at / 1000, 'unixepoch') AS resolved_at
FROM incident;

CREATE VIEW v_change AS
SELECT seq, strftime('%Y-%m-%dT%H:%M:%SZ', at / 1000, 'unixepoch') AS at, entity, key, op, diff,
  cause
FROM change;
