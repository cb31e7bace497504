/*
title: How much of what was ordered has been shipped
about: >-
  Of orders that are completed (nothing more follows), by when they were ordered; what has no style
  counts too. Complete: orders of which every piece was shipped.
params:
  since: { type: time, about: ordered after this; its whole day counts, default: 90d }
  by:
    type: text
    about: what makes a row
    choices: [brand, customer, country, style, season, month]
    default: brand
totals: [ordered, shipped, missing]
chart: { kind: bar, x: name, y: fill_percent }
formats:
  name: text
  orders: count
  complete: count
  ordered: count
  shipped: count
  missing: count
  fill_percent: percent
  complete_percent: percent
empty: No order of this time is completed.
*/
WITH part AS (
  SELECT CASE :by
      WHEN 'brand' THEN brand_name WHEN 'customer' THEN account_no WHEN 'country' THEN country_code
      WHEN 'style' THEN style_no WHEN 'season' THEN season_name ELSE substr(ordered_at, 1, 7)
    END AS name,
    order_id, max(company) AS company, sum(pieces) AS ordered,
    sum(min(pieces, coalesce(fulfilled, 0))) AS shipped
  FROM v_order_line
  WHERE ordered_at >= strftime('%Y-%m-%dT00:00:00Z', :since / 1000, 'unixepoch')
    AND completed = 1 AND status <> 'canceled' AND gone = 0
  GROUP BY 1, 2
)
SELECT name, iif(:by = 'customer', max(company), NULL) AS company, count(*) AS orders,
  sum(shipped = ordered) AS complete, sum(ordered) AS ordered, sum(shipped) AS shipped,
  sum(ordered - shipped) AS missing,
  round(100.0 * sum(shipped) / nullif(sum(ordered), 0), 1) AS fill_percent,
  round(100.0 * sum(shipped = ordered) / count(*), 1) AS complete_percent
FROM part
GROUP BY name
ORDER BY iif(:by = 'month', name, NULL), fill_percent, name
LIMIT 1000;
