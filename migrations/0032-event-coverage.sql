-- Missed-event detection: a view instead of a table that a worker kept.
DROP TABLE sighting;
DELETE FROM daemon_state WHERE key IN ('loss_meter', 'loss_meter_seq');

-- What the guard against steps of the clock has noted: the clock on the wall, and the trusted time.
UPDATE daemon_state SET key = 'clock',
  value = json_object('seen', updated_at, 'trusted', CAST(value AS INTEGER))
WHERE key = 'retention_now';

-- One row for every new delivery that an event or a sweep brought into the mirror. `announced`: an
-- event brought it, or its delivery_created came no later than five minutes after the sweep did.
-- `since`: when the sweep before began, the earliest that the delivery can have been packed.
-- Left out: what a sweep found that had no complete one before it (all is new then), and deliveries
-- of an old order whose details a sweep read for the first time.
CREATE VIEW event_coverage AS
SELECT order_delivery_id, order_id, at, created_at, by_event, since,
  by_event OR EXISTS (
    SELECT 1 FROM webhook_event e
    WHERE e.order_id = found.order_id AND e.type = 'sales_order.delivery_created'
      AND e.received_at BETWEEN since - 300000 AND at + 300000
  ) AS announced
FROM (
  SELECT d.order_delivery_id, d.order_id, d.first_seen_at AS at, d.created_at,
    c.cause LIKE 'refresh:event:%' AS by_event,
    iif(c.cause LIKE '%:first', o.first_seen_at, NULL) AS order_seen_at,
    p.started_at AS since, p.ended_at AS swept_at
  FROM delivery d
  JOIN change c ON c.entity = 'delivery' AND c.key = CAST(d.order_delivery_id AS TEXT)
    AND c.op = 'insert'
  LEFT JOIN sales_order o ON o.order_id = d.order_id
  LEFT JOIN sync_run r ON r.run_id =
    CAST(replace(replace(c.cause, 'refresh:sweep:', ''), 'run:', '') AS INTEGER)
  LEFT JOIN sync_run p ON p.run_id = (
    SELECT max(run_id) FROM (
      SELECT * FROM (
        SELECT run_id FROM sync_run WHERE stream = 'orders' AND outcome = 'complete'
          AND run_id < r.run_id AND ended_at <= r.started_at ORDER BY run_id DESC LIMIT 1)
      UNION ALL
      SELECT * FROM (
        SELECT run_id FROM sync_run WHERE stream = 'ordersFull' AND outcome = 'complete'
          AND run_id < r.run_id AND ended_at <= r.started_at ORDER BY run_id DESC LIMIT 1)))
) found
WHERE by_event OR (since IS NOT NULL AND (order_seen_at IS NULL OR order_seen_at > swept_at));
