/*
title: Open orders by customer
about: >-
  From stock and ahead; what of each is not delivered yet. Each currency has its
  own row; unpriced: orders whose amount is not known.
params:
  customer: { type: text, offers: customers, about: one account alone, default: "" }
columns:
  oldest: Oldest order
totals: [orders, pieces, amount]
chart:
  kind: bar
  title: Open pieces by customer
  x: account_no
  label: company
  y: pieces
  highest: 20
empty: No order is open.
*/
SELECT account_no, company, orders, pieces, amount, currency, unpriced, oldest
FROM (
  SELECT account_no, max(company) AS company, count(*) AS orders, sum(open_pieces) AS pieces,
    round(sum(open_amount), 2) AS amount, currency, count(*) - count(open_amount) AS unpriced,
    min(ordered_at) AS oldest
  FROM v_order
  WHERE completed = 0 AND status <> 'canceled' AND gone = 0 AND :customer IN ('', account_no)
  GROUP BY account_no, currency
) told
-- Rows of one company stand together.
ORDER BY sum(pieces) OVER (PARTITION BY company) DESC NULLS LAST, company NULLS FIRST,
  account_no NULLS FIRST, currency NULLS FIRST
LIMIT 1000;
