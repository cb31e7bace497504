-- Amounts are integers of ten-thousandths from here on, whatever the currency, where they were
-- hundredths: some prices have more than two decimals, and were rounded before they were compared.
-- (src/lib/money.ts.) What integers cannot hold in the new unit becomes null, which is unknown.
-- Digests stay as they are; facts that are stored (fact_snapshot) keep hundredths, for theirs.
UPDATE sales_order SET
  freight_amount = iif(abs(freight_amount) <= 90071992547409, freight_amount * 100, NULL)
WHERE freight_amount <> 0;
UPDATE sales_order_line SET price = iif(abs(price) <= 90071992547409, price * 100, NULL)
WHERE price <> 0;
UPDATE delivery_line SET price = iif(abs(price) <= 90071992547409, price * 100, NULL)
WHERE price <> 0;
UPDATE refund_line SET price = iif(abs(price) <= 90071992547409, price * 100, NULL)
WHERE price <> 0;
UPDATE pending_refund_line SET price = iif(abs(price) <= 90071992547409, price * 100, NULL)
WHERE price <> 0;
UPDATE reject_entry SET amount = iif(abs(amount) <= 90071992547409, amount * 100, NULL)
WHERE amount <> 0;
UPDATE erp_customer SET
  credit_limit = iif(abs(credit_limit) <= 90071992547409, credit_limit * 100, NULL),
  balance = iif(abs(balance) <= 90071992547409, balance * 100, NULL)
WHERE credit_limit <> 0 OR balance <> 0;
UPDATE stock_variant_row SET
  price = iif(abs(price) <= 90071992547409, price * 100, NULL),
  wsp_price = iif(abs(wsp_price) <= 90071992547409, wsp_price * 100, NULL),
  price_original = iif(abs(price_original) <= 90071992547409, price_original * 100, NULL),
  b2c_sale_price = iif(abs(b2c_sale_price) <= 90071992547409, b2c_sale_price * 100, NULL)
WHERE price <> 0 OR wsp_price <> 0 OR price_original <> 0 OR b2c_sale_price <> 0;
UPDATE season_variant_row SET
  price = iif(abs(price) <= 90071992547409, price * 100, NULL),
  wsp_price = iif(abs(wsp_price) <= 90071992547409, wsp_price * 100, NULL),
  price_original = iif(abs(price_original) <= 90071992547409, price_original * 100, NULL),
  b2c_sale_price = iif(abs(b2c_sale_price) <= 90071992547409, b2c_sale_price * 100, NULL)
WHERE price <> 0 OR wsp_price <> 0 OR price_original <> 0 OR b2c_sale_price <> 0;

-- What changed of them, too: whoever asks for a row of the past undoes its changes.
UPDATE change SET diff = (
  SELECT json_group_object(m.key, json(CASE
    WHEN m.key IN ('price', 'wsp_price', 'price_original', 'b2c_sale_price', 'freight_amount',
      'credit_limit', 'balance')
    THEN (SELECT json_group_array(iif(abs(v.value) <= 90071992547409, v.value * 100, NULL))
      FROM json_each(m.value) v)
    WHEN m.key = 'lines'
    THEN (SELECT json_group_array(json((
      SELECT json_group_array(json(iif(json_type(l.value, '$.price') = 'integer',
        json_set(l.value, '$.price', iif(abs(l.value ->> '$.price') <= 90071992547409,
          (l.value ->> '$.price') * 100, NULL)),
        l.value)))
      FROM json_each(v.value) l))) FROM json_each(m.value) v)
    ELSE m.value END))
  FROM json_each(diff) m)
WHERE entity IN ('stock_variant', 'season_variant', 'sales_order', 'delivery', 'refund',
    'pending_refund', 'erp_customer')
  AND (diff LIKE '%price%' OR diff LIKE '%freight_amount%' OR diff LIKE '%credit_limit%'
    OR diff LIKE '%balance%');

