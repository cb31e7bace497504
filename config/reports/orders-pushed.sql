/*
title: Orders that the ERP submitted, and what became of them
params:
  since: { type: time, about: the beginning, default: 7d }
empty: The ERP submitted no order in this time.
*/
SELECT reference, state, order_id, order_no, attempts, handed_in_at, ended_at, last_error
FROM v_order_pushed
WHERE outbox_id IN (SELECT outbox_id FROM outbox WHERE kind = 'order' AND created_at >= :since)
ORDER BY outbox_id DESC;
