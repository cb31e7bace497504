-- None in stock, but listed: a running order has it (includeVariantsOnOrder). That is not sold out.
DROP VIEW v_stock;
CREATE VIEW v_stock AS
SELECT
  barcode, style_no, style_name, brand_name, color_code, color_name, size, season_name, category,
  gender, quantity, currency, price / 100.0 AS price, wsp_price / 100.0 AS wsp_price,
  price_original / 100.0 AS price_original, b2c_sale_price / 100.0 AS b2c_sale_price,
  color_active,
  strftime('%Y-%m-%dT%H:%M:%SZ', changed_at / 1000, 'unixepoch') AS changed_at,
  quantity = 0 AS on_order
FROM stock_variant
WHERE deleted_at IS NULL;
