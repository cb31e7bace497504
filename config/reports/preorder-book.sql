/*
title: Pre-orders by season and delivery window
totals: [pieces, fulfilled, amount, lines_without_price]
chart: { kind: stacked, x: season_name, y: pieces, series: delivery_name }
formats:
  orders: count
  pieces: count
  fulfilled: count
  amount: amount
  lines_without_price: count
empty: There are no pre-orders.
*/
SELECT season_name, delivery_name, orders, pieces, fulfilled, amount, currency, lines_without_price
FROM v_preorder_book
ORDER BY season_name, delivery_name, currency;
