/*
title: Ordered at another price than the list says
about: >-
  Lines of orders against the wholesale price of the stock list, or of their season's list, as it is
  now, in the same currency; what was given away most first.
params:
  since: { type: time, from: day, about: ordered after this; its whole day counts, default: 28d }
  percent: { type: number, about: differences of this many percent at least, default: 1 }
totals: [pieces, amount]
columns: { amount: Difference in value }
empty: All lines of this time have the price of the list.
*/
WITH line AS (
  SELECT o.order_id, o.order_no, o.company, o.account_no,
    strftime('%Y-%m-%dT%H:%M:%SZ', coalesce(o.created_at, o.first_seen_at) / 1000, 'unixepoch')
      AS ordered_at,
    l.line_no, l.quantity, l.price,
    coalesce(a.style_no, v.style_no) AS style_no, coalesce(a.style_name, v.style_name) AS style_name,
    coalesce(a.color_name, v.color_name) AS color_name, coalesce(a.size, v.size) AS size,
    iif(a.wsp_price IS NOT NULL, a.wsp_price, v.wsp_price) AS list_price,
    upper(trim(iif(a.wsp_price IS NOT NULL, a.currency, v.currency))) AS list_currency,
    upper(trim(iif(trim(o.currency) <> '', o.currency,
      (SELECT c.currency FROM order_currency c WHERE c.order_id = o.order_id)))) AS currency
  FROM sales_order o
  JOIN sales_order_line l ON l.order_id = o.order_id
  LEFT JOIN stock_variant_row v ON v.barcode = l.barcode
  LEFT JOIN season_variant_row a ON a.barcode = l.barcode
    AND a.season_name = coalesce(nullif(l.season_name, ''), o.season_name)
  WHERE strftime('%Y-%m-%dT%H:%M:%SZ', coalesce(o.created_at, o.first_seen_at) / 1000, 'unixepoch')
      >= strftime('%Y-%m-%dT%H:%M:%SZ', :since / 1000, 'unixepoch')
    AND o.status <> 'canceled' AND o.deleted_at IS NULL
    AND l.price IS NOT NULL
)
SELECT ordered_at, order_no, account_no, nullif(company, '') AS company, style_no, style_name,
  color_name, size, quantity AS pieces, price / 10000.0 AS price, list_price / 10000.0 AS list_price,
  (2000 * (price - list_price) + iif(price < list_price, -list_price, list_price))
    / (2 * list_price) / 10.0 AS difference_percent,
  quantity * (price - list_price) / 10000.0 AS amount, currency
FROM line
WHERE list_price > 0 AND list_currency = currency AND price <> list_price
  AND 100 * abs(price - list_price) >= :percent * list_price
ORDER BY amount, ordered_at, order_id, line_no;
