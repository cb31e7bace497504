/*
title: Pre-orders by season and delivery window
*/
SELECT season_name, delivery_name, orders, pieces, fulfilled, amount, currency, lines_without_price
FROM v_preorder_book
ORDER BY season_name, delivery_name, currency;
