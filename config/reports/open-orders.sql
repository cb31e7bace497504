/*
title: Open orders by customer
about: From stock and ahead; what of each is not delivered yet. Each currency has its own row.
totals: [orders, pieces, amount]
chart: { kind: bar, x: company, y: pieces }
formats:
  account_no: text
  company: text
  orders: count
  pieces: count
  amount: amount
  without_amount: count
  oldest: date
empty: No order is open.
*/
SELECT account_no, max(company) AS company, count(*) AS orders, sum(open_pieces) AS pieces,
  round(sum(open_amount), 2) AS amount, currency, count(*) - count(open_amount) AS without_amount,
  min(ordered_at) AS oldest
FROM v_order
WHERE completed = 0 AND status <> 'canceled' AND gone = 0
GROUP BY account_no, currency
ORDER BY pieces DESC, account_no, currency
LIMIT 1000;
