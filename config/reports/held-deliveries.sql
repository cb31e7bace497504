/*
title: Deliveries that wait for a person
about: What the rules or people hold, the oldest first, with the reason.
totals: [pieces, amount]
empty: Nothing is held.
*/
SELECT delivery_no, order_no, company, country_code, pieces, amount, currency, age_hours, reason
FROM v_held_delivery
ORDER BY packed_at, order_delivery_id;
