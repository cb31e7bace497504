-- Statuses that nobody knows: few, and asked for every few seconds.
CREATE INDEX sales_order_odd_status ON sales_order (status)
WHERE status NOT IN ('pending', 'fulfilled', 'partially_fulfilled', 'canceled');
CREATE INDEX delivery_odd_status ON delivery (status)
WHERE status NOT IN ('pending', 'accepted', 'rejected', 'canceled');
CREATE INDEX refund_odd_status ON refund (status)
WHERE status NOT IN ('pending', 'accepted', 'rejected', 'canceled');
CREATE INDEX pending_refund_odd_status ON pending_refund (status)
WHERE status NOT IN ('pending', 'confirmed', 'canceled');

-- A number of a delivery or a refund that two orders have: the mirror has the row of the one, and
-- here stands the other. Where numbers count in each order, nobody can tell the two apart by them.
CREATE TABLE shared_number (
  entity TEXT NOT NULL,
  number INTEGER NOT NULL,
  -- The order whose row is not in the mirror.
  order_id INTEGER NOT NULL,
  seen_at INTEGER NOT NULL,
  PRIMARY KEY (entity, number, order_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX shared_number_order ON shared_number (order_id);

-- The currency of an order: its own; else the one that the variants of its lines agree on; else that
-- of the configuration (service.v1.currency, kept in daemon_state). One that cannot be read is none.
CREATE VIEW order_currency AS
SELECT
  o.order_id,
  CASE
    WHEN trim(o.currency) <> '' THEN o.currency
    WHEN o.unread LIKE '%"currency"%' THEN NULL
    ELSE coalesce((
      SELECT iif(count(DISTINCT u.currency) = 1, min(u.currency), NULL) FROM (
        SELECT upper(trim(s.currency)) AS currency
        FROM sales_order_line l JOIN stock_variant_row s ON s.barcode = l.barcode
        WHERE l.order_id = o.order_id
        UNION ALL
        SELECT upper(trim(a.currency))
        FROM sales_order_line l JOIN season_variant_row a ON a.barcode = l.barcode
        WHERE l.order_id = o.order_id
      ) u WHERE u.currency <> ''
    ), (SELECT nullif(s.value, '') FROM daemon_state s WHERE s.key = 'service_currency'))
  END AS currency
FROM sales_order o;

-- What a line does not tell is no sum, and the currency is the one that decisions go by.
DROP VIEW v_delivery;
CREATE VIEW v_delivery AS
SELECT
  d.order_delivery_id,
  d.delivery_no,
  d.order_id,
  o.order_no,
  o.reference,
  o.account_no,
  nullif(o.company, '') AS company,
  nullif(o.country_code, '') AS country_code,
  strftime('%Y-%m-%dT%H:%M:%SZ', coalesce(d.created_at, d.first_seen_at) / 1000, 'unixepoch')
    AS packed_at,
  d.status,
  (SELECT CASE WHEN count(*) = count(l.fulfilled_quantity) THEN sum(l.fulfilled_quantity) END
    FROM delivery_line l WHERE l.order_delivery_id = d.order_delivery_id) AS pieces,
  (SELECT CASE WHEN count(*) = count(l.fulfilled_quantity * l.price)
    THEN sum(l.fulfilled_quantity * l.price) / 10000.0 END
    FROM delivery_line l WHERE l.order_delivery_id = d.order_delivery_id) AS amount,
  (SELECT c.currency FROM order_currency c WHERE c.order_id = d.order_id) AS currency,
  e.decision_id,
  n.outcome AS decided,
  n.reason,
  n.actor AS decided_by,
  strftime('%Y-%m-%dT%H:%M:%SZ', n.at / 1000, 'unixepoch') AS decided_at,
  d.deleted_at IS NOT NULL AS gone,
  d.unread
FROM delivery d
LEFT JOIN sales_order o ON o.order_id = d.order_id
LEFT JOIN evaluation e ON e.order_delivery_id = d.order_delivery_id
LEFT JOIN decision n ON n.decision_id = e.decision_id;

DROP VIEW v_preorder_book;
CREATE VIEW v_preorder_book AS
SELECT
  l.season_name, nullif(l.delivery_name, '') AS delivery_name,
  count(DISTINCT l.order_id) AS orders,
  sum(l.quantity) AS pieces,
  sum(coalesce(l.fulfilled_quantity, 0)) AS fulfilled,
  nullif(l.currency, '') AS currency,
  sum(l.quantity * l.price) / 10000.0 AS amount,
  sum(l.price IS NULL) AS lines_without_price
FROM (
  SELECT n.season_name, n.delivery_name, n.order_id, n.quantity, n.fulfilled_quantity, n.price,
    (SELECT c.currency FROM order_currency c WHERE c.order_id = o.order_id) AS currency
  FROM sales_order_line n
  JOIN sales_order o ON o.order_id = n.order_id
  WHERE n.season_name <> '' AND o.status <> 'canceled' AND o.deleted_at IS NULL
  UNION ALL
  SELECT o.season_name, n.delivery_name, n.order_id, n.quantity, n.fulfilled_quantity, n.price,
    (SELECT c.currency FROM order_currency c WHERE c.order_id = o.order_id)
  FROM sales_order o
  JOIN sales_order_line n ON n.order_id = o.order_id
  WHERE o.season_name <> '' AND coalesce(n.season_name, '') = ''
    AND o.status <> 'canceled' AND o.deleted_at IS NULL
) l
GROUP BY l.season_name, coalesce(l.delivery_name, ''), coalesce(l.currency, '');

-- Stock that cannot be read is unknown, and not none.
DROP VIEW v_availability;
CREATE VIEW v_availability AS
SELECT
  r.barcode,
  coalesce(v.style_no, a.style_no) AS style_no,
  nullif(coalesce(v.style_name, a.style_name), '') AS style_name,
  nullif(coalesce(v.color_name, a.color_name), '') AS color_name,
  nullif(coalesce(v.size, a.size), '') AS size,
  iif(v.deleted_at IS NULL AND v.barcode IS NOT NULL, v.quantity, 0) AS in_stock,
  r.pending, r.accepted,
  iif(v.deleted_at IS NULL AND v.barcode IS NOT NULL, v.quantity, 0) - r.pending - r.accepted AS free
FROM v_reserved r
LEFT JOIN stock_variant_row v ON v.barcode = r.barcode
LEFT JOIN season_variant_row a ON a.season_barcode = (
  SELECT n.season_barcode FROM season_variant_row n
  WHERE n.barcode = r.barcode AND v.barcode IS NULL LIMIT 1);
