/*
title: What the rules said against what people did
params:
  since: { type: time, about: the beginning, default: 30d }
*/
SELECT a.rules_said, a.status AS became, a.done_by, count(*) AS deliveries
FROM delivery d
JOIN v_agreement a ON a.order_delivery_id = d.order_delivery_id
WHERE coalesce(d.created_at, d.first_seen_at) >= :since
GROUP BY 1, 2, 3
ORDER BY 4 DESC;
