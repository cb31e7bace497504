/*
title: Order book by season and delivery window
about: >-
  Pre-orders without canceled ones, by customer, country, brand or style, or each window as a whole.
  Open is what follows; what is neither shipped nor open, its order was completed without.
params:
  season: { type: text, offers: seasons, about: a season, default: "" }
  window: { type: text, offers: windows, about: a delivery window, default: "" }
  by:
    type: text
    about: what makes a row
    choices: [window, customer, country, brand, style]
    default: window
columns:
  name: "{by}"
  company: Company
  ordered: Ordered (pcs)
  shipped: Shipped (pcs)
  open: Open (pcs)
totals: [ordered, shipped, open, amount, open_amount, unpriced]
rates: { shipped_percent: [shipped, ordered] }
chart:
  kind: stacked
  title: Pre-ordered pieces by season and window
  x: [season_name, delivery_name]
  y: [shipped, open]
empty: There are no pre-orders.
*/
WITH line AS (
  -- A pre-order may name its season in its head alone.
  SELECT l.season_name AS season_name, l.delivery_name, l.barcode, l.quantity,
    l.fulfilled_quantity, l.price, o.order_id, o.account_no, o.company, o.country_code, o.currency,
    o.completed
  FROM sales_order_line l
  JOIN sales_order o ON o.order_id = l.order_id
  WHERE l.season_name <> '' AND :season IN ('', l.season_name)
    AND o.status <> 'canceled' AND o.deleted_at IS NULL
  UNION ALL
  SELECT o.season_name, l.delivery_name, l.barcode, l.quantity, l.fulfilled_quantity, l.price,
    o.order_id, o.account_no, o.company, o.country_code, o.currency, o.completed
  FROM sales_order o
  JOIN sales_order_line l ON l.order_id = o.order_id
  WHERE o.season_name <> '' AND :season IN ('', o.season_name) AND coalesce(l.season_name, '') = ''
    AND o.status <> 'canceled' AND o.deleted_at IS NULL
), told AS (
  SELECT season_name, nullif(delivery_name, '') AS delivery_name, order_id, quantity, price,
    coalesce(fulfilled_quantity, 0) AS shipped,
    iif(completed = 0, max(0, quantity - coalesce(fulfilled_quantity, 0)), 0) AS open,
    iif(trim(currency) <> '', currency,
      (SELECT c.currency FROM order_currency c WHERE c.order_id = line.order_id)) AS currency,
    CASE :by WHEN 'customer' THEN account_no WHEN 'country' THEN country_code END AS known,
    CASE WHEN :by = 'customer' THEN company END AS company,
    CASE WHEN :by IN ('brand', 'style') THEN barcode END AS barcode
  FROM line
  WHERE :window IN ('', delivery_name)
  -- Variants are found several times as fast in the order of their index.
  ORDER BY CASE WHEN :by IN ('brand', 'style') THEN barcode END
  LIMIT 1000000000
), named AS (
  SELECT told.*, nullif(CASE :by
      WHEN 'brand' THEN coalesce(
        (SELECT v.brand_name FROM stock_variant_row v WHERE v.barcode = told.barcode),
        (SELECT v.brand_name FROM season_variant_row v WHERE v.barcode = told.barcode
          ORDER BY v.season_barcode LIMIT 1))
      WHEN 'style' THEN coalesce(
        (SELECT v.style_no FROM stock_variant_row v WHERE v.barcode = told.barcode),
        (SELECT v.style_no FROM season_variant_row v WHERE v.barcode = told.barcode
          ORDER BY v.season_barcode LIMIT 1))
      ELSE known
    END, '') AS name
  FROM told
), book AS (
  SELECT season_name, delivery_name, name, max(company) AS company,
    count(DISTINCT order_id) AS orders, sum(quantity) AS ordered, sum(shipped) AS shipped,
    sum(open) AS open, sum(quantity * price) / 10000.0 AS amount,
    sum(open * price) / 10000.0 AS open_amount, currency,
    count(*) - count(price) AS unpriced
  FROM named
  GROUP BY season_name, delivery_name, name, currency
)
SELECT b.season_name, b.delivery_name, s.from_day,
  b.name, nullif(b.company, '') AS company,
  b.orders, b.ordered, b.shipped, b.open,
  round(100.0 * b.shipped / nullif(b.ordered, 0), 1) AS shipped_percent,
  b.amount, b.open_amount, b.currency, b.unpriced
FROM book b
LEFT JOIN (
  SELECT season_name, delivery_name, min(from_day) AS from_day, min(place) AS place
  FROM v_season
  GROUP BY 1, 2
) s ON s.season_name = b.season_name AND s.delivery_name IS NOT DISTINCT FROM b.delivery_name
ORDER BY min(s.from_day) OVER (PARTITION BY b.season_name) NULLS LAST, b.season_name,
  s.place NULLS LAST, b.delivery_name NULLS FIRST, b.ordered DESC NULLS LAST,
  b.name NULLS FIRST, b.currency NULLS FIRST;
