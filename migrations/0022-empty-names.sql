-- A name that the service left empty says no more than one that is not there, and is unknown to the
-- rules. Here it was one: stock orders whose lines have an empty season were pre-orders of a season
-- '', an empty one of a line hid that of its head, and colors with an empty code were added up to
-- one. The numbers by which rows are searched through an index are left as they are.
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
  (SELECT sum(l.fulfilled_quantity) FROM delivery_line l
    WHERE l.order_delivery_id = d.order_delivery_id) AS pieces,
  (SELECT CASE WHEN count(*) = count(l.price) THEN sum(l.fulfilled_quantity * l.price) / 100.0 END
    FROM delivery_line l WHERE l.order_delivery_id = d.order_delivery_id) AS amount,
  nullif(o.currency, '') AS currency,
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

DROP VIEW v_stock;
CREATE VIEW v_stock AS
SELECT
  barcode, style_no, nullif(style_name, '') AS style_name, nullif(brand_name, '') AS brand_name,
  nullif(color_code, '') AS color_code, nullif(color_name, '') AS color_name,
  nullif(size, '') AS size, nullif(season_name, '') AS season_name,
  nullif(category, '') AS category, nullif(gender, '') AS gender,
  quantity, nullif(currency, '') AS currency, price / 100.0 AS price, wsp_price / 100.0 AS wsp_price,
  price_original / 100.0 AS price_original, b2c_sale_price / 100.0 AS b2c_sale_price,
  color_active,
  strftime('%Y-%m-%dT%H:%M:%SZ', changed_at / 1000, 'unixepoch') AS changed_at,
  quantity = 0 AS on_order
FROM stock_variant
WHERE deleted_at IS NULL;

DROP VIEW v_stock_grid;
CREATE VIEW v_stock_grid AS
SELECT
  v.style_no, nullif(v.style_name, '') AS style_name, nullif(v.brand_name, '') AS brand_name,
  nullif(v.color_code, '') AS color_code, nullif(v.color_name, '') AS color_name,
  count(DISTINCT coalesce(v.size, '')) AS sizes, sum(v.quantity) AS quantity,
  (SELECT json_group_object(s.size, s.quantity) FROM (
    SELECT coalesce(w.size, '') AS size, sum(w.quantity) AS quantity
    FROM stock_variant w
    WHERE w.deleted_at IS NULL AND w.style_no = v.style_no
      AND coalesce(w.color_code, '') = coalesce(v.color_code, '')
      AND coalesce(w.brand_name, '') = coalesce(v.brand_name, '')
      AND (w.color_code <> '' OR coalesce(w.color_name, '') = coalesce(v.color_name, ''))
    GROUP BY 1) s) AS by_size
FROM stock_variant v
WHERE v.deleted_at IS NULL AND v.style_no <> ''
GROUP BY v.style_no, coalesce(v.color_code, ''), coalesce(v.brand_name, ''),
  iif(v.color_code <> '', NULL, coalesce(v.color_name, ''));

DROP VIEW v_availability;
CREATE VIEW v_availability AS
SELECT
  r.barcode,
  coalesce(v.style_no, a.style_no) AS style_no,
  nullif(coalesce(v.style_name, a.style_name), '') AS style_name,
  nullif(coalesce(v.color_name, a.color_name), '') AS color_name,
  nullif(coalesce(v.size, a.size), '') AS size,
  iif(v.deleted_at IS NULL, coalesce(v.quantity, 0), 0) AS in_stock, r.pending, r.accepted,
  iif(v.deleted_at IS NULL, coalesce(v.quantity, 0), 0) - r.pending - r.accepted AS free
FROM v_reserved r
LEFT JOIN stock_variant v ON v.barcode = r.barcode
LEFT JOIN season_variant a ON a.season_barcode = (
  SELECT n.season_barcode FROM season_variant n
  WHERE n.barcode = r.barcode AND v.barcode IS NULL LIMIT 1);

DROP VIEW v_preorder_book;
CREATE VIEW v_preorder_book AS
SELECT
  l.season_name, nullif(l.delivery_name, '') AS delivery_name,
  count(DISTINCT l.order_id) AS orders,
  sum(l.quantity) AS pieces,
  sum(coalesce(l.fulfilled_quantity, 0)) AS fulfilled,
  nullif(l.currency, '') AS currency,
  sum(l.quantity * l.price) / 100.0 AS amount,
  sum(l.price IS NULL) AS lines_without_price
FROM (
  SELECT n.season_name, n.delivery_name, n.order_id, n.quantity, n.fulfilled_quantity, n.price,
    o.currency
  FROM sales_order_line n
  JOIN sales_order o ON o.order_id = n.order_id
  WHERE n.season_name <> '' AND o.status <> 'canceled' AND o.deleted_at IS NULL
  UNION ALL
  SELECT o.season_name, n.delivery_name, n.order_id, n.quantity, n.fulfilled_quantity, n.price,
    o.currency
  FROM sales_order o
  JOIN sales_order_line n ON n.order_id = o.order_id
  WHERE o.season_name <> '' AND coalesce(n.season_name, '') = ''
    AND o.status <> 'canceled' AND o.deleted_at IS NULL
) l
GROUP BY l.season_name, coalesce(l.delivery_name, ''), coalesce(l.currency, '');

DROP VIEW v_season_cover;
CREATE VIEW v_season_cover AS
SELECT
  season_name, barcode, style_no, nullif(style_name, '') AS style_name,
  nullif(color_name, '') AS color_name, nullif(size, '') AS size, open_preorders, in_stock,
  open_preorders - covered AS missing,
  round(100.0 * covered / open_preorders, 1) AS cover_percent
FROM (
  SELECT
    b.season_name, b.barcode, v.style_no, v.style_name, v.color_name, v.size,
    b.open AS open_preorders, coalesce(s.quantity, 0) AS in_stock,
    min(b.open, max(0, coalesce(s.quantity, 0))) AS covered
  FROM (
    SELECT coalesce(nullif(l.season_name, ''), o.season_name) AS season_name, l.barcode,
      sum(max(0, l.quantity - coalesce(l.fulfilled_quantity, 0))) AS open
    FROM sales_order o
    JOIN sales_order_line l ON l.order_id = o.order_id
    WHERE o.completed = 0 AND o.status <> 'canceled' AND o.deleted_at IS NULL
      AND coalesce(nullif(l.season_name, ''), o.season_name) <> ''
    GROUP BY 1, 2
    HAVING open > 0
  ) b
  LEFT JOIN season_variant v ON v.barcode = b.barcode AND v.season_name = b.season_name
  LEFT JOIN stock_variant s ON s.barcode = b.barcode AND s.deleted_at IS NULL
);
