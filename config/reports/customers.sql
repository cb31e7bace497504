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
empty: There is no such customer.
*/
WITH amounts AS MATERIALIZED (
  SELECT o.account_no, sum(l.quantity * l.price) AS amount,
    sum(CASE WHEN o.completed = 0 THEN max(0, l.quantity - coalesce(l.fulfilled_quantity, 0)) * l.price
      END) AS open_amount
  FROM sales_order o
  JOIN sales_order_line l ON l.order_id = o.order_id
  WHERE o.account_no <> '' AND o.status <> 'canceled' AND o.deleted_at IS NULL
  GROUP BY o.account_no
), orders AS MATERIALIZED (
  SELECT account_no, count(*) AS orders, count(*) FILTER (WHERE open) AS open_orders,
    max(coalesce(created_at, first_seen_at)) AS last_ordered_at,
    iif(count(*) = count(currency) AND min(currency) = max(currency), min(currency), NULL)
      AS currency,
    count(currency) FILTER (WHERE open) = count(*) FILTER (WHERE open)
      AND min(currency) FILTER (WHERE open) IS NOT DISTINCT FROM max(currency) FILTER (WHERE open)
      AS open_is_one
  FROM (
    SELECT o.account_no, o.created_at, o.first_seen_at, o.completed = 0 AS open,
      iif(trim(o.currency) <> '', o.currency,
        (SELECT c.currency FROM order_currency c WHERE c.order_id = o.order_id)) AS currency
    FROM sales_order o
    WHERE o.account_no <> '' AND o.status <> 'canceled' AND o.deleted_at IS NULL
  ) told
  GROUP BY account_no
), deliveries AS MATERIALIZED (
  SELECT o.account_no, count(*) AS deliveries,
    count(CASE WHEN d.status = 'pending' AND (SELECT n.outcome FROM evaluation e
      JOIN decision n ON n.decision_id = e.decision_id
      WHERE e.order_delivery_id = d.order_delivery_id AND d.status = 'pending') = 'hold'
      THEN 1 END) AS held
  FROM delivery d
  JOIN sales_order o ON o.order_id = d.order_id
  WHERE d.deleted_at IS NULL AND d.status <> 'canceled' AND o.account_no <> ''
  GROUP BY o.account_no
), refunds AS MATERIALIZED (
  SELECT o.account_no, count(*) AS refunds
  FROM refund r
  JOIN sales_order o ON o.order_id = r.order_id
  WHERE r.deleted_at IS NULL AND r.status NOT IN ('rejected', 'canceled') AND o.account_no <> ''
  GROUP BY o.account_no
)
SELECT c.account_no, c.company, c.country_code, coalesce(o.orders, 0) AS orders,
  strftime('%Y-%m-%dT%H:%M:%SZ', o.last_ordered_at / 1000, 'unixepoch') AS last_ordered_at,
  coalesce(o.open_orders, 0) AS open_orders,
  CASE WHEN o.account_no IS NULL THEN 0.0
    WHEN o.currency IS NOT NULL THEN coalesce(m.amount, 0) / 10000.0 END AS amount,
  CASE WHEN coalesce(o.open_orders, 0) = 0 THEN 0.0
    WHEN o.open_is_one THEN coalesce(m.open_amount, 0) / 10000.0 END AS open_amount,
  o.currency, coalesce(d.deliveries, 0) AS deliveries, coalesce(d.held, 0) AS held,
  coalesce(r.refunds, 0) AS refunds, c.credit_limit, c.balance, c.credit_left, c.credit_currency,
  c.overdue_days, c.blocked
FROM v_customer c
LEFT JOIN orders o ON o.account_no = c.account_no
LEFT JOIN amounts m ON m.account_no = c.account_no
LEFT JOIN deliveries d ON d.account_no = c.account_no
LEFT JOIN refunds r ON r.account_no = c.account_no
WHERE CASE :only WHEN 'over-limit' THEN c.credit_left < 0 WHEN 'open' THEN o.open_orders > 0
  WHEN 'held' THEN d.held > 0 ELSE true END
ORDER BY CASE :only WHEN 'over-limit' THEN c.credit_left END NULLS FIRST, coalesce(o.open_orders, 0) DESC,
  c.account_no;
