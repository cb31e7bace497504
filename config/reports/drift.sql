/*
title: Members that the service sends and the mirror has no column for
about: In the newest 1,000 rows of variants, styles, their colors, orders, deliveries and refunds.
empty: The mirror has a column for all that the service sends.
*/
SELECT entity, member, rows, example
FROM v_drift
ORDER BY entity, member;
