-- Rows of the stock that were written apart from its list since the last run began.
CREATE TABLE stock_apart (
  barcode TEXT PRIMARY KEY,
  is_new INTEGER NOT NULL CHECK (is_new IN (0, 1))
) STRICT;
INSERT INTO stock_apart (barcode, is_new)
SELECT key, max(op <> 'update') FROM change
WHERE entity = 'stock_variant' AND cause = 'refresh:ordered'
  AND seq > coalesce(
    (SELECT CAST(value AS INTEGER) FROM daemon_state WHERE key = 'stock.apart_seq'), 0)
GROUP BY key;
DELETE FROM daemon_state WHERE key = 'stock.apart_seq';
