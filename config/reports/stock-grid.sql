/*
title: Stock of a style, a row per color and figure, a column per size
about: >-
  In stock; packed and not shipped; what open orders want from stock; what is free then; what
  pre-orders want; and how much of all that is wanted the stock covers (percent). A size that the
  list does not name for a color stays empty.
params:
  style: { type: text, offers: styles, about: the number of the style }
  show:
    type: text
    about: one figure alone
    choices: [all, in stock, packed, open orders, free, pre-orders, cover %]
    default: all
pivot:
  rows: [brand_name, style_no, style_name, color_code, color_name, figure, total]
  column: size
  value: pieces
  order: size_rank
  shade: { column: figure, value: free }
groups: [color_name, color_code]
above: [brand_name, style_no, style_name]
columns:
  figure: Pieces
formats: { pieces: heat, total: number }
empty: Neither the stock list nor an open order has such a style.
*/
WITH unlisted AS (
  SELECT barcode, brand_name, style_no, style_name, color_code, color_name, size
  FROM stock_variant_row
  WHERE style_no = :style AND deleted_at IS NOT NULL
  UNION ALL
  SELECT v.barcode, v.brand_name, v.style_no, v.style_name, v.color_code, v.color_name, v.size
  FROM season_variant_row v
  WHERE v.style_no = :style
    AND v.season_barcode = (
      SELECT min(n.season_barcode) FROM season_variant_row n WHERE n.barcode = v.barcode)
    AND NOT EXISTS (SELECT 1 FROM stock_variant_row s WHERE s.barcode = v.barcode)
), variant AS (
  SELECT barcode, brand_name, style_no, style_name, color_code, color_name, size, size_rank,
    quantity, packed, to_pack, ats
  FROM v_ats
  WHERE style_no = :style AND season_name IS NULL
  UNION ALL
  SELECT u.barcode, nullif(u.brand_name, ''), u.style_no, nullif(u.style_name, ''),
    nullif(u.color_code, ''), nullif(u.color_name, ''), nullif(u.size, ''),
    (SELECT z.rank FROM v_size z WHERE z.size = u.size), 0, u.packed, u.to_pack,
    iif((SELECT s.value FROM daemon_state s WHERE s.key = 'stock_quantity') IS NOT DISTINCT FROM 'free',
      0, -u.packed - u.to_pack)
  FROM (
    SELECT unlisted.*, coalesce(r.pending + r.accepted, 0) AS packed,
      (SELECT coalesce(sum(p.to_pack), 0) FROM v_to_pack p
        WHERE p.barcode = unlisted.barcode AND p.season_name IS NULL) AS to_pack
    FROM unlisted
    LEFT JOIN v_reserved r ON r.barcode = unlisted.barcode
  ) u
  -- Sold out, and still wanted.
  WHERE u.packed + u.to_pack > 0
), known AS (
  SELECT *, packed + to_pack + preorders AS wanted,
    min(max(0, quantity), packed + to_pack + preorders) AS covered
  FROM (
    SELECT *, (SELECT coalesce(sum(p.to_pack), 0) FROM v_to_pack p
      WHERE p.barcode = variant.barcode AND p.season_name IS NOT NULL) AS preorders
    FROM variant
  ) told
), cell AS (
  SELECT brand_name, style_no, style_name, color_code, color_name, size, min(size_rank) AS size_rank,
    sum(quantity) AS quantity, sum(packed) AS packed, sum(to_pack) AS to_pack, sum(ats) AS ats,
    sum(preorders) AS preorders, sum(wanted) AS wanted, sum(covered) AS covered
  FROM known
  GROUP BY 1, 2, 3, 4, 5, 6
)
SELECT brand_name, style_no, style_name, color_code, color_name, figure,
  iif(place = 6, CAST(round(100.0 * sum(part) OVER line / sum(whole) OVER line) AS INTEGER),
    sum(part) OVER line) AS total,
  size,
  iif(place = 6, CAST(round(100.0 * part / whole) AS INTEGER), part) AS pieces,
  size_rank
FROM (
  SELECT c.*, f.column1 AS place, f.column2 AS figure, nullif(wanted, 0) AS whole,
    CASE f.column1 WHEN 1 THEN quantity WHEN 2 THEN packed WHEN 3 THEN ats WHEN 4 THEN to_pack
      WHEN 5 THEN preorders ELSE iif(wanted > 0, covered, NULL) END AS part
  FROM cell c, (VALUES (1, 'in stock'), (2, 'packed'), (3, 'free'), (4, 'open orders'),
    (5, 'pre-orders'), (6, 'cover %')) f
) told
WHERE :show IN ('', 'all', figure)
WINDOW line AS (PARTITION BY brand_name, style_no, style_name, color_code, color_name, place)
ORDER BY brand_name NULLS FIRST, color_name NULLS FIRST, color_code NULLS FIRST,
  style_name NULLS FIRST, place, size_rank NULLS LAST, size NULLS FIRST;
