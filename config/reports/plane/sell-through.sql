WITH sold AS MATERIALIZED (
  SELECT date(packed_at, (
      SELECT z.modifier FROM zone_offset z
      WHERE z.since <= unixepoch(packed_at) ORDER BY z.since DESC LIMIT 1),
    'weekday 0', '-6 days') AS week, style_no, max(style_name) AS style_name,
    sum(iif(season_name IS NULL, pieces, 0))::bigint AS sold,
    sum(iif(season_name IS NULL, 0, pieces))::bigint AS of_preorders
  FROM v_delivery_line
  WHERE status = 'accepted' AND gone = 0
    AND packed_at >= strftime('%Y-%m-%dT%H:%M:%SZ', :since / 1000, 'unixepoch')
    AND (:style = '' OR style_no = :style)
  GROUP BY 1, 2
  HAVING sum(iif(season_name IS NULL, pieces, 0)) > 0
  ORDER BY sold DESC NULLS LAST, week, style_no NULLS FIRST
  LIMIT :top
), week AS MATERIALIZED (
  SELECT week, ends_at,
    (SELECT c.seq FROM change c
      WHERE c.seq >= (SELECT min(first_seq) FROM change_hour WHERE hour >= ends_at / 3600000)
        AND c.at >= ends_at
      ORDER BY c.seq LIMIT 1) AS next_seq,
    -- Not before the first change that is kept.
    coalesce(ends_at > 3600000 * (SELECT min(hour) FROM change_hour), true) AS is_known
  FROM (
    SELECT e.week, 1000 * (
      SELECT min(max(z.since, e.ends - 60 * z.minutes)) FROM zone_offset z
      WHERE z.until > e.ends - 60 * z.minutes) AS ends_at
    FROM (SELECT DISTINCT week, extract(epoch FROM week::date)::bigint + 604800 AS ends
      FROM sold) e
  ) ends
), counted AS (
  SELECT s.*, iif(w.is_known AND s.style_no IS NOT NULL, coalesce((
    SELECT sum((coalesce(
      (SELECT c.diff::json #> '{quantity,0}' FROM change c
        WHERE c.entity = 'stock_variant' AND c.key = v.barcode AND c.seq >= w.next_seq
          AND c.diff::json -> 'quantity' IS NOT NULL
        ORDER BY c.seq LIMIT 1),
      to_json(v.quantity)) #>> '{}')::bigint)::bigint
    FROM stock_variant_row v
    WHERE v.style_no = s.style_no AND v.first_seen_at < w.ends_at
      AND CASE
        (SELECT c.op FROM change c
          WHERE c.entity = 'stock_variant' AND c.key = v.barcode AND c.seq >= w.next_seq
            AND c.op IN ('delete', 'restore')
          ORDER BY c.seq LIMIT 1)
        WHEN 'delete' THEN true
        WHEN 'restore' THEN false
        ELSE v.deleted_at IS NULL
      END), 0), NULL) AS in_stock
  FROM sold s
  JOIN week w ON w.week = s.week
)
SELECT week, style_no, style_name, sold, of_preorders, in_stock,
  round(100.0 * sold / nullif(sold + max(0, in_stock), 0), 1) AS sell_through_percent,
  (20 * max(0, in_stock) + sold) / nullif(2 * sold, 0) / 10.0 AS cover_weeks
FROM counted
ORDER BY week DESC, sold DESC NULLS LAST, style_no NULLS FIRST;
