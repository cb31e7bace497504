/*
title: Pieces delivered per week and style, against the stock that is left
about: Accepted deliveries by the week they were packed in (from Monday), the best sellers first.
params:
  since: { type: time, about: the beginning; its whole week counts, default: 28d }
  top: { type: number, about: rows at most, default: 200 }
*/
SELECT
  week, style_no, style_name, delivered, in_stock,
  round(100.0 * delivered / (delivered + in_stock), 1) AS sell_through_percent
FROM (
  SELECT w.*, iif(w.style_no IS NULL, NULL, coalesce((
    SELECT sum(s.quantity)
    FROM stock_variant s
    WHERE s.style_no = w.style_no AND s.deleted_at IS NULL), 0)) AS in_stock
  FROM (
    SELECT
      date(coalesce(d.created_at, d.first_seen_at) / 1000, 'unixepoch', 'weekday 0', '-6 days')
        AS week,
      coalesce(v.style_no, a.style_no) AS style_no,
      coalesce(v.style_name, a.style_name) AS style_name,
      sum(l.fulfilled_quantity) AS delivered
    FROM delivery d
    JOIN delivery_line l ON l.order_delivery_id = d.order_delivery_id
    LEFT JOIN stock_variant v ON v.barcode = l.barcode
    -- What was only ordered ahead was perhaps never in the stock list.
    LEFT JOIN season_variant a ON a.season_barcode = (
      SELECT n.season_barcode FROM season_variant n
      WHERE n.barcode = l.barcode AND v.style_no IS NULL LIMIT 1)
    WHERE coalesce(d.created_at, d.first_seen_at) >=
        1000 * unixepoch(:since / 1000, 'unixepoch', 'weekday 0', '-6 days', 'start of day')
      AND d.status = 'accepted' AND d.deleted_at IS NULL
    GROUP BY 1, 2
    ORDER BY delivered DESC
    LIMIT :top
  ) w
)
ORDER BY week DESC, delivered DESC;
