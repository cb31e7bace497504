SELECT barcode, color_name, size, quantity
FROM (
  SELECT v.barcode, v.color_name, v.size,
    iif(NOT known, NULL, coalesce(
      (SELECT (c.diff::json #>> '{quantity,0}')::bigint
       FROM change c
       WHERE c.entity = 'stock_variant' AND c.key = v.barcode AND c.at > :at
         AND c.diff::json -> 'quantity' IS NOT NULL
       ORDER BY c.seq LIMIT 1),
      v.quantity)) AS quantity,
    NOT known OR CASE
      (SELECT c.op FROM change c
       WHERE c.entity = 'stock_variant' AND c.key = v.barcode AND c.at > :at
         AND c.op IN ('delete', 'restore')
       ORDER BY c.seq LIMIT 1)
      WHEN 'delete' THEN true
      WHEN 'restore' THEN false
      ELSE v.deleted_at IS NULL
    END AS there
  FROM stock_variant v, (
    -- Not before the first change that is kept, and not in the time to come.
    SELECT :at <= 1000 * (unixepoch() + 1) AND coalesce(:at >= coalesce(
      (SELECT at FROM change WHERE entity = 'stock_variant' ORDER BY seq LIMIT 1),
      (SELECT at FROM change ORDER BY seq LIMIT 1)), true) AS known
  ) feed
  WHERE (v.first_seen_at <= :at OR NOT known)
    -- Of this style then, whatever it is of now.
    AND v.barcode IN (
      SELECT barcode FROM stock_variant WHERE style_no = :style
      UNION ALL
      SELECT key FROM change
      WHERE op IN ('update', 'restore') AND entity = 'stock_variant'
        AND diff LIKE '%"style_no"%' AND diff::json #>> '{style_no,0}' = :style AND at > :at)
    AND coalesce(
      (SELECT c.diff::json #> '{style_no,0}'
       FROM change c
       WHERE c.entity = 'stock_variant' AND c.key = v.barcode AND c.at > :at
         AND c.diff::json -> 'style_no' IS NOT NULL
       ORDER BY c.seq LIMIT 1),
      to_json(v.style_no)) #>> '{}' = :style
) shown
WHERE there
ORDER BY color_name NULLS FIRST,
  (SELECT z.rank FROM v_size z WHERE z.size = shown.size) NULLS FIRST, size NULLS FIRST, barcode;
