-- The sizes of one colour share nearly all members that have no column; repeated with each of them
-- they were three quarters of a variant. Now they are kept once, and rows refer to them. Whoever
-- reads stock_variant and season_variant finds each row's own, as before. Rows that are there already
-- keep theirs until they change: to rewrite a million of them would keep a start waiting.
CREATE TABLE variant_extra (
  extra_id INTEGER PRIMARY KEY,
  extra TEXT NOT NULL,
  -- Rows that refer to it.
  uses INTEGER NOT NULL
) STRICT;

ALTER TABLE stock_variant RENAME TO stock_variant_row;
ALTER TABLE stock_variant_row ADD COLUMN extra_id INTEGER;
CREATE TRIGGER stock_variant_extra_left AFTER UPDATE OF extra_id ON stock_variant_row
WHEN old.extra_id <> new.extra_id
BEGIN
  UPDATE variant_extra SET uses = uses - 1 WHERE extra_id = old.extra_id;
  DELETE FROM variant_extra WHERE extra_id = old.extra_id AND uses = 0;
END;
CREATE VIEW stock_variant AS
SELECT
  barcode, quantity, variant_type, season_name, style_no, style_name, brand_name,
  color_code, color_name, size, currency, price, wsp_price, price_original, b2c_sale_price, category,
  gender, b2b_hidden, color_active,
  coalesce((SELECT e.extra FROM variant_extra e WHERE e.extra_id = v.extra_id), v.extra) AS extra,
  content_hash, first_seen_at, changed_at, deleted_at, read_seq, source
FROM stock_variant_row v;

ALTER TABLE season_variant RENAME TO season_variant_row;
ALTER TABLE season_variant_row ADD COLUMN extra_id INTEGER;
CREATE TRIGGER season_variant_extra_left AFTER UPDATE OF extra_id ON season_variant_row
WHEN old.extra_id <> new.extra_id
BEGIN
  UPDATE variant_extra SET uses = uses - 1 WHERE extra_id = old.extra_id;
  DELETE FROM variant_extra WHERE extra_id = old.extra_id AND uses = 0;
END;
CREATE VIEW season_variant AS
SELECT
  season_barcode, season_name, barcode, quantity, variant_type, style_no, style_name, brand_name,
  color_code, color_name, size, currency, price, wsp_price, price_original, b2c_sale_price, category,
  gender, b2b_hidden, color_active,
  coalesce((SELECT e.extra FROM variant_extra e WHERE e.extra_id = v.extra_id), v.extra) AS extra,
  content_hash, first_seen_at, changed_at, deleted_at, read_seq, source
FROM season_variant_row v;

-- Its newest rows are found by their number, which a view does not have.
DROP VIEW v_drift;
CREATE VIEW v_drift AS
SELECT t.entity, m.key AS member, count(*) AS rows, min(substr(m.value, 1, 100)) AS example
FROM (
  SELECT 'stock_variant' AS entity, extra
  FROM (
    SELECT coalesce(e.extra, v.extra) AS extra
    FROM stock_variant_row v LEFT JOIN variant_extra e ON e.extra_id = v.extra_id
    ORDER BY v.rowid DESC LIMIT 1000)
  UNION ALL
  SELECT 'season_variant', extra
  FROM (
    SELECT coalesce(e.extra, v.extra) AS extra
    FROM season_variant_row v LEFT JOIN variant_extra e ON e.extra_id = v.extra_id
    ORDER BY v.rowid DESC LIMIT 1000)
  UNION ALL
  SELECT 'style', extra FROM (SELECT extra FROM style ORDER BY rowid DESC LIMIT 1000)
  UNION ALL
  SELECT 'style_color', extra FROM (SELECT extra FROM style_color ORDER BY rowid DESC LIMIT 1000)
  UNION ALL
  SELECT 'sales_order', extra
  FROM (SELECT extra FROM sales_order ORDER BY order_id DESC LIMIT 1000)
  UNION ALL
  SELECT 'delivery', extra
  FROM (SELECT extra FROM delivery ORDER BY order_delivery_id DESC LIMIT 1000)
  UNION ALL
  SELECT 'refund', extra FROM (SELECT extra FROM refund ORDER BY order_refund_id DESC LIMIT 1000)
) t, json_each(t.extra) m
GROUP BY t.entity, m.key;
