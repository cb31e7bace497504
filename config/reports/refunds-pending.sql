/*
title: Pending refunds that the service has not confirmed
empty: The service has confirmed every pending refund.
*/
SELECT pending_refund_id, order_id, reference, status, created_at, pieces
FROM v_refund_pending
WHERE status = 'pending' AND order_refund_id IS NULL
ORDER BY created_at, pending_refund_id;
