/*
title: What came back, by style, size and reason
about: >-
  Refunds without rejected and canceled ones, by their type at the service. The rate: of the pieces
  of this style and size in accepted deliveries that were packed in the same time; what came back
  may have been packed before.
params:
  since: { type: time, from: day, about: refunded after this; its whole day counts, default: 90d }
  style: { type: text, offers: styles, about: the number of a style, default: "" }
columns:
  reason: Type of refund
  pieces: Returned (pcs)
  restocked: Back in stock (pcs)
  shipped: Shipped (pcs)
totals: [pieces, restocked, amount]
chart: { kind: stacked, title: Returned pieces by size, x: size, y: pieces, series: reason }
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
), shipped AS MATERIALIZED (
  SELECT style_no, size, sum(pieces) AS shipped
  FROM v_delivery_line
  WHERE status = 'accepted' AND gone = 0
    AND packed_at >= strftime('%Y-%m-%dT%H:%M:%SZ', :since / 1000, 'unixepoch')
    AND style_no IN (SELECT n.style_no FROM line n)
  GROUP BY style_no, size
)
SELECT b.style_no, b.style_name, b.size, b.reason, b.refunds, b.pieces, b.restocked, s.shipped,
  round(100.0 * b.pieces / nullif(s.shipped, 0), 1) AS return_percent, b.amount, b.currency,
  b.unpriced
FROM (
  SELECT style_no, nullif(style_name, '') AS style_name, nullif(size, '') AS size,
    coalesce(reason, '(none)') AS reason, count(DISTINCT order_refund_id) AS refunds,
    sum(pieces) AS pieces, sum(restocked) AS restocked, sum(pieces * price) / 10000.0 AS amount,
    currency, count(*) - count(pieces * price) AS unpriced
  FROM line
  WHERE :style IN ('', style_no)
  GROUP BY style_no, style_name, size, reason, currency
) b
LEFT JOIN shipped s ON s.style_no = b.style_no AND s.size IS NOT DISTINCT FROM b.size
-- Rows of one style stand together, the style with the most pieces first.
ORDER BY sum(b.pieces) OVER (PARTITION BY b.style_no) DESC NULLS LAST, b.style_no NULLS FIRST,
  (SELECT z.rank FROM v_size z WHERE z.size = b.size) NULLS LAST, b.size NULLS FIRST,
  b.pieces DESC NULLS LAST, b.reason, b.currency NULLS FIRST;
