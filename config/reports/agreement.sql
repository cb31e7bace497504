/*
title: The rules and people, by week
about: >-
  What the rules said last of each delivery that was decided, and who decided in the end; by the week
  that it was packed in (from Monday). The percentage is of the week.
params:
  since: { type: time, from: week, about: the beginning; its whole week counts, default: 84d }
totals: [deliveries]
chart:
  { kind: stacked, title: Deliveries by week and who decided, x: week, y: deliveries, series: decided_by }
empty: Nothing that was packed in this time is decided.
*/
SELECT week, decided_by, rules_said, became, deliveries,
  round(100.0 * deliveries / sum(deliveries) OVER (PARTITION BY week), 1) AS week_percent
FROM (
  SELECT date(packed_at, (
      SELECT z.modifier FROM zone_offset z
      WHERE z.since <= unixepoch(packed_at) ORDER BY z.since DESC LIMIT 1),
    'weekday 0', '-6 days') AS week,
    CASE
      WHEN done_by = 'the rules' THEN 'the rules'
      WHEN rules_said = 'hold' THEN 'people, after a hold'
      WHEN rules_said || 'ed' = status THEN 'people, as the rules said'
      WHEN rules_said IN ('accept', 'reject') THEN 'people, against the rules'
      ELSE 'people, without a rule'
    END AS decided_by,
    rules_said, status AS became, count(*) AS deliveries
  FROM v_agreement
  WHERE status IN ('accepted', 'rejected') AND packed_at >= strftime('%Y-%m-%dT%H:%M:%SZ',
    :since / 1000, 'unixepoch')
  GROUP BY 1, 2, 3, 4
) part
ORDER BY week DESC, deliveries DESC, decided_by, rules_said, became;
