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
