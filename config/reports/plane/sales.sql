SELECT d.delivery_no, d.order_no, d.reference, d.account_no, d.company, d.country_code,
  strftime('%Y-%m-%dT%H:%M:%SZ', h.at / 1000, 'unixepoch') AS at, d.tracking_numbers,
  d.pieces, d.amount, d.currency
FROM (
  SELECT id, max(at) AS at FROM (
    SELECT order_delivery_id AS id, at FROM decision
    WHERE at BETWEEN :since AND :until
      AND outcome = CASE :what WHEN 'accepted' THEN 'accept' WHEN 'held' THEN 'hold'
        WHEN 'rejected' THEN 'reject' END
      AND (actor <> 'daemon' OR mode = 'live')
      AND NOT EXISTS (SELECT 1 FROM outbox p WHERE p.decision_id = decision.decision_id
        AND p.state IN ('canceled', 'refused', 'dead'))
    UNION ALL
    SELECT key::bigint, at FROM change
    WHERE :what = 'shipped' AND entity = 'delivery'
      AND json_extract(diff, '$.tracking_numbers[0]') = '[]' AND at BETWEEN :since AND :until
  ) told
  GROUP BY id
) h
JOIN v_shipment d ON d.order_delivery_id = h.id
ORDER BY h.at DESC, h.id DESC;
