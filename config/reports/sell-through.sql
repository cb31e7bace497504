/*
title: Sold from stock per week and style, against the stock of that week
about: >-
  Sold: pieces of orders from stock in accepted deliveries, by the week they were packed in (from
  Monday). Pieces of pre-orders stand apart and are in no percentage; a style of which nothing else
  was delivered in a week is left out. On hand: when the week ended (of this week: now), by the
  change feed; no number where that does not tell. Sell-through is sold of sold and left; cover how
  many such weeks the rest lasts.
params:
  since: { type: time, from: week, about: the beginning; its whole week counts, default: 28d }
  style: { type: text, offers: styles, about: the number of a style, default: "" }
  top: { type: number, label: Rows, about: rows at most, default: 200 }
columns:
  sold: Sold from stock (pcs)
  of_preorders: Delivered of pre-orders (pcs)
  in_stock: On hand at the end (pcs)
chart:
  kind: stacked
  title: Pieces sold from stock by week and style
  x: week
  y: sold
  series: style_no
  label: style_name
empty: Nothing was sold from stock in this time.
*/
WITH line AS (
  -- Weeks since the Monday before 1970, where the house is.
  SELECT ((coalesce(d.created_at, d.first_seen_at) + 60000 * (
      SELECT z.minutes FROM zone_offset z
      WHERE z.since <= coalesce(d.created_at, d.first_seen_at) / 1000
      ORDER BY z.since DESC LIMIT 1)) / 86400000 + 3) / 7 AS week,
    iif(v.barcode IS NOT NULL, v.style_no, a.style_no) AS style_no,
    iif(v.barcode IS NOT NULL, v.style_name, a.style_name) AS style_name,
    l.fulfilled_quantity AS pieces,
    coalesce(nullif(l.season_name, ''), nullif((
      SELECT o.season_name FROM sales_order o WHERE o.order_id = d.order_id), '')) AS season_name
  FROM delivery d
  CROSS JOIN delivery_line l ON l.order_delivery_id = d.order_delivery_id
  LEFT JOIN stock_variant_row v ON v.barcode = l.barcode
  LEFT JOIN season_variant_row a ON a.season_barcode = (
    SELECT min(n.season_barcode) FROM season_variant_row n
    WHERE n.barcode = l.barcode AND v.barcode IS NULL)
  WHERE d.status = 'accepted' AND d.deleted_at IS NULL
    AND strftime('%Y-%m-%dT%H:%M:%SZ', coalesce(d.created_at, d.first_seen_at) / 1000, 'unixepoch')
      >= strftime('%Y-%m-%dT%H:%M:%SZ', :since / 1000, 'unixepoch')
), sold AS MATERIALIZED (
  SELECT date((7 * week - 3) * 86400, 'unixepoch') AS week, style_no,
    nullif(max(style_name), '') AS style_name, sum(iif(season_name IS NULL, pieces, 0)) AS sold,
    sum(iif(season_name IS NULL, 0, pieces)) AS of_preorders
  FROM line
  WHERE :style IN ('', style_no)
  GROUP BY line.week, style_no
  HAVING sold > 0
  ORDER BY sold DESC, line.week, style_no
  LIMIT :top
), week AS MATERIALIZED (
  SELECT week, ends_at,
    -- An hour may begin before the week ends, where a zone has half hours.
    (SELECT c.seq FROM change c NOT INDEXED
      WHERE c.seq >= (SELECT min(first_seq) FROM change_hour WHERE hour >= ends_at / 3600000)
        AND c.at >= ends_at
      ORDER BY c.seq LIMIT 1) AS next_seq,
    -- Not before the first change that is kept.
    coalesce(ends_at > 3600000 * (SELECT min(hour) FROM change_hour), 1) AS is_known
  FROM (
    SELECT e.week, 1000 * (
      SELECT min(max(z.since, e.ends - 60 * z.minutes)) FROM zone_offset z
      WHERE z.until > e.ends - 60 * z.minutes) AS ends_at
    FROM (SELECT DISTINCT week, unixepoch(week, '+7 days') AS ends FROM sold) e
  )
), counted AS (
  SELECT s.*, iif(w.is_known AND s.style_no IS NOT NULL, coalesce((
    SELECT sum(coalesce(
      (SELECT c.diff -> '$.quantity[0]' FROM change c
        WHERE c.entity = 'stock_variant' AND c.key = v.barcode AND c.seq >= w.next_seq
          AND json_type(c.diff, '$.quantity') IS NOT NULL
        ORDER BY c.seq LIMIT 1),
      json_quote(v.quantity)) ->> '$')
    FROM stock_variant_row v
    WHERE v.style_no = s.style_no AND v.first_seen_at < w.ends_at
      AND CASE
        (SELECT c.op FROM change c
          WHERE c.entity = 'stock_variant' AND c.key = v.barcode AND c.seq >= w.next_seq
            AND c.op IN ('delete', 'restore')
          ORDER BY c.seq LIMIT 1)
        WHEN 'delete' THEN 1
        WHEN 'restore' THEN 0
        ELSE v.deleted_at IS NULL
      END), 0), NULL) AS in_stock
  FROM sold s
  JOIN week w ON w.week = s.week
)
SELECT week, style_no, style_name, sold, of_preorders, in_stock,
  round(100.0 * sold / nullif(sold + max(0, in_stock), 0), 1) AS sell_through_percent,
  (20 * max(0, in_stock) + sold) / nullif(2 * sold, 0) / 10.0 AS cover_weeks
FROM counted
ORDER BY week DESC, sold DESC, style_no;
