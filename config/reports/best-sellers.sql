/*
title: What sold, the best first
about: Accepted deliveries by style, by the day they were packed on (UTC).
params:
  since: { type: time, about: the beginning; its whole day counts, default: 7d }
  top: { type: number, about: rows at most, default: 50 }
totals: [pieces, amount]
chart: { kind: bar, x: style_no, y: pieces }
formats:
  style_no: text
  deliveries: count
  pieces: count
  amount: amount
empty: Nothing was sold in this time.
*/
SELECT style_no, style_name, brand_name, count(DISTINCT order_delivery_id) AS deliveries,
  sum(pieces) AS pieces, round(sum(amount), 2) AS amount, currency
FROM v_delivery_line
WHERE status = 'accepted' AND gone = 0
  AND packed_at >= strftime('%Y-%m-%dT00:00:00Z', :since / 1000, 'unixepoch')
GROUP BY style_no, style_name, brand_name, currency
ORDER BY pieces DESC, style_no, currency
LIMIT :top;
