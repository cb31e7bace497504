-- A mirror that is small enough to know every number of it. Times: 2026-01-05 (a Monday), noon.
INSERT INTO stock_variant_row (barcode, quantity, season_name, style_no, style_name, brand_name,
  color_code, color_name, size, currency, price, wsp_price, extra, content_hash, first_seen_at,
  changed_at, read_seq, source)
VALUES
  ('100', 5, 'AW26', 'S-1', 'Coat', 'Fold', '01', 'black', 'S', 'DKK', 1999500, 800000,
    '{"careLabelWash":"30"}', 'h', 1767600000000, 1767700000000, 1, 'run:1'),
  ('101', 0, 'AW26', 'S-1', 'Coat', 'Fold', '01', 'black', 'M', 'DKK', 1999500, 800000,
    '{}', 'h', 1767600000000, 1767600000000, 1, 'run:1'),
  ('102', 9, 'AW26', 'S-1', 'Coat', 'Fold', '02', 'red', 'S', 'DKK', NULL, NULL,
    '{}', 'h', 1767600000000, 1767600000000, 1, 'run:1');
INSERT INTO change (at, entity, key, op, diff, cause) VALUES
  (1767600000000, 'stock_variant', '100', 'insert', '{}', 'run:1'),
  (1767700000000, 'stock_variant', '100', 'update', '{"quantity":[8,5]}', 'run:2');
INSERT INTO season_variant_row (season_barcode, season_name, barcode, quantity, style_no, style_name,
  color_name, size, extra, content_hash, first_seen_at, changed_at, read_seq, source)
VALUES ('AW26/100', 'AW26', '100', 50, 'S-1', 'Coat', 'black', 'S', '{}', 'h', 0, 0, 1, 'run:1');
INSERT INTO sales_order (order_id, reference, order_no, status, completed, created_at, currency,
  season_name, country_code, company, account_no, shipping_address, extra, content_hash,
  first_seen_at, changed_at, read_seq, source)
VALUES
  (1, 'PO-1', 'O-1', 'pending', 0, 1767614400000, 'DKK', NULL, 'DK', 'Nordic Shops', 'A-1', '{}',
    '{}', 'h', 1767614400000, 1767614400000, 1, 'run:1'),
  (2, 'PO-2', 'O-2', 'pending', 0, 1767614400000, 'DKK', 'AW26', 'SE', 'Svea', 'A-2', '{}', '{}',
    'h', 1767614400000, 1767614400000, 1, 'run:1');
INSERT INTO sales_order_line (order_id, line_no, barcode, quantity, fulfilled_quantity, price,
  season_name, delivery_name, extra)
VALUES
  (1, 1, '100', 3, 3, 800000, NULL, NULL, '{}'),
  (2, 1, '100', 20, 4, 800000, 'AW26', 'August', '{}'),
  (2, 2, '999', 1, 0, NULL, 'AW26', 'August', '{}');
INSERT INTO delivery (order_delivery_id, delivery_no, order_id, status, created_at,
  tracking_numbers, tracking_links, extra, content_hash, first_seen_at, changed_at, read_seq,
  source)
VALUES
  (11, 'D-11', 1, 'pending', 1767614400000, '[]', '[]', '{}', 'h', 0, 0, 1, 'event:e1'),
  (12, 'D-12', 1, 'accepted', 1767614400000, '[]', '[]', '{}', 'h', 0, 0, 1, 'event:e2'),
  (13, 'D-13', 77, 'accepted', 1767614400000, '[]', '[]', '{}', 'h', 0, 0, 1, 'event:e3');
INSERT INTO delivery_line (order_delivery_id, line_no, barcode, fulfilled_quantity, price, extra)
VALUES (11, 1, '100', 2, 800000, '{}'), (12, 1, '100', 4, 800000, '{}'), (13, 1, '102', 1, NULL, '{}');
INSERT INTO decision (decision_id, order_delivery_id, order_id, at, trigger, actor, rule_set_hash,
  facts_digest, mode, outcome, reason, rules, shadow, said, matched, lapsed, evaluation,
  previous_hash, hash)
VALUES
  (1, 11, 1, 1767615000000, 'new', 'daemon', 'r', 'f', 'live', 'hold', 'over the limit',
    '["hold-large"]', '{}', 'hold', '[]', '[]', x'', '', 'a'),
  (2, 12, 1, 1767615000000, 'new', 'daemon', 'r', 'f', 'live', 'accept', 'all in stock',
    '["accept-plain"]', '{}', 'accept', '[]', '[]', x'', 'a', 'b'),
  (3, 13, 77, 1767615000000, 'new', 'daemon', 'r', 'f', 'live', 'no_rule', 'no rule', '[]', '{}',
    'no_rule', '[]', '[]', x'', 'b', 'c');
