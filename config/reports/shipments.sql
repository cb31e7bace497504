/*
title: Shipments with their parcels, what is not shipped first
about: >-
  Accepted deliveries, by when they were packed. To ship: accepted, and without a tracking number.
  Tariff numbers, origins and weights of each are in the report customs.
params:
  since: { type: time, from: day, about: packed after this; its whole day counts, default: 28d }
  show:
    type: text
    about: all, what is still to ship, or what has a tracking number
    choices: [all, to-ship, shipped]
    default: all
  customer: { type: text, offers: customers, about: one account alone, default: "" }
  find:
    type: text
    about: number of a delivery or an order, reference, or a part of a tracking number
    default: ""
columns: { age_hours: Not shipped for (h) }
totals: [pieces, weight_kg, amount]
empty: Nothing of this time was accepted.
*/
SELECT delivery_no, order_no, reference, account_no, company, country_code, packed_at, accepted_at,
  age_hours, shipped_at, tracking_numbers, pieces, weight_kg, amount, currency
FROM v_shipment
WHERE status = 'accepted' AND gone = 0
  AND packed_at >= strftime('%Y-%m-%dT%H:%M:%SZ', :since / 1000, 'unixepoch')
  AND (:show = 'all' OR shipped = iif(:show = 'shipped', 1, 0))
  AND :customer IN ('', account_no)
  AND (:find IN ('', delivery_no, order_no, reference)
    OR upper(tracking_numbers) LIKE '%' || upper(:find) || '%')
ORDER BY to_ship DESC, packed_at DESC, order_delivery_id DESC;
