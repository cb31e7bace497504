/*
title: What came back, by style, size and reason
about: Refunds without rejected and canceled ones. The reason is the refund's type at the service.
params:
  since: { type: time, from: day, about: refunded after this; its whole day counts, default: 90d }
  style: { type: text, about: the number of a style, default: "" }
totals: [pieces, restocked, amount]
chart: { kind: stacked, x: size, y: pieces, series: reason }
formats:
  style_no: text
  size: text
  refunds: count
  pieces: count
  restocked: count
  amount: amount
  unpriced: count
empty: Nothing came back in this time.
*/
WITH line AS (
  SELECT r.order_refund_id, coalesce(v.style_no, a.style_no) AS style_no,
    coalesce(v.style_name, a.style_name) AS style_name, coalesce(v.size, a.size) AS size,
    nullif(l.refund_type, '') AS reason, l.refunded_quantity AS pieces,
    iif(l.restock = 1, l.refunded_quantity, 0) AS restocked, l.price,
    (SELECT c.currency FROM order_currency c WHERE c.order_id = r.order_id) AS currency
  FROM refund r
  JOIN refund_line l ON l.order_refund_id = r.order_refund_id
  LEFT JOIN stock_variant_row v ON v.barcode = l.barcode
  LEFT JOIN season_variant_row a ON a.season_barcode = (
    SELECT min(n.season_barcode) FROM season_variant_row n
    WHERE n.barcode = l.barcode AND v.barcode IS NULL)
  WHERE coalesce(r.created_at, r.first_seen_at) >= :since
    AND r.status NOT IN ('rejected', 'canceled') AND r.deleted_at IS NULL
)
SELECT style_no, nullif(style_name, '') AS style_name, nullif(size, '') AS size,
  coalesce(reason, '(none)') AS reason, count(DISTINCT order_refund_id) AS refunds,
  sum(pieces) AS pieces, sum(restocked) AS restocked, sum(pieces * price) / 10000.0 AS amount,
  currency, count(*) - count(pieces * price) AS unpriced
FROM line
WHERE :style IN ('', style_no)
GROUP BY style_no, style_name, size, reason, currency
ORDER BY (SELECT z.rank FROM v_size z WHERE z.size = line.size) NULLS LAST, size NULLS FIRST,
  pieces DESC NULLS LAST, style_no NULLS FIRST, reason, currency NULLS FIRST;