INSERT INTO evaluation (order_delivery_id, decision_id, delivery_hash, order_hash, rules_key,
  evaluated_at)
VALUES (11, 1, 'h', 'h', 'r', 0), (12, 2, 'h', 'h', 'r', 0), (13, 3, 'h', 'h', 'r', 0);
INSERT INTO outbox (kind, ordering_key, reference, body, body_hash, state, due_at, attempts, created_at,
  ended_at, cause, result, order_delivery_id, decision_id)
VALUES
  ('delivery_status', 'delivery/12', 'delivery/12/decision/2', '{"status":"accepted"}', 'h',
    'confirmed', 0, 1, 1767615000000, 1767615001000, 'decision:2', '{}', 12, 2),
  ('order', 'order/PO-9', 'PO-9', '{}', 'h', 'confirmed', 0, 1, 1767615000000, 1767615001000,
    'intake:1', '{"orderId":9,"orderNo":"O-9"}', NULL, NULL);
INSERT INTO refund (order_refund_id, order_id, status, pending_refund_id, extra, content_hash,
  first_seen_at, changed_at, read_seq, source)
VALUES (21, 1, 'accepted', 31, '{}', 'h', 0, 0, 1, 'run:1');
INSERT INTO refund_line (order_refund_id, line_no, barcode, refunded_quantity, price, restock,
  refund_type, extra)
VALUES (21, 1, '100', 1, 800000, 1, 'return/credit', '{}');
INSERT INTO pending_refund (pending_refund_id, order_id, reference, status, created_at, extra,
  content_hash, first_seen_at, changed_at, read_seq, source)
VALUES
  (31, 1, 'R-31', 'confirmed', 1767614400000, '{}', 'h', 0, 0, 1, 'run:1'),
  (32, 1, 'R-32', 'pending', 1767614400000, '{}', 'h', 0, 0, 1, 'run:1');
INSERT INTO pending_refund_line (pending_refund_id, line_no, barcode, quantity, extra)
VALUES (31, 1, '100', 1, '{}'), (32, 1, '100', 2, '{}');
INSERT INTO sync_run (stream, cause, started_at, ended_at, read_seq, options, checkpoint, outcome,
  rows_seen)
VALUES ('stock', 'schedule', 1767614400000, 1767614402500, 1, '{}', '{}', 'complete', 3);
INSERT INTO stream_state (stream, due_at, complete_at, complete_rows)
VALUES ('stock', 1767615300000, 1767614400000, 3);
INSERT INTO quarantine (entity, raw, raw_hash, path, reason, source, first_seen_at, last_seen_at)
VALUES ('stock_variant', '{"barcode":5}', 'h', 'barcode', 'must be a text', 'run:1', 0, 1000);
INSERT INTO incident (at, kind, entity, key, detail)
VALUES (1767614400000, 'evaluation_error', 'delivery', '11', '{}');
INSERT INTO change (at, entity, key, op, diff, cause)
VALUES (1000 * unixepoch(), 'brand', 'Fold', 'insert', '{}', 'run:1');
INSERT INTO change_hour (hour, first_seq) SELECT at / 3600000, min(seq) FROM change GROUP BY 1;
INSERT INTO stock_day (day, brand_name, season_name, currency, variants, in_stock, pieces, wsp_value,
  unpriced, counted_at)
VALUES ('2026-01-05', 'Fold', 'AW26', 'DKK', 3, 2, 14, 4000000, 9, 1767614400000);
INSERT INTO stock_age (brand_name, season_name, currency, unsold_days, variants, pieces, wsp_value,
  unpriced, counted_at)
VALUES ('Fold', 'AW26', 'DKK', 30, 2, 14, 4000000, 9, 1767614400000);
INSERT INTO size_rank (size, rank) VALUES ('S', 1), ('M', 2);
INSERT INTO season (season_name, extra, content_hash, first_seen_at, changed_at, read_seq, source)
VALUES ('AW26', '{}', 'h', 0, 0, 1, 'run:1');
INSERT INTO season_delivery (season_name, line_no, delivery_name) VALUES ('AW26', 1, 'August');
INSERT INTO season_window (season_name, delivery_name, from_day, to_day)
VALUES ('AW26', 'August', '2026-08-01', '2026-08-31');
