-- What decides and cannot be read is unknown: the row is here all the same, null where a number or a
-- barcode would be a guess, and says which members these are, a JSON list of their paths.
ALTER TABLE sales_order ADD COLUMN unread TEXT;
ALTER TABLE delivery ADD COLUMN unread TEXT;
ALTER TABLE refund ADD COLUMN unread TEXT;
ALTER TABLE pending_refund ADD COLUMN unread TEXT;
ALTER TABLE season ADD COLUMN unread TEXT;
ALTER TABLE stock_variant_row ADD COLUMN unread TEXT;
ALTER TABLE season_variant_row ADD COLUMN unread TEXT;

ALTER TABLE sales_order_line ALTER COLUMN barcode DROP NOT NULL;
ALTER TABLE sales_order_line ALTER COLUMN quantity DROP NOT NULL;
ALTER TABLE delivery_line ALTER COLUMN barcode DROP NOT NULL;
ALTER TABLE delivery_line ALTER COLUMN fulfilled_quantity DROP NOT NULL;
ALTER TABLE refund_line ALTER COLUMN barcode DROP NOT NULL;
ALTER TABLE refund_line ALTER COLUMN refunded_quantity DROP NOT NULL;
ALTER TABLE pending_refund_line ALTER COLUMN barcode DROP NOT NULL;
ALTER TABLE pending_refund_line ALTER COLUMN quantity DROP NOT NULL;
ALTER TABLE stock_variant_row ALTER COLUMN quantity DROP NOT NULL;
ALTER TABLE season_variant_row ALTER COLUMN quantity DROP NOT NULL;
ALTER TABLE key_place ALTER COLUMN quantity DROP NOT NULL;

-- Few, and asked for every few seconds.
CREATE INDEX sales_order_unread ON sales_order (unread) WHERE unread IS NOT NULL;
CREATE INDEX delivery_unread ON delivery (unread) WHERE unread IS NOT NULL;
CREATE INDEX refund_unread ON refund (unread) WHERE unread IS NOT NULL;
CREATE INDEX pending_refund_unread ON pending_refund (unread) WHERE unread IS NOT NULL;
CREATE INDEX stock_variant_unread ON stock_variant_row (unread) WHERE unread IS NOT NULL;
CREATE INDEX season_variant_unread ON season_variant_row (unread) WHERE unread IS NOT NULL;
