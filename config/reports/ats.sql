/*
title: Available to sell, what is oversold first
about: >-
  Without a style: all that a packed delivery or an open order wants (anything else is as free as
  the lists say). Of a season, by its delivery windows. Red is sold beyond what there is.
params:
  style: { type: text, offers: styles, about: the number of a style, default: "" }
  show:
    type: text
    about: all, or only what is oversold
    choices: [all, oversold]
    default: all
columns:
  quantity: On hand
  to_pack: Open orders
empty: Nothing of it is wanted, or oversold.
*/
WITH to_pack AS MATERIALIZED (
  SELECT barcode, season_name, delivery_name, to_pack FROM v_to_pack
), stock AS (
  SELECT barcode, sum(packed) AS packed, sum(to_pack) AS to_pack
  FROM (
    SELECT barcode, pending + accepted AS packed, 0 AS to_pack FROM v_reserved
    UNION ALL
    SELECT barcode, 0, to_pack FROM to_pack WHERE season_name IS NULL
  ) part
  GROUP BY barcode
), ahead AS (
  -- A window that the season does not name is wanted from the first one on.
  SELECT barcode, season_name, place, sum(to_pack) AS to_pack
  FROM (
    SELECT barcode, season_name, to_pack, coalesce((SELECT min(e.line_no) FROM season_delivery e
      WHERE e.season_name = to_pack.season_name AND e.delivery_name = to_pack.delivery_name), 0)
        AS place
    FROM to_pack
    WHERE season_name IS NOT NULL
  ) placed
  GROUP BY 1, 2, 3
), wanted AS (
  SELECT
    x.barcode, coalesce(v.style_no, a.style_no) AS style_no,
    coalesce(v.style_name, a.style_name) AS style_name,
    coalesce(v.brand_name, a.brand_name) AS brand_name,
    coalesce(v.color_name, a.color_name) AS color_name, coalesce(v.size, a.size) AS size,
    NULL AS season_name, NULL AS delivery_name, NULL AS place,
    iif(v.deleted_at IS NULL AND v.barcode IS NOT NULL, v.quantity, 0) AS quantity, x.packed,
    x.to_pack
  FROM stock x
  LEFT JOIN stock_variant_row v ON v.barcode = x.barcode
  LEFT JOIN season_variant_row a ON a.season_barcode = (
    SELECT min(n.season_barcode) FROM season_variant_row n
    WHERE n.barcode = x.barcode AND v.barcode IS NULL)
  WHERE :style IN ('', coalesce(v.style_no, a.style_no))
  UNION ALL
  SELECT v.barcode, v.style_no, v.style_name, v.brand_name, v.color_name, v.size, v.season_name,
    d.delivery_name, d.line_no, v.quantity, 0,
    sum(iif(d.line_no IS NULL OR x.place <= d.line_no, x.to_pack, 0))
  FROM ahead x
  CROSS JOIN season_variant_row v
  LEFT JOIN season_delivery d ON d.season_name = v.season_name
  WHERE :style = '' AND v.barcode = x.barcode AND v.season_name = x.season_name
    AND v.deleted_at IS NULL
  GROUP BY v.season_barcode, d.line_no, v.barcode, v.style_no, v.style_name, v.brand_name,
    v.color_name, v.size, v.season_name, d.delivery_name, v.quantity
), told AS (
  SELECT barcode, style_no, style_name, brand_name, color_name, size, season_name, delivery_name,
    place, quantity, packed, to_pack,
    iif((SELECT s.value FROM daemon_state s
      WHERE s.key = iif(season_name IS NULL, 'stock_quantity', 'season_quantity'))
      IS NOT DISTINCT FROM 'free',
      quantity, quantity - packed - to_pack) AS ats
  FROM wanted
  -- With a style: what is off the list and still wanted. The rest of it is in the view.
  WHERE :style = '' OR NOT EXISTS (SELECT 1 FROM stock_variant_row v
    WHERE v.barcode = wanted.barcode AND v.deleted_at IS NULL)
  UNION ALL
  SELECT barcode, style_no, style_name, brand_name, color_name, size, season_name, delivery_name,
    (SELECT min(e.line_no) FROM season_delivery e
      WHERE e.season_name = v_ats.season_name AND e.delivery_name = v_ats.delivery_name),
    quantity, packed, to_pack, ats
  FROM v_ats
  WHERE :style <> '' AND style_no = :style
)
SELECT style_no, nullif(style_name, '') AS style_name, nullif(brand_name, '') AS brand_name,
  nullif(color_name, '') AS color_name, nullif(size, '') AS size, season_name, delivery_name,
  barcode, quantity, packed, to_pack, ats
FROM told
WHERE :show <> 'oversold' OR ats < 0
ORDER BY ats NULLS LAST, style_no NULLS FIRST, color_name NULLS FIRST,
  (SELECT z.rank FROM v_size z WHERE z.size = told.size) NULLS FIRST, season_name NULLS FIRST,
  place NULLS FIRST, barcode;
