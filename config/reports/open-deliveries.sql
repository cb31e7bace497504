/*
title: All deliveries that are not decided yet
about: Pending deliveries, the oldest first, with what the rules said of each.
totals: [pieces, amount]
empty: Every delivery is decided.
*/
SELECT delivery_no, order_no, company, country_code, pieces, amount, currency, age_hours,
  decided, reason
FROM v_open_delivery
ORDER BY packed_at, order_delivery_id;
