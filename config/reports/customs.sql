/*
title: What customs ask of each shipment
about: >-
  Accepted deliveries by customs tariff number and country of origin, with pieces, weight and value.
  Empty where the service does not tell it of an article.
params:
  since: { type: time, from: day, about: packed after this; its whole day counts, default: 7d }
  delivery: { type: text, about: "number of a delivery or an order, or a reference", default: "" }
  destination: { type: text, about: "two letters of a country", default: "" }
totals: [pieces, weight_kg, amount]
empty: Nothing of this time was accepted.
*/
SELECT delivery_no, order_no, company, country_code, packed_at, tariff_no, origin,
  sum(pieces) AS pieces,
  CASE WHEN count(*) = count(pieces * weight) THEN sum(pieces * weight) / 1000.0 END AS weight_kg,
  round(sum(amount), 2) AS amount, currency, count(*) - count(amount) AS unpriced
FROM v_delivery_line
WHERE status = 'accepted' AND gone = 0
  AND packed_at >= strftime('%Y-%m-%dT%H:%M:%SZ', :since / 1000, 'unixepoch')
  AND :delivery IN ('', delivery_no, order_no, reference)
  AND :destination IN ('', country_code)
GROUP BY order_delivery_id, delivery_no, order_no, company, country_code, packed_at, tariff_no,
  origin, currency
ORDER BY packed_at DESC, order_delivery_id DESC, tariff_no NULLS LAST, origin NULLS LAST,
  currency NULLS FIRST;
