/*
title: Decisions per day, outcome and rule
about: A decision in which several rules took part counts for each of them.
params:
  since: { type: time, from: day, about: the beginning; its whole day counts, default: 14d }
chart: { kind: line, title: Decisions per day by rule, x: day, y: decisions, series: rule }
empty: Nothing was decided in this time.
*/
SELECT
  date(d.at / 1000, 'unixepoch', (
    SELECT z.modifier FROM zone_offset z
    WHERE z.since <= d.at / 1000 ORDER BY z.since DESC LIMIT 1)) AS day,
  d.outcome,
  coalesce(r.value, CASE d.actor WHEN 'daemon' THEN '(no rule)' ELSE '(a person)' END) AS rule,
  count(*) AS decisions
FROM decision d
LEFT JOIN json_each(d.rules) r ON true
WHERE d.at >= :since
GROUP BY 1, 2, 3
ORDER BY 1 DESC, 4 DESC, 2, 3;
