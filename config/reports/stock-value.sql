/*
title: The value of the stock by brand
about: >-
  At wholesale prices, as counted last on that day or before; pieces without such a price are
  not in the value.
params:
  at: { type: time, label: As of, about: the day, default: 0s }
totals: [variants, in_stock, pieces, wholesale_value, unpriced]
columns: { in_stock: Variants in stock }
chart:
  kind: bar
  title: Value of the stock at wholesale prices by brand
  x: brand_name
  y: wholesale_value
  highest: 20
empty: The stock of that day was not counted.
*/
SELECT max(day) AS day, brand_name, sum(variants) AS variants, sum(in_stock) AS in_stock, sum(pieces) AS pieces,
  round(sum(wsp_value), 2) AS wholesale_value, currency, sum(unpriced) AS unpriced
FROM v_stock_day
WHERE day = (SELECT max(day) FROM v_stock_day WHERE day <= date(:at / 1000, 'unixepoch', (
  SELECT z.modifier FROM zone_offset z
  WHERE z.since <= :at / 1000 ORDER BY z.since DESC LIMIT 1)))
GROUP BY brand_name, currency
ORDER BY currency NULLS LAST, wholesale_value DESC NULLS LAST, pieces DESC, brand_name NULLS FIRST;
