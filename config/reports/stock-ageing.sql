/*
title: Stock by how long it has not sold
about: >-
  Pieces of the stock list by when their variant was packed last in an accepted delivery; if never,
  by when the list first had it. Of each brand or season.
params:
  by:
    type: text
    about: what makes a row
    choices: [brand, season]
    default: brand
totals: [variants, pieces, wholesale_value, unpriced]
chart: { kind: stacked, x: not_sold_for, y: pieces, series: name }
formats:
  name: text
  variants: count
  pieces: count
  wholesale_value: amount
  unpriced: count
empty: Nothing is in stock.
*/
WITH sold AS MATERIALIZED (
  SELECT l.barcode, max(coalesce(d.created_at, d.first_seen_at)) AS at
  FROM delivery d
  JOIN delivery_line l ON l.order_delivery_id = d.order_delivery_id
  WHERE d.status = 'accepted' AND d.deleted_at IS NULL AND l.fulfilled_quantity > 0
  GROUP BY l.barcode
), aged AS (
  SELECT CASE :by WHEN 'season' THEN v.season_name ELSE v.brand_name END AS name, v.currency,
    v.quantity, v.wsp_price,
    (unixepoch() * 1000 - coalesce(s.at, v.first_seen_at)) / 86400000 AS days
  FROM stock_variant_row v
  LEFT JOIN sold s ON s.barcode = v.barcode
  WHERE v.deleted_at IS NULL AND v.quantity > 0
)
SELECT CASE WHEN days < 30 THEN 'under 30 days' WHEN days < 90 THEN '30 to 90 days'
    WHEN days < 180 THEN '90 to 180 days' WHEN days < 365 THEN '180 to 365 days'
    ELSE 'a year or more' END AS not_sold_for,
  nullif(name, '') AS name, count(*) AS variants, sum(quantity) AS pieces,
  sum(quantity * wsp_price) / 10000.0 AS wholesale_value, nullif(currency, '') AS currency,
  sum(iif(wsp_price IS NULL, quantity, 0)) AS unpriced
FROM aged
GROUP BY 1, 2, nullif(currency, '')
ORDER BY min(days), pieces DESC, name, currency;
