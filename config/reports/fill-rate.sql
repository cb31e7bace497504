/*
title: How much of what was ordered has been shipped
about: >-
  Of orders that are completed (nothing more follows), by when they were ordered; a month is
  YYYY-MM. Complete: orders of which every piece was shipped.
params:
  since: { type: time, from: day, about: ordered after this; its whole day counts, default: 90d }
  by:
    type: text
    about: what makes a row
    choices: [brand, customer, country, style, season, month]
    default: customer
columns:
  name: "{by}"
  company: Company
  ordered: Ordered (pcs)
  shipped: Shipped (pcs)
  missing: Missing (pcs)
  complete: Complete orders
totals: [ordered, shipped, missing]
rates: { fill_percent: [shipped, ordered] }
chart: { kind: bar, title: Fill rate, x: name, label: company, y: fill_percent, lowest: 15 }
empty: No order of this time is completed.
*/
WITH line AS (
  SELECT o.order_id, CASE WHEN :by = 'customer' THEN o.company END AS company, l.quantity,
    min(l.quantity, coalesce(l.fulfilled_quantity, 0)) AS shipped,
    CASE :by
      WHEN 'customer' THEN o.account_no
      WHEN 'country' THEN o.country_code
      WHEN 'season' THEN coalesce(nullif(l.season_name, ''), o.season_name)
      WHEN 'month'
        THEN strftime('%Y-%m', coalesce(o.created_at, o.first_seen_at) / 1000, 'unixepoch', (
          SELECT z.modifier FROM zone_offset z
          WHERE z.since <= coalesce(o.created_at, o.first_seen_at) / 1000
          ORDER BY z.since DESC LIMIT 1))
    END AS known,
    CASE WHEN :by IN ('brand', 'style') THEN l.barcode END AS barcode
  FROM sales_order o
  JOIN sales_order_line l ON l.order_id = o.order_id
  WHERE strftime('%Y-%m-%dT%H:%M:%SZ', coalesce(o.created_at, o.first_seen_at) / 1000, 'unixepoch')
      >= strftime('%Y-%m-%dT%H:%M:%SZ', :since / 1000, 'unixepoch')
    AND o.completed = 1 AND o.status <> 'canceled' AND o.deleted_at IS NULL
  -- Variants are found several times as fast in the order of their index.
  ORDER BY CASE WHEN :by IN ('brand', 'style') THEN l.barcode END
  LIMIT 1000000000
), part AS (
  SELECT nullif(CASE :by
      WHEN 'brand' THEN coalesce(
        (SELECT v.brand_name FROM stock_variant_row v WHERE v.barcode = line.barcode),
        (SELECT v.brand_name FROM season_variant_row v WHERE v.barcode = line.barcode
          ORDER BY v.season_barcode LIMIT 1))
      WHEN 'style' THEN coalesce(
        (SELECT v.style_no FROM stock_variant_row v WHERE v.barcode = line.barcode),
        (SELECT v.style_no FROM season_variant_row v WHERE v.barcode = line.barcode
          ORDER BY v.season_barcode LIMIT 1))
      ELSE known
    END, '') AS name,
    order_id, max(company) AS company, sum(quantity) AS ordered, sum(shipped) AS shipped
  FROM line
  GROUP BY 1, 2
)
SELECT name, nullif(max(company), '') AS company,
  count(*) AS orders,
  count(*) FILTER (WHERE shipped = ordered) AS complete, sum(ordered) AS ordered, sum(shipped) AS shipped,
  sum(ordered - shipped) AS missing,
  round(100.0 * sum(shipped) / nullif(sum(ordered), 0), 1) AS fill_percent,
  round(100.0 * count(*) FILTER (WHERE shipped = ordered) / count(*), 1) AS complete_percent
FROM part
GROUP BY part.name
ORDER BY iif(:by = 'month', part.name, NULL) NULLS FIRST, fill_percent NULLS FIRST,
  part.name NULLS FIRST
LIMIT 1000;
