/*
title: The value of the stock by brand
about: >-
  At wholesale prices, as counted last on that day or before; pieces without such a price are
  not in the value.
params:
  at: { type: time, about: the day, default: 0s }
totals: [variants, in_stock, pieces, wholesale_value, unpriced]
chart: { kind: bar, x: brand_name, y: pieces }
formats:
  day: date
  brand_name: text
  variants: count
  in_stock: count
  pieces: count
  wholesale_value: amount
  unpriced: count
empty: The stock of that day was not counted.
*/
SELECT max(day) AS day, brand_name, sum(variants) AS variants, sum(in_stock) AS in_stock, sum(pieces) AS pieces,
  round(sum(wsp_value), 2) AS wholesale_value, currency, sum(unpriced) AS unpriced
FROM v_stock_day
WHERE day = (SELECT max(day) FROM v_stock_day WHERE day <= date(:at / 1000, 'unixepoch', (
  SELECT z.modifier FROM zone_offset z
  WHERE z.since <= :at / 1000 ORDER BY z.since DESC LIMIT 1)))
GROUP BY brand_name, currency
ORDER BY sum(sum(pieces)) OVER (PARTITION BY brand_name) DESC, brand_name NULLS FIRST,
  currency NULLS FIRST;
