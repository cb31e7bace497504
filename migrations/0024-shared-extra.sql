-- The sizes of one colour share nearly all members that have no column; repeated with each of them
-- they were three quarters of a variant. Now they are kept once, and rows refer to them. Whoever
-- reads stock_variant and season_variant finds each row's own, as before. Rows that are there already
-- keep theirs until they change, and share it then only with those that change with them: to rewrite
-- a million of them would keep a start waiting. (A column more makes SQLite read a table once.)
-- Views that somebody made of these tables go on through ours, with what is in extra.
PRAGMA legacy_alter_table = ON;

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

-- On the right of an outer join, a view is not looked through where rows are to be distinct.
DROP VIEW v_availability;
CREATE VIEW v_availability AS
SELECT
  r.barcode,
  coalesce(v.style_no, a.style_no) AS style_no,
  nullif(coalesce(v.style_name, a.style_name), '') AS style_name,
  nullif(coalesce(v.color_name, a.color_name), '') AS color_name,
  nullif(coalesce(v.size, a.size), '') AS size,
  iif(v.deleted_at IS NULL, coalesce(v.quantity, 0), 0) AS in_stock, r.pending, r.accepted,
  iif(v.deleted_at IS NULL, coalesce(v.quantity, 0), 0) - r.pending - r.accepted AS free
FROM v_reserved r
LEFT JOIN stock_variant_row v ON v.barcode = r.barcode
LEFT JOIN season_variant_row a ON a.season_barcode = (
  SELECT n.season_barcode FROM season_variant_row n
  WHERE n.barcode = r.barcode AND v.barcode IS NULL LIMIT 1);

DROP VIEW v_season_cover;
CREATE VIEW v_season_cover AS
SELECT
  season_name, barcode, style_no, nullif(style_name, '') AS style_name,
  nullif(color_name, '') AS color_name, nullif(size, '') AS size, open_preorders, in_stock,
  open_preorders - covered AS missing,
  round(100.0 * covered / open_preorders, 1) AS cover_percent
FROM (
  SELECT
    b.season_name, b.barcode, v.style_no, v.style_name, v.color_name, v.size,
    b.open AS open_preorders, coalesce(s.quantity, 0) AS in_stock,
    min(b.open, max(0, coalesce(s.quantity, 0))) AS covered
  FROM (
    SELECT coalesce(nullif(l.season_name, ''), o.season_name) AS season_name, l.barcode,
      sum(max(0, l.quantity - coalesce(l.fulfilled_quantity, 0))) AS open
    FROM sales_order o
    JOIN sales_order_line l ON l.order_id = o.order_id
    WHERE o.completed = 0 AND o.status <> 'canceled' AND o.deleted_at IS NULL
      AND coalesce(nullif(l.season_name, ''), o.season_name) <> ''
    GROUP BY 1, 2
    HAVING open > 0
  ) b
  LEFT JOIN season_variant_row v ON v.barcode = b.barcode AND v.season_name = b.season_name
  LEFT JOIN stock_variant_row s ON s.barcode = b.barcode AND s.deleted_at IS NULL
);

PRAGMA legacy_alter_table = OFF;
