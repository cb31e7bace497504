/*
title: Stock by how long it has not sold
about: >-
  Pieces of the stock list by when their variant was packed last in an accepted delivery; if never,
  by when the list first had it. Of each brand or season, as counted last: every quarter of an hour
  in which something changed.
params:
  by:
    type: text
    about: what makes a row
    choices: [brand, season]
    default: brand
columns:
  name: "{by}"
totals: [variants, pieces, wholesale_value, unpriced]
chart:
  kind: stacked
  title: Pieces in stock by how long they have not sold
  x: not_sold_for
  y: pieces
  series: name
empty: Nothing is in stock.
*/
SELECT CASE unsold_days WHEN 0 THEN 'under 30 days' WHEN 30 THEN '30 to 90 days'
    WHEN 90 THEN '90 to 180 days' WHEN 180 THEN '180 to 365 days' ELSE 'a year or more'
  END AS not_sold_for,
  iif(:by = 'season', season_name, brand_name) AS name, sum(variants) AS variants,
  sum(pieces) AS pieces, round(sum(wsp_value), 2) AS wholesale_value, currency,
  sum(unpriced) AS unpriced
FROM v_stock_age
GROUP BY unsold_days, 2, currency
ORDER BY unsold_days, pieces DESC NULLS LAST, name NULLS FIRST, currency NULLS FIRST;
