/*
title: How long deliveries wait for a person, by what holds them
about: From when they were packed. The list of them is held-deliveries.
totals: [deliveries, pieces, amount]
chart:
  kind: stacked
  title: Held deliveries by how long they wait
  x: waits
  y: deliveries
  series: held_by
empty: Nothing is held.
*/
SELECT
  CASE WHEN age_hours < 24 THEN 'under a day' WHEN age_hours < 72 THEN '1 to 3 days'
    WHEN age_hours < 168 THEN '3 to 7 days' ELSE 'a week or more' END AS waits,
  coalesce((SELECT string_agg(r.value, ', ') FROM decision n, json_each(n.rules) r
      WHERE n.decision_id = e.decision_id),
    iif(decided_by = 'daemon', '(no rule)', '(a person)')) AS held_by,
  count(*) AS deliveries, sum(pieces) AS pieces, round(sum(amount), 2) AS amount, currency,
  count(*) - count(amount) AS unpriced, max(age_hours) AS longest_hours
FROM v_held_delivery
JOIN evaluation e USING (order_delivery_id)
GROUP BY 1, 2, currency
ORDER BY min(age_hours), deliveries DESC, held_by, currency NULLS FIRST;
