/*
title: Stock of a style, a row per color, with the sizes as JSON
about: Sizes are the members of by_size.
params:
  style: { type: text, about: the number of the style }
*/
SELECT style_no, style_name, color_code, color_name, quantity, by_size
FROM v_stock_grid
WHERE style_no = :style
ORDER BY color_code;
