/*
title: Stock of a style, a row per color and a column per size
about: Pieces in the stock list; a size that the list does not name for a color stays empty.
params:
  style: { type: text, about: the number of the style }
pivot:
  rows: [style_no, style_name, color_code, color_name]
  column: size
  value: quantity
  order: size_order
totals: [quantity]
formats: { quantity: heat }
empty: The stock list has no such style.
*/
SELECT style_no, style_name, color_code, color_name, size, quantity,
  -- Letters from small to large, then numbers.
  coalesce(nullif(instr(' XXS XS S M L XL XXL XXXL ', ' ' || size || ' '), 0),
    100 + CAST(size AS REAL)) AS size_order
FROM v_stock
WHERE style_no = :style
ORDER BY color_code, color_name;