-- What the service asks of this very API key, and of nobody else (`pricing`); null for nearly all.
ALTER TABLE stock_variant_row ADD COLUMN net_price INTEGER;
ALTER TABLE stock_variant_row ADD COLUMN net_currency TEXT;
ALTER TABLE stock_variant_row ADD COLUMN price_before_discount INTEGER;
-- In ten-thousandths of a percent.
ALTER TABLE stock_variant_row ADD COLUMN discount_percent INTEGER;
ALTER TABLE season_variant_row ADD COLUMN net_price INTEGER;
ALTER TABLE season_variant_row ADD COLUMN net_currency TEXT;
ALTER TABLE season_variant_row ADD COLUMN price_before_discount INTEGER;
ALTER TABLE season_variant_row ADD COLUMN discount_percent INTEGER;
DROP VIEW stock_variant;
CREATE VIEW stock_variant AS
SELECT
  barcode, quantity, variant_type, season_name, style_no, style_name, brand_name,
  color_code, color_name, size, currency, price, wsp_price, price_original, b2c_sale_price, net_price,
  net_currency, price_before_discount, discount_percent, category, gender, b2b_hidden, color_active,
  coalesce((SELECT e.extra FROM variant_extra e WHERE e.extra_id = v.extra_id), v.extra) AS extra,
  content_hash, first_seen_at, changed_at, deleted_at, read_seq, source
FROM stock_variant_row v;
DROP VIEW season_variant;
CREATE VIEW season_variant AS
SELECT
  season_barcode, season_name, barcode, quantity, variant_type, style_no, style_name, brand_name,
  color_code, color_name, size, currency, price, wsp_price, price_original, b2c_sale_price, net_price,
  net_currency, price_before_discount, discount_percent, category, gender, b2b_hidden, color_active,
  coalesce((SELECT e.extra FROM variant_extra e WHERE e.extra_id = v.extra_id), v.extra) AS extra,
  content_hash, first_seen_at, changed_at, deleted_at, read_seq, source
FROM season_variant_row v;

-- It stood with the members that have no column. The wholesale price above `details` is that of the
-- list, for a season the pre-order price; the one inside is that of the stock, and goes to the
-- members without a column. Written here, so that the next read finds no other difference than the
-- prices themselves; it compares all rows, to read again what was rounded.
UPDATE variant_extra SET extra = json_remove(extra, '$.pricing')
WHERE extra LIKE '%"pricing":{%' AND json_type(extra, '$.pricing') = 'object';
UPDATE variant_extra AS e SET extra = iif(p.price IS NULL, json_remove(e.extra, '$.wspPrice'),
  json_set(json_remove(e.extra, '$.wspPrice'), '$.details.wspPrice', p.price / 10000.0))
FROM (
  SELECT extra_id, max(wsp_price) AS price FROM season_variant_row
  WHERE extra_id IS NOT NULL GROUP BY extra_id
) p
WHERE p.extra_id = e.extra_id AND json_type(e.extra, '$.wspPrice') IN ('integer', 'real');
UPDATE stock_variant_row SET extra = json_remove(extra, '$.pricing')
WHERE extra LIKE '%"pricing":{%' AND json_type(extra, '$.pricing') = 'object';
UPDATE season_variant_row SET extra = json_remove(extra, '$.pricing')
WHERE extra LIKE '%"pricing":{%' AND json_type(extra, '$.pricing') = 'object';
UPDATE season_variant_row SET extra = iif(wsp_price IS NULL, json_remove(extra, '$.wspPrice'),
  json_set(json_remove(extra, '$.wspPrice'), '$.details.wspPrice', wsp_price / 10000.0))
WHERE extra_id IS NULL AND extra <> '' AND json_type(extra, '$.wspPrice') IN ('integer', 'real');
UPDATE segment SET digest = NULL WHERE stream IN ('stock', 'season');

DROP VIEW v_delivery;
CREATE VIEW v_delivery AS
SELECT
  d.order_delivery_id,
  d.delivery_no,
  d.order_id,
  o.order_no,
  o.reference,
  o.account_no,
  nullif(o.company, '') AS company,
  nullif(o.country_code, '') AS country_code,
  strftime('%Y-%m-%dT%H:%M:%SZ', coalesce(d.created_at, d.first_seen_at) / 1000, 'unixepoch')
    AS packed_at,
  d.status,
  (SELECT sum(l.fulfilled_quantity) FROM delivery_line l
    WHERE l.order_delivery_id = d.order_delivery_id) AS pieces,
  (SELECT CASE WHEN count(*) = count(l.price)
    THEN sum(l.fulfilled_quantity * l.price) / 10000.0 END
    FROM delivery_line l WHERE l.order_delivery_id = d.order_delivery_id) AS amount,
  nullif(o.currency, '') AS currency,
  e.decision_id,
  n.outcome AS decided,
  n.reason,
  n.actor AS decided_by,
  strftime('%Y-%m-%dT%H:%M:%SZ', n.at / 1000, 'unixepoch') AS decided_at,
  d.deleted_at IS NOT NULL AS gone
