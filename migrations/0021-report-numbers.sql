-- What has a tracking number has shipped: it is not in the stock any more, and was taken off again
-- for as long as the order was open. Only what left since the stock was read is still in it.
DROP VIEW v_availability;
DROP VIEW v_reserved;
CREATE VIEW v_reserved AS
SELECT
  l.barcode,
  sum(CASE d.status WHEN 'pending' THEN l.fulfilled_quantity ELSE 0 END) AS pending,
  sum(CASE d.status WHEN 'accepted' THEN l.fulfilled_quantity ELSE 0 END) AS accepted
FROM sales_order o
JOIN delivery d ON d.order_id = o.order_id
JOIN delivery_line l ON l.order_delivery_id = d.order_delivery_id
WHERE o.completed = 0 AND o.deleted_at IS NULL AND d.deleted_at IS NULL
  AND (d.status = 'pending' OR d.status = 'accepted' AND (
    d.tracking_numbers = '[]'
    OR d.changed_at >= coalesce(
      (SELECT s.complete_at FROM stream_state s WHERE s.stream = 'stock'), 0)))
GROUP BY l.barcode;

-- What is sold out keeps its names, and what was only ordered ahead has those of its season: of these
-- rows somebody wants to know what they are.
CREATE VIEW v_availability AS
SELECT
  r.barcode,
  coalesce(v.style_no, a.style_no) AS style_no, coalesce(v.style_name, a.style_name) AS style_name,
  coalesce(v.color_name, a.color_name) AS color_name, coalesce(v.size, a.size) AS size,
  iif(v.deleted_at IS NULL, coalesce(v.quantity, 0), 0) AS in_stock, r.pending, r.accepted,
  iif(v.deleted_at IS NULL, coalesce(v.quantity, 0), 0) - r.pending - r.accepted AS free
FROM v_reserved r
LEFT JOIN stock_variant v ON v.barcode = r.barcode
LEFT JOIN season_variant a ON a.season_barcode = (
  SELECT n.season_barcode FROM season_variant n
  WHERE n.barcode = r.barcode AND v.barcode IS NULL LIMIT 1);

-- A variant without a size made by_size no JSON, and two of the same size one hid the other; styles
-- of two brands with the same number, and colors without a code, were added up to one.
DROP VIEW v_stock_grid;
CREATE VIEW v_stock_grid AS
SELECT
  v.style_no, v.style_name, v.brand_name, v.color_code, v.color_name,
  count(DISTINCT coalesce(v.size, '')) AS sizes, sum(v.quantity) AS quantity,
  (SELECT json_group_object(s.size, s.quantity) FROM (
    SELECT coalesce(w.size, '') AS size, sum(w.quantity) AS quantity
    FROM stock_variant w
    WHERE w.deleted_at IS NULL AND w.style_no = v.style_no AND w.color_code IS v.color_code
      AND w.brand_name IS v.brand_name
      AND (w.color_code IS NOT NULL OR w.color_name IS v.color_name)
    GROUP BY 1) s) AS by_size
FROM stock_variant v
WHERE v.deleted_at IS NULL AND v.style_no IS NOT NULL
GROUP BY v.style_no, v.color_code, v.brand_name, iif(v.color_code IS NULL, v.color_name, NULL);

-- A pre-order may name its season in its head alone: then its lines were in neither of these. What
-- one order got too much was taken off what another one waits for, and stock below zero covered
-- less than nothing.
DROP VIEW v_preorder_book;
CREATE VIEW v_preorder_book AS
SELECT
  l.season_name, l.delivery_name,
  count(DISTINCT l.order_id) AS orders,
  sum(l.quantity) AS pieces,
  sum(coalesce(l.fulfilled_quantity, 0)) AS fulfilled,
  l.currency,
  sum(l.quantity * l.price) / 100.0 AS amount,
  sum(l.price IS NULL) AS lines_without_price
FROM (
  SELECT n.season_name, n.delivery_name, n.order_id, n.quantity, n.fulfilled_quantity, n.price,
    o.currency
  FROM sales_order_line n
  JOIN sales_order o ON o.order_id = n.order_id
  WHERE n.season_name IS NOT NULL AND o.status <> 'canceled' AND o.deleted_at IS NULL
  UNION ALL
  SELECT o.season_name, n.delivery_name, n.order_id, n.quantity, n.fulfilled_quantity, n.price,
    o.currency
  FROM sales_order o
  JOIN sales_order_line n ON n.order_id = o.order_id
  WHERE o.season_name IS NOT NULL AND n.season_name IS NULL
    AND o.status <> 'canceled' AND o.deleted_at IS NULL
) l
GROUP BY l.season_name, l.delivery_name, l.currency;

DROP VIEW v_season_cover;
CREATE VIEW v_season_cover AS
SELECT
  season_name, barcode, style_no, style_name, color_name, size, open_preorders, in_stock,
  open_preorders - covered AS missing,
  round(100.0 * covered / open_preorders, 1) AS cover_percent
FROM (
  SELECT
    b.season_name, b.barcode, v.style_no, v.style_name, v.color_name, v.size,
    b.open AS open_preorders, coalesce(s.quantity, 0) AS in_stock,
    min(b.open, max(0, coalesce(s.quantity, 0))) AS covered
  FROM (
    SELECT coalesce(l.season_name, o.season_name) AS season_name, l.barcode,
      sum(max(0, l.quantity - coalesce(l.fulfilled_quantity, 0))) AS open
    FROM sales_order o
    JOIN sales_order_line l ON l.order_id = o.order_id
    WHERE o.completed = 0 AND o.status <> 'canceled' AND o.deleted_at IS NULL
      AND coalesce(l.season_name, o.season_name) IS NOT NULL
    GROUP BY 1, 2
    HAVING open > 0
  ) b
  LEFT JOIN season_variant v ON v.barcode = b.barcode AND v.season_name = b.season_name
  LEFT JOIN stock_variant s ON s.barcode = b.barcode AND s.deleted_at IS NULL
);

-- Who asks for the stock of a style at some time asks also for what was of that style then, which
-- hardly ever changes: a few entries of a feed of millions.
CREATE INDEX change_style_left ON change (diff ->> '$.style_no[0]')
WHERE op = 'update' AND entity = 'stock_variant' AND diff ->> '$.style_no[0]' IS NOT NULL;
