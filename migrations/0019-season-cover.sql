-- It looked for a key that no variant has: the columns of the variant were always empty.
DROP VIEW v_season_cover;
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
LEFT JOIN season_variant v ON v.barcode = b.barcode AND v.season_name = b.season_name
LEFT JOIN stock_variant s ON s.barcode = b.barcode AND s.deleted_at IS NULL;
