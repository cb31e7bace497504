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
WITH aged AS (
  SELECT CASE :by WHEN 'season' THEN v.season_name ELSE v.brand_name END AS name, v.currency,
    v.quantity, v.wsp_price,
    -- The newest delivery by its number: then the index of barcodes alone tells it.
    (unixepoch() * 1000 - coalesce((
      SELECT coalesce(d.created_at, d.first_seen_at)
      FROM delivery d
      WHERE d.order_delivery_id = (
        SELECT max(l.order_delivery_id)
        FROM delivery_line l
        WHERE l.barcode = v.barcode AND l.order_delivery_id NOT IN (
          SELECT n.order_delivery_id FROM delivery n
          WHERE n.status <> 'accepted' OR n.deleted_at IS NOT NULL))
    ), v.first_seen_at)) / 86400000 AS days
  FROM stock_variant_row v
  WHERE v.deleted_at IS NULL AND v.quantity > 0
  -- A limit keeps SQLite from looking for the delivery anew wherever the days are named.
  LIMIT -1
)
SELECT CASE bucket WHEN 0 THEN 'under 30 days' WHEN 1 THEN '30 to 90 days'
    WHEN 2 THEN '90 to 180 days' WHEN 3 THEN '180 to 365 days' ELSE 'a year or more'
  END AS not_sold_for,
  name, variants, pieces, wholesale_value, currency, unpriced
FROM (
  SELECT CASE WHEN days < 30 THEN 0 WHEN days < 90 THEN 1 WHEN days < 180 THEN 2 WHEN days < 365 THEN 3
      ELSE 4 END AS bucket,
    nullif(name, '') AS name, count(*) AS variants, sum(quantity) AS pieces,
    sum(quantity * wsp_price) / 10000.0 AS wholesale_value, nullif(currency, '') AS currency,
    sum(iif(wsp_price IS NULL, quantity, 0)) AS unpriced
  FROM aged
  GROUP BY name, currency, bucket
) told
ORDER BY bucket, pieces DESC, name NULLS FIRST, currency NULLS FIRST;
