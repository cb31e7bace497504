/*
title: Stock of a style at some time
about: What was there then, by the change feed; no quantity where it does not tell.
params:
  style: { type: text, offers: styles, about: the number of the style }
  at: { type: time, label: As of, about: the moment; without it now, default: 0s }
columns:
  quantity: On hand
totals: [quantity]
empty: There was nothing of this style then.
*/
SELECT barcode, color_name, size, quantity
FROM (
  SELECT v.barcode, v.color_name, v.size,
    iif(NOT known, NULL, coalesce(
      (SELECT json_extract(c.diff, '$.quantity[0]')
       FROM change c
       WHERE c.entity = 'stock_variant' AND c.key = v.barcode AND c.at > :at
         AND json_type(c.diff, '$.quantity') IS NOT NULL
       ORDER BY c.seq LIMIT 1),
      v.quantity)) AS quantity,
    NOT known OR CASE
      (SELECT c.op FROM change c
       WHERE c.entity = 'stock_variant' AND c.key = v.barcode AND c.at > :at
         AND c.op IN ('delete', 'restore')
       ORDER BY c.seq LIMIT 1)
      WHEN 'delete' THEN 1
      WHEN 'restore' THEN 0
      ELSE v.deleted_at IS NULL
    END AS there
  FROM stock_variant v, (
    -- Not before the first change that is kept, and not in the time to come.
    SELECT :at <= 1000 * (unixepoch() + 1) AND coalesce(:at >= coalesce(
      (SELECT at FROM change NOT INDEXED WHERE entity = 'stock_variant' ORDER BY seq LIMIT 1),
      (SELECT at FROM change ORDER BY seq LIMIT 1)), 1) AS known
  )
  WHERE (v.first_seen_at <= :at OR NOT known)
    -- Of this style then, whatever it is of now.
    AND (v.style_no = :style OR v.barcode IN (
      SELECT key FROM change
      WHERE op IN ('update', 'restore') AND entity = 'stock_variant'
        AND diff ->> '$.style_no[0]' = :style AND at > :at))
    AND coalesce(
      (SELECT c.diff -> '$.style_no[0]'
       FROM change c
       WHERE c.entity = 'stock_variant' AND c.key = v.barcode AND c.at > :at
         AND json_type(c.diff, '$.style_no') IS NOT NULL
       ORDER BY c.seq LIMIT 1),
      json_quote(v.style_no)) ->> '$' = :style
) shown
WHERE there
ORDER BY color_name, (SELECT z.rank FROM v_size z WHERE z.size = shown.size), size, barcode;
