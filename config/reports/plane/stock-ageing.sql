WITH packed AS (
  SELECT l.barcode, max(l.order_delivery_id) AS order_delivery_id
  FROM delivery_line l
  JOIN delivery d ON d.order_delivery_id = l.order_delivery_id
  WHERE d.status = 'accepted' AND d.deleted_at IS NULL
  GROUP BY l.barcode
), aged AS (
  SELECT CASE :by WHEN 'season' THEN v.season_name ELSE v.brand_name END AS name, v.currency,
    v.quantity, v.wsp_price,
    (unixepoch() * 1000 - coalesce(d.created_at, d.first_seen_at, v.first_seen_at)) / 86400000
      AS days
  FROM stock_variant_row v
  LEFT JOIN packed p ON p.barcode = v.barcode
  LEFT JOIN delivery d ON d.order_delivery_id = p.order_delivery_id
  WHERE v.deleted_at IS NULL AND v.quantity > 0
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
