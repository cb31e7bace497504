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

-- What is sold out keeps its names: of these rows somebody wants to know what they are.
CREATE VIEW v_availability AS
SELECT
  r.barcode, v.style_no, v.style_name, v.color_name, v.size,
  iif(v.deleted_at IS NULL, coalesce(v.quantity, 0), 0) AS in_stock, r.pending, r.accepted,
  iif(v.deleted_at IS NULL, coalesce(v.quantity, 0), 0) - r.pending - r.accepted AS free
FROM v_reserved r
LEFT JOIN stock_variant v ON v.barcode = r.barcode;

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
