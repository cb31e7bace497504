/*
title: Customers with their orders, deliveries, refunds and credit
about: >-
  The credit is what the ERP tells; below zero: over the limit. An amount of several currencies stays
  empty (open-orders has them apart).
params:
  only:
    type: text
    about: customers over their credit limit, with open orders, or with held deliveries
    choices: [all, over-limit, open, held]
    default: all
totals: [orders, amount, open_orders, open_amount]
formats:
  account_no: text
  orders: count
  amount: amount
  open_orders: count
  open_amount: amount
  deliveries: count
  held: count
  refunds: count
  credit_limit: amount
  balance: amount
  credit_left: heat
  overdue_days: count
empty: There is no such customer.
*/
SELECT account_no, company, country_code, orders, last_ordered_at, open_orders, amount, open_amount,
  currency, deliveries, held, refunds, credit_limit, balance, credit_left, credit_currency,
  overdue_days, blocked
FROM v_customer
WHERE CASE :only WHEN 'over-limit' THEN credit_left < 0 WHEN 'open' THEN open_orders > 0
  WHEN 'held' THEN held > 0 ELSE 1 END
ORDER BY CASE :only WHEN 'over-limit' THEN credit_left END, open_orders DESC, account_no;
