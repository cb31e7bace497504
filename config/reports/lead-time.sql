/*
title: From packed to decided, confirmed and shipped, by day and rule
about: >-
  Half of the deliveries were at least as fast as p50, 95 of 100 as p95. Decided: minutes from packed
  to the decision that accepted it; confirmed: minutes from there until the service had it; shipped:
  hours from there to the first tracking number, as far as the change feed tells. By the day of packing. A decision
  of several rules counts for each.
params:
  since: { type: time, from: day, about: packed after this; its whole day counts, default: 28d }
chart:
  kind: line
  title: "From packed to decided: 95 of 100 within so many minutes"
  x: day
  y: decided_p95
  series: rule
empty: Nothing that was packed in this time has been accepted.
*/
WITH accepted AS (
  SELECT d.order_delivery_id, coalesce(d.created_at, d.first_seen_at) AS packed_at,
    (SELECT max(n.decision_id) FROM decision n
      WHERE n.order_delivery_id = d.order_delivery_id AND n.outcome = 'accept') AS decision_id,
    (SELECT min(c.at) FROM change c
      WHERE c.entity = 'delivery' AND c.key = CAST(d.order_delivery_id AS TEXT)
        AND json_extract(c.diff, '$.tracking_numbers[0]') = '[]') AS shipped_at
  FROM delivery d
  WHERE d.status = 'accepted' AND d.deleted_at IS NULL
    AND strftime('%Y-%m-%dT%H:%M:%SZ', coalesce(d.created_at, d.first_seen_at) / 1000, 'unixepoch')
      >= strftime('%Y-%m-%dT%H:%M:%SZ', :since / 1000, 'unixepoch')
), timed AS MATERIALIZED (
  SELECT a.packed_at, a.shipped_at, n.at AS decided_at, n.rules, n.actor,
    (SELECT min(b.ended_at) FROM outbox b
      WHERE b.decision_id = n.decision_id AND b.state = 'confirmed') AS confirmed_at
  FROM accepted a
  JOIN decision n ON n.decision_id = a.decision_id
), took AS (
  SELECT date(t.packed_at / 1000, 'unixepoch', (
      SELECT z.modifier FROM zone_offset z
      WHERE z.since <= t.packed_at / 1000 ORDER BY z.since DESC LIMIT 1)) AS day,
    coalesce(r.value, iif(t.actor = 'daemon', '(no rule)', '(a person)')) AS rule,
    s.column1 AS step,
    CASE s.column1
      WHEN 1 THEN t.decided_at - t.packed_at
      WHEN 2 THEN t.confirmed_at - t.decided_at
      ELSE t.shipped_at - t.confirmed_at
    END AS ms
  FROM timed t
  LEFT JOIN json_each(t.rules) r ON true
  CROSS JOIN (VALUES (1), (2), (3)) s
), ranked AS (
  SELECT day, rule, step, ms, count(*) OVER set_of AS many,
    row_number() OVER (PARTITION BY day, rule, step ORDER BY ms) AS place
  FROM took
  WHERE ms IS NOT NULL
  WINDOW set_of AS (PARTITION BY day, rule, step)
)
SELECT day, rule, max(iif(step = 1, many, 0)) AS deliveries,
  (max(iif(step = 1 AND place = (many + 1) / 2, ms, NULL))
    + 300) / 600 / 100.0 AS decided_p50,
  (max(iif(step = 1 AND place = (95 * many + 99) / 100, ms, NULL))
    + 300) / 600 / 100.0 AS decided_p95,
  (max(iif(step = 2 AND place = (many + 1) / 2, ms, NULL))
    + 300) / 600 / 100.0 AS confirmed_p50,
  (max(iif(step = 2 AND place = (95 * many + 99) / 100, ms, NULL))
    + 300) / 600 / 100.0 AS confirmed_p95,
  (max(iif(step = 3 AND place = (many + 1) / 2, ms, NULL))
    + 18000) / 36000 / 100.0 AS shipped_p50,
  (max(iif(step = 3 AND place = (95 * many + 99) / 100, ms, NULL))
    + 18000) / 36000 / 100.0 AS shipped_p95
FROM ranked
GROUP BY day, rule
ORDER BY day DESC, rule;
