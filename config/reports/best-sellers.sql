/*
title: What sold, the best first
about: Accepted deliveries by style, by the day they were packed on.
params:
  since: { type: time, from: day, about: the beginning; its whole day counts, default: 7d }
  brand: { type: text, offers: brands, about: one brand alone, default: "" }
  top: { type: number, label: Rows, about: rows at most, default: 50 }
totals: [pieces, amount]
chart:
  kind: bar
  title: Pieces sold by style
  x: style_no
  label: style_name
  y: pieces
  highest: 20
empty: Nothing was sold in this time.
*/
SELECT style_no, style_name, brand_name, deliveries, pieces, round(amount, 2) AS amount, currency
FROM (
  SELECT style_no, style_name, brand_name, count(DISTINCT order_delivery_id) AS deliveries,
    sum(pieces) AS pieces, sum(amount) AS amount, currency
  FROM v_delivery_line
  WHERE status = 'accepted' AND gone = 0
    AND packed_at >= strftime('%Y-%m-%dT%H:%M:%SZ', :since / 1000, 'unixepoch')
    AND :brand IN ('', brand_name)
  GROUP BY style_no, style_name, brand_name, currency
) sold
-- Rows of one style, of several currencies, stand together.
ORDER BY sum(pieces) OVER (PARTITION BY style_no) DESC NULLS LAST, style_no NULLS FIRST,
  pieces DESC NULLS LAST, currency NULLS FIRST, style_name NULLS FIRST, brand_name NULLS FIRST
LIMIT :top;
