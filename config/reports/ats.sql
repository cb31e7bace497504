/*
title: Available to sell, what is oversold first
about: >-
  Without a style: all that a packed delivery or an open order wants (anything else is as free as
  the lists say). Of a season, by its delivery windows. Red is sold beyond what there is.
params:
  style: { type: text, about: the number of a style, default: "" }
  below: { type: number, about: show what has fewer pieces left than this, default: 1000000000 }
formats:
  quantity: count
  packed: count
  to_pack: count
  ats: heat
empty: Nothing has so few pieces left.
*/
WITH wanted AS MATERIALIZED (
  SELECT barcode FROM v_to_pack WHERE :style = ''
  UNION
  SELECT barcode FROM v_reserved WHERE :style = ''
)
SELECT style_no, style_name, brand_name, color_name, size, season_name, delivery_name, barcode,
  quantity, packed, to_pack, ats
FROM (
  SELECT *
  FROM v_ats
  WHERE :style <> '' AND style_no = :style
  UNION ALL
  SELECT *
  FROM v_ats
  WHERE :style = '' AND barcode IN (SELECT barcode FROM wanted)
  UNION ALL
  -- Not in the stock list any more, and still wanted.
  SELECT barcode, style_no, style_name, brand_name, color_code, color_name, size, size_rank,
    season_name, NULL, quantity, packed, to_pack, -missing
  FROM v_oversold o
  WHERE season_name IS NULL AND (:style = '' OR style_no = :style)
    AND NOT EXISTS (SELECT 1 FROM stock_variant_row v
      WHERE v.barcode = o.barcode AND v.deleted_at IS NULL)
)
WHERE ats < :below
ORDER BY ats, style_no, color_name, size_rank, season_name, delivery_name, barcode;
