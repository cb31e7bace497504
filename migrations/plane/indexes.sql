-- Indexes for the views and the shipped reports: those of migrations/0001-schema.sql that they
-- need, with the account in front.

CREATE INDEX IF NOT EXISTS stock_variant_style
  ON stock_variant_row (account, style_no, color_code, size);
CREATE INDEX IF NOT EXISTS stock_variant_row_no ON stock_variant_row (account, row_no);
CREATE INDEX IF NOT EXISTS season_variant_barcode ON season_variant_row (account, barcode);
CREATE INDEX IF NOT EXISTS season_variant_style
  ON season_variant_row (account, style_no, color_code, size);
CREATE INDEX IF NOT EXISTS season_variant_row_no ON season_variant_row (account, row_no);
CREATE INDEX IF NOT EXISTS sales_order_open ON sales_order (account, order_id) WHERE completed = 0;
CREATE INDEX IF NOT EXISTS sales_order_customer ON sales_order (account, account_no, order_id);
CREATE INDEX IF NOT EXISTS sales_order_ordered
  ON sales_order (account, iso_time(coalesce(created_at, first_seen_at) / 1000));
CREATE INDEX IF NOT EXISTS sales_order_line_barcode ON sales_order_line (account, barcode);
CREATE INDEX IF NOT EXISTS sales_order_line_season
  ON sales_order_line (account, season_name) WHERE season_name IS NOT NULL;
CREATE INDEX IF NOT EXISTS delivery_order ON delivery (account, order_id);
CREATE INDEX IF NOT EXISTS delivery_packed
  ON delivery (account, status, iso_time(coalesce(created_at, first_seen_at) / 1000));
CREATE INDEX IF NOT EXISTS delivery_line_barcode ON delivery_line (account, barcode);
CREATE INDEX IF NOT EXISTS refund_order ON refund (account, order_id);
CREATE INDEX IF NOT EXISTS style_style_no ON style (account, style_no);
CREATE INDEX IF NOT EXISTS change_entity_key ON change (account, entity, key, seq);
-- What left a style: a few entries of millions.
CREATE INDEX IF NOT EXISTS change_style_left ON change (account, seq)
  WHERE op IN ('update', 'restore') AND entity = 'stock_variant' AND diff LIKE '%"style_no"%';
CREATE INDEX IF NOT EXISTS sync_run_stream ON sync_run (account, stream, run_id);
CREATE INDEX IF NOT EXISTS webhook_event_order ON webhook_event (account, order_id);
CREATE INDEX IF NOT EXISTS decision_delivery
  ON decision (account, order_delivery_id, decision_id);
CREATE INDEX IF NOT EXISTS decision_day ON decision (account, at);
CREATE INDEX IF NOT EXISTS outbox_decision
  ON outbox (account, decision_id) WHERE decision_id IS NOT NULL;