FROM delivery d
LEFT JOIN sales_order o ON o.order_id = d.order_id
LEFT JOIN evaluation e ON e.order_delivery_id = d.order_delivery_id
LEFT JOIN decision n ON n.decision_id = e.decision_id;

DROP VIEW v_stock;
CREATE VIEW v_stock AS
SELECT
  barcode, style_no, nullif(style_name, '') AS style_name, nullif(brand_name, '') AS brand_name,
  nullif(color_code, '') AS color_code, nullif(color_name, '') AS color_name,
  nullif(size, '') AS size, nullif(season_name, '') AS season_name,
  nullif(category, '') AS category, nullif(gender, '') AS gender,
  quantity, nullif(currency, '') AS currency,
  price / 10000.0 AS price, wsp_price / 10000.0 AS wsp_price,
  price_original / 10000.0 AS price_original, b2c_sale_price / 10000.0 AS b2c_sale_price,
  net_price / 10000.0 AS net_price, nullif(net_currency, '') AS net_currency,
  price_before_discount / 10000.0 AS price_before_discount,
  discount_percent / 10000.0 AS discount_percent,
  color_active,
  strftime('%Y-%m-%dT%H:%M:%SZ', changed_at / 1000, 'unixepoch') AS changed_at,
  quantity = 0 AS on_order
FROM stock_variant
WHERE deleted_at IS NULL;

CREATE VIEW v_season_variant AS
SELECT
  season_name, barcode, style_no, nullif(style_name, '') AS style_name,
  nullif(brand_name, '') AS brand_name, nullif(color_code, '') AS color_code,
  nullif(color_name, '') AS color_name, nullif(size, '') AS size,
  nullif(category, '') AS category, nullif(gender, '') AS gender,
  quantity, nullif(currency, '') AS currency,
  price / 10000.0 AS price, wsp_price / 10000.0 AS wsp_price,
  net_price / 10000.0 AS net_price, nullif(net_currency, '') AS net_currency,
  price_before_discount / 10000.0 AS price_before_discount,
  discount_percent / 10000.0 AS discount_percent,
  color_active,
  strftime('%Y-%m-%dT%H:%M:%SZ', changed_at / 1000, 'unixepoch') AS changed_at
FROM season_variant
WHERE deleted_at IS NULL;

DROP VIEW v_preorder_book;
CREATE VIEW v_preorder_book AS
SELECT
  l.season_name, nullif(l.delivery_name, '') AS delivery_name,
  count(DISTINCT l.order_id) AS orders,
  sum(l.quantity) AS pieces,
  sum(coalesce(l.fulfilled_quantity, 0)) AS fulfilled,
  nullif(l.currency, '') AS currency,
  sum(l.quantity * l.price) / 10000.0 AS amount,
  sum(l.price IS NULL) AS lines_without_price
FROM (
  SELECT n.season_name, n.delivery_name, n.order_id, n.quantity, n.fulfilled_quantity, n.price,
    o.currency
  FROM sales_order_line n
  JOIN sales_order o ON o.order_id = n.order_id
  WHERE n.season_name <> '' AND o.status <> 'canceled' AND o.deleted_at IS NULL
  UNION ALL
  SELECT o.season_name, n.delivery_name, n.order_id, n.quantity, n.fulfilled_quantity, n.price,
    o.currency
  FROM sales_order o
  JOIN sales_order_line n ON n.order_id = o.order_id
  WHERE o.season_name <> '' AND coalesce(n.season_name, '') = ''
    AND o.status <> 'canceled' AND o.deleted_at IS NULL
) l
GROUP BY l.season_name, coalesce(l.delivery_name, ''), coalesce(l.currency, '');
