-- The mirror, its change feed and the ledgers, grouped by the part of the program that writes them.
--
-- This file is the schema of 0.1.0, and once that is released it is never edited: a change of it is a
-- file of its own (0002-….sql). A database that ran another text of this file is refused as one that
-- was made before 0.1.0.
--
-- Times are epoch milliseconds (UTC), money is integer ten-thousandths whatever the currency
-- (src/lib/money.ts), booleans are 0/1. No foreign keys between mirrored entities: the order in
-- which they arrive is not ours to choose.

-- ---- Installation (store/) -------------------------------------------------------------------

-- Small facts about this installation, by name: last log-in, counters.
CREATE TABLE daemon_state (
  key TEXT PRIMARY KEY,
  value TEXT NOT NULL,
  updated_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- The program that works on this database; the fencing token grows with every new holder.
CREATE TABLE lease (
  name TEXT PRIMARY KEY,
  holder TEXT NOT NULL,
  fencing INTEGER NOT NULL,
  acquired_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- What is paused. The name is a kind of push, or a stream; empty: all of the target.
CREATE TABLE pause (
  target TEXT NOT NULL CHECK (target IN ('pushes', 'decisions', 'stream', 'all')),
  name TEXT NOT NULL DEFAULT '',
  reason TEXT NOT NULL,
  actor TEXT NOT NULL,
  at INTEGER NOT NULL,
  PRIMARY KEY (target, name)
) STRICT, WITHOUT ROWID;

-- Acts of people, with their reasons.
CREATE TABLE audit (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  at INTEGER NOT NULL,
  actor TEXT NOT NULL,
  action TEXT NOT NULL,
  subject TEXT NOT NULL,
  reason TEXT NOT NULL,
  detail TEXT NOT NULL,
  -- How the person was signed in at the console, as in link:12, and from which address.
  session TEXT,
  address TEXT
) STRICT;

-- People and programs that are signed in at the console. Keys are kept as digests only.
CREATE TABLE console_session (
  session_id INTEGER PRIMARY KEY AUTOINCREMENT,
  key_hash TEXT NOT NULL UNIQUE,
  name TEXT NOT NULL,
  role TEXT NOT NULL CHECK (role IN ('viewer', 'operator', 'approver')),
  -- By a printed link, a password or an authenticating proxy; a program has a token.
  way TEXT NOT NULL CHECK (way IN ('link', 'password', 'proxy', 'token')),
  -- Whether it sees names and addresses of customers.
  sees_addresses INTEGER NOT NULL,
  -- Digest of what it signed in by, so that another password ends it.
  credential_digest TEXT,
  address TEXT,
  created_at INTEGER NOT NULL,
  seen_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  ended_at INTEGER,
  ended_by TEXT
) STRICT;

-- Things that must not happen and did: a person looks.
CREATE TABLE incident (
  id INTEGER PRIMARY KEY,
  at INTEGER NOT NULL,
  kind TEXT NOT NULL,
  entity TEXT NOT NULL,
  key TEXT NOT NULL,
  detail TEXT NOT NULL,
  resolved_at INTEGER
) STRICT;
-- An open incident is told once, however often the same answer comes.
CREATE UNIQUE INDEX incident_open ON incident (kind, entity, key) WHERE resolved_at IS NULL;

-- ---- Mirror (mirror/) ------------------------------------------------------------------------
-- Rows as the service told of them. Every mirrored table has the same columns at its end: members
-- we do not model (extra), a digest of all members (content_hash), when we first saw, last changed
-- and lost the row, the sequence of the start of the read it came from (an older read never
-- overwrites a newer one), and its source ('run:<id>' or 'refresh:<cause>'). A column `unread`,
-- where there is one, is a JSON list of the paths of members that decide and cannot be read: they
-- are unknown, and the row is here all the same.

-- Brands of the account.
CREATE TABLE brand (
  brand_name TEXT PRIMARY KEY,
  extra TEXT NOT NULL,
  content_hash TEXT NOT NULL,
  first_seen_at INTEGER NOT NULL,
  changed_at INTEGER NOT NULL,
  deleted_at INTEGER,
  read_seq INTEGER NOT NULL,
  source TEXT NOT NULL
) STRICT;

-- Freight types that an order may name.
CREATE TABLE freight_option (
  freight_type TEXT PRIMARY KEY,
  extra TEXT NOT NULL,
  content_hash TEXT NOT NULL,
  first_seen_at INTEGER NOT NULL,
  changed_at INTEGER NOT NULL,
  deleted_at INTEGER,
  read_seq INTEGER NOT NULL,
  source TEXT NOT NULL
) STRICT;

-- Seasons, whose delivery windows are in season_delivery.
CREATE TABLE season (
  season_name TEXT PRIMARY KEY,
  extra TEXT NOT NULL,
  content_hash TEXT NOT NULL,
  first_seen_at INTEGER NOT NULL,
  changed_at INTEGER NOT NULL,
  deleted_at INTEGER,
  read_seq INTEGER NOT NULL,
  source TEXT NOT NULL,
  unread TEXT
) STRICT;

-- Delivery windows of a season, in the order of the service.
CREATE TABLE season_delivery (
  season_name TEXT NOT NULL,
  line_no INTEGER NOT NULL,
  delivery_name TEXT NOT NULL,
  PRIMARY KEY (season_name, line_no)
) STRICT, WITHOUT ROWID;

-- Members without a column, once for the sizes of a colour, which share nearly all of them:
-- repeated with each size they are three quarters of a variant.
CREATE TABLE variant_extra (
  extra_id INTEGER PRIMARY KEY,
  extra TEXT NOT NULL,
  -- Rows that refer to it.
  uses INTEGER NOT NULL
) STRICT;

-- The stock, a row for each barcode. Readers take the view stock_variant, which gives each row its
-- members without a column again.
CREATE TABLE stock_variant_row (
  barcode TEXT PRIMARY KEY,
  quantity INTEGER,
  variant_type TEXT,
  season_name TEXT,
  style_no TEXT,
  style_name TEXT,
  brand_name TEXT,
  color_code TEXT,
  color_name TEXT,
  size TEXT,
  currency TEXT,
  price INTEGER,
  wsp_price INTEGER,
  price_original INTEGER,
  b2c_sale_price INTEGER,
  category TEXT,
  gender TEXT,
  b2b_hidden INTEGER,
  color_active INTEGER,
  extra TEXT NOT NULL,
  content_hash TEXT NOT NULL,
  first_seen_at INTEGER NOT NULL,
  changed_at INTEGER NOT NULL,
  deleted_at INTEGER,
  read_seq INTEGER NOT NULL,
  source TEXT NOT NULL,
  -- The shared entry; null: it has its own members in extra.
  extra_id INTEGER,
  -- Asked of this very API key, and of nobody else (`pricing`); null for nearly all.
  net_price INTEGER,
  net_currency TEXT,
  price_before_discount INTEGER,
  -- In ten-thousandths of a percent.
  discount_percent INTEGER,
  unread TEXT
) STRICT;
CREATE INDEX stock_variant_style ON stock_variant_row (style_no, color_code, size);
-- Deleted rows are few: their index makes the number of live ones cheap to know.
CREATE INDEX stock_variant_deleted ON stock_variant_row (deleted_at) WHERE deleted_at IS NOT NULL;
CREATE INDEX stock_variant_unread ON stock_variant_row (unread) WHERE unread IS NOT NULL;
-- A shared entry goes with the last row that refers to it.
CREATE TRIGGER stock_variant_extra_left AFTER UPDATE OF extra_id ON stock_variant_row
WHEN old.extra_id <> new.extra_id
BEGIN
  UPDATE variant_extra SET uses = uses - 1 WHERE extra_id = old.extra_id;
  DELETE FROM variant_extra WHERE extra_id = old.extra_id AND uses = 0;
END;

-- Variants that can be ordered ahead, one row a season and barcode; season_barcode is both, with a
-- slash. Readers take the view season_variant.
CREATE TABLE season_variant_row (
  season_barcode TEXT PRIMARY KEY,
  season_name TEXT NOT NULL,
  barcode TEXT NOT NULL,
  quantity INTEGER,
  variant_type TEXT,
  style_no TEXT,
  style_name TEXT,
  brand_name TEXT,
  color_code TEXT,
  color_name TEXT,
  size TEXT,
  currency TEXT,
  price INTEGER,
  wsp_price INTEGER,
  price_original INTEGER,
  b2c_sale_price INTEGER,
  category TEXT,
  gender TEXT,
  b2b_hidden INTEGER,
  color_active INTEGER,
  extra TEXT NOT NULL,
  content_hash TEXT NOT NULL,
  first_seen_at INTEGER NOT NULL,
  changed_at INTEGER NOT NULL,
  deleted_at INTEGER,
  read_seq INTEGER NOT NULL,
  source TEXT NOT NULL,
  -- The shared entry; null: it has its own members in extra.
  extra_id INTEGER,
  -- Asked of this very API key, and of nobody else (`pricing`); null for nearly all.
  net_price INTEGER,
  net_currency TEXT,
  price_before_discount INTEGER,
  -- In ten-thousandths of a percent.
  discount_percent INTEGER,
  unread TEXT
) STRICT;
CREATE INDEX season_variant_barcode ON season_variant_row (barcode);
CREATE INDEX season_variant_style ON season_variant_row (style_no, color_code, size);
CREATE INDEX season_variant_deleted ON season_variant_row (deleted_at) WHERE deleted_at IS NOT NULL;
CREATE INDEX season_variant_unread ON season_variant_row (unread) WHERE unread IS NOT NULL;
CREATE TRIGGER season_variant_extra_left AFTER UPDATE OF extra_id ON season_variant_row
WHEN old.extra_id <> new.extra_id
BEGIN
  UPDATE variant_extra SET uses = uses - 1 WHERE extra_id = old.extra_id;
  DELETE FROM variant_extra WHERE extra_id = old.extra_id AND uses = 0;
END;

-- A join in place of the subquery would keep SQLite from using the index wherever the view stands
-- on the right of an outer one.
CREATE VIEW stock_variant AS
SELECT
  barcode, quantity, variant_type, season_name, style_no, style_name, brand_name,
  color_code, color_name, size, currency, price, wsp_price, price_original, b2c_sale_price, net_price,
  net_currency, price_before_discount, discount_percent, category, gender, b2b_hidden, color_active,
  coalesce((SELECT e.extra FROM variant_extra e WHERE e.extra_id = v.extra_id), v.extra) AS extra,
  content_hash, first_seen_at, changed_at, deleted_at, read_seq, source
FROM stock_variant_row v;

CREATE VIEW season_variant AS
SELECT
  season_barcode, season_name, barcode, quantity, variant_type, style_no, style_name, brand_name,
  color_code, color_name, size, currency, price, wsp_price, price_original, b2c_sale_price, net_price,
  net_currency, price_before_discount, discount_percent, category, gender, b2b_hidden, color_active,
  coalesce((SELECT e.extra FROM variant_extra e WHERE e.extra_id = v.extra_id), v.extra) AS extra,
  content_hash, first_seen_at, changed_at, deleted_at, read_seq, source
FROM season_variant_row v;

-- Orders, whose lines are in sales_order_line.
CREATE TABLE sales_order (
  order_id INTEGER PRIMARY KEY,
  reference TEXT,
  order_no TEXT,
  status TEXT NOT NULL,
  completed INTEGER NOT NULL,
  comment TEXT,
  created_at INTEGER,
  currency TEXT,
  season_name TEXT,
  country_code TEXT,
  company TEXT,
  account_no TEXT,
  shipping_address TEXT NOT NULL,
  freight_type TEXT,
  freight_amount INTEGER,
  extra TEXT NOT NULL,
  content_hash TEXT NOT NULL,
  first_seen_at INTEGER NOT NULL,
  changed_at INTEGER NOT NULL,
  deleted_at INTEGER,
  read_seq INTEGER NOT NULL,
  source TEXT NOT NULL,
  -- When the order was last read with all that belongs to it. Null: never.
  details_read_at INTEGER,
  unread TEXT,
  -- When a person had what it says of people forgotten: none of that is written again. Null: never.
  forgotten_at INTEGER
) STRICT;
CREATE INDEX sales_order_forgotten ON sales_order (order_id) WHERE forgotten_at IS NOT NULL;
CREATE INDEX sales_order_reference ON sales_order (reference);
CREATE INDEX sales_order_open ON sales_order (order_id) WHERE completed = 0;
-- Deliveries of one customer share one credit.
CREATE INDEX sales_order_account ON sales_order (account_no);
-- With all that sums over the orders of every customer ask: rows of one customer stand far apart.
CREATE INDEX sales_order_sums ON sales_order (
  account_no, completed, status, deleted_at, currency, created_at, first_seen_at);
-- The text of the time by which reports ask (v_order.ordered_at).
CREATE INDEX sales_order_ordered ON sales_order (
  strftime('%Y-%m-%dT%H:%M:%SZ', coalesce(created_at, first_seen_at) / 1000, 'unixepoch'));
-- An order is looked for by its reference whatever its letters, before each sending.
CREATE INDEX sales_order_reference_letters ON sales_order (reference COLLATE NOCASE);
CREATE INDEX sales_order_unread ON sales_order (unread) WHERE unread IS NOT NULL;
-- Statuses that nobody knows: few, and asked for every few seconds, as are rows that are read in
-- part.
CREATE INDEX sales_order_odd_status ON sales_order (status)
WHERE status NOT IN ('pending', 'fulfilled', 'partially_fulfilled', 'canceled');

-- Lines of orders; null where a barcode or a number cannot be read and would be a guess.
CREATE TABLE sales_order_line (
  order_id INTEGER NOT NULL,
  line_no INTEGER NOT NULL,
  barcode TEXT,
  quantity INTEGER,
  fulfilled_quantity INTEGER,
  size_quantity INTEGER,
  fulfilled_size_quantity INTEGER,
  price INTEGER,
  season_name TEXT,
  delivery_name TEXT,
  extra TEXT NOT NULL,
  PRIMARY KEY (order_id, line_no)
) STRICT, WITHOUT ROWID;
CREATE INDEX sales_order_line_barcode ON sales_order_line (barcode);
-- Lines without an amount are few.
CREATE INDEX sales_order_line_unpriced ON sales_order_line (order_id)
  WHERE quantity * price IS NULL;
CREATE INDEX sales_order_line_season ON sales_order_line (season_name, delivery_name)
  WHERE season_name IS NOT NULL;

-- The currency of an order: its own; else the one that the variants of its lines agree on; else
-- that of the configuration (service.v1.currency, kept in daemon_state). One that cannot be read is
-- none.
CREATE VIEW order_currency AS
SELECT
  o.order_id,
  CASE
    WHEN trim(o.currency) <> '' THEN o.currency
    WHEN o.unread LIKE '%"currency"%' THEN NULL
    ELSE coalesce((
      SELECT iif(count(DISTINCT u.currency) = 1, min(u.currency), NULL) FROM (
        SELECT upper(trim(s.currency)) AS currency
        FROM sales_order_line l JOIN stock_variant_row s ON s.barcode = l.barcode
        WHERE l.order_id = o.order_id
        UNION ALL
        SELECT upper(trim(a.currency))
        FROM sales_order_line l JOIN season_variant_row a ON a.barcode = l.barcode
        WHERE l.order_id = o.order_id
      ) u WHERE u.currency <> ''
    ), (SELECT nullif(s.value, '') FROM daemon_state s WHERE s.key = 'service_currency'))
  END AS currency
FROM sales_order o;

-- Packed deliveries of orders.
CREATE TABLE delivery (
  order_delivery_id INTEGER PRIMARY KEY,
  delivery_no TEXT,
  order_id INTEGER NOT NULL,
  reference TEXT,
  order_no TEXT,
  status TEXT NOT NULL,
  created_at INTEGER,
  tracking_numbers TEXT NOT NULL,
  tracking_links TEXT NOT NULL,
  extra TEXT NOT NULL,
  content_hash TEXT NOT NULL,
  first_seen_at INTEGER NOT NULL,
  changed_at INTEGER NOT NULL,
  deleted_at INTEGER,
  read_seq INTEGER NOT NULL,
  source TEXT NOT NULL,
  unread TEXT
) STRICT;
-- With the columns by which deliveries of a customer are counted.
CREATE INDEX delivery_order ON delivery (order_id, status, deleted_at);
CREATE INDEX delivery_status ON delivery (status, order_delivery_id);
CREATE INDEX delivery_created ON delivery (created_at);
-- The text of the time by which reports ask (v_delivery.packed_at), of what is accepted mostly.
CREATE INDEX delivery_packed ON delivery (
  status, strftime('%Y-%m-%dT%H:%M:%SZ', coalesce(created_at, first_seen_at) / 1000, 'unixepoch'));
CREATE INDEX delivery_unread ON delivery (unread) WHERE unread IS NOT NULL;
CREATE INDEX delivery_odd_status ON delivery (status)
WHERE status NOT IN ('pending', 'accepted', 'rejected', 'canceled');

-- Lines of deliveries; null as in sales_order_line.
CREATE TABLE delivery_line (
  order_delivery_id INTEGER NOT NULL,
  line_no INTEGER NOT NULL,
  barcode TEXT,
  fulfilled_quantity INTEGER,
  fulfilled_size_quantity INTEGER,
  price INTEGER,
  season_name TEXT,
  delivery_name TEXT,
  extra TEXT NOT NULL,
  PRIMARY KEY (order_delivery_id, line_no)
) STRICT, WITHOUT ROWID;
CREATE INDEX delivery_line_barcode ON delivery_line (barcode);

-- Refunds of orders.
CREATE TABLE refund (
  order_refund_id INTEGER PRIMARY KEY,
  refund_no TEXT,
  order_id INTEGER NOT NULL,
  reference TEXT,
  order_no TEXT,
  status TEXT NOT NULL,
  pending_refund_id INTEGER,
  created_at INTEGER,
  extra TEXT NOT NULL,
  content_hash TEXT NOT NULL,
  first_seen_at INTEGER NOT NULL,
  changed_at INTEGER NOT NULL,
  deleted_at INTEGER,
  read_seq INTEGER NOT NULL,
  source TEXT NOT NULL,
  unread TEXT
) STRICT;
CREATE INDEX refund_order ON refund (order_id);
-- The end of a pending refund is asked for every minute of all that were handed in lately, and for
-- each receipt.
CREATE INDEX refund_pending ON refund (pending_refund_id) WHERE pending_refund_id IS NOT NULL;
CREATE INDEX refund_unread ON refund (unread) WHERE unread IS NOT NULL;
CREATE INDEX refund_odd_status ON refund (status)
WHERE status NOT IN ('pending', 'accepted', 'rejected', 'canceled');
-- The refund that the service made of a pending one belongs into the receipt.
CREATE TRIGGER refund_tells_intake AFTER INSERT ON refund
WHEN NEW.pending_refund_id IS NOT NULL
BEGIN
  UPDATE intake SET receipt_due = receipt_due + 1 WHERE outbox_id IN (
    SELECT outbox_id FROM outbox WHERE kind = 'pending_refund' AND order_id = NEW.order_id
  );
END;

-- Lines of refunds; null as in sales_order_line.
CREATE TABLE refund_line (
  order_refund_id INTEGER NOT NULL,
  line_no INTEGER NOT NULL,
  barcode TEXT,
  refunded_quantity INTEGER,
  refunded_size_quantity INTEGER,
  price INTEGER,
  restock INTEGER,
  refund_type TEXT,
  extra TEXT NOT NULL,
  PRIMARY KEY (order_refund_id, line_no)
) STRICT, WITHOUT ROWID;

-- Refunds that were asked for; the service makes a refund of each.
CREATE TABLE pending_refund (
  pending_refund_id INTEGER PRIMARY KEY,
  order_id INTEGER NOT NULL,
  reference TEXT,
  status TEXT NOT NULL,
  comment TEXT,
  created_at INTEGER,
  extra TEXT NOT NULL,
  content_hash TEXT NOT NULL,
  first_seen_at INTEGER NOT NULL,
  changed_at INTEGER NOT NULL,
  deleted_at INTEGER,
  read_seq INTEGER NOT NULL,
  source TEXT NOT NULL,
  unread TEXT
) STRICT;
CREATE INDEX pending_refund_order ON pending_refund (order_id);
CREATE INDEX pending_refund_unread ON pending_refund (unread) WHERE unread IS NOT NULL;
CREATE INDEX pending_refund_odd_status ON pending_refund (status)
WHERE status NOT IN ('pending', 'confirmed', 'canceled');

-- Lines of pending refunds; null as in sales_order_line.
CREATE TABLE pending_refund_line (
  pending_refund_id INTEGER NOT NULL,
  line_no INTEGER NOT NULL,
  barcode TEXT,
  quantity INTEGER,
  price INTEGER,
  restock INTEGER,
  refund_type TEXT,
  extra TEXT NOT NULL,
  PRIMARY KEY (pending_refund_id, line_no)
) STRICT, WITHOUT ROWID;

-- A number of a delivery or a refund that two orders have: the mirror has the row of the one, and
-- here stands the other. Where numbers count in each order, nobody can tell the two apart by them.
CREATE TABLE shared_number (
  entity TEXT NOT NULL,
  number INTEGER NOT NULL,
  -- The order whose row is not in the mirror.
  order_id INTEGER NOT NULL,
  seen_at INTEGER NOT NULL,
  PRIMARY KEY (entity, number, order_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX shared_number_order ON shared_number (order_id);

-- V2, style and product data from here on: related resources are ids.
CREATE TABLE style (
  style_id TEXT PRIMARY KEY,
  style_no TEXT,
  style_name TEXT,
  description TEXT,
  designer TEXT,
  active INTEGER,
  updated_at INTEGER,
  brand_id TEXT,
  type_id TEXT,
  gender_id TEXT,
  country_id TEXT,
  -- A JSON array of ids.
  style_color_ids TEXT NOT NULL,
  extra TEXT NOT NULL,
  content_hash TEXT NOT NULL,
  first_seen_at INTEGER NOT NULL,
  changed_at INTEGER NOT NULL,
  deleted_at INTEGER,
  read_seq INTEGER NOT NULL,
  source TEXT NOT NULL
) STRICT;
CREATE INDEX style_style_no ON style (style_no);

-- Colours of styles.
CREATE TABLE style_color (
  style_color_id TEXT PRIMARY KEY,
  active INTEGER,
  noos_type TEXT,
  color_id TEXT,
  extra TEXT NOT NULL,
  content_hash TEXT NOT NULL,
  first_seen_at INTEGER NOT NULL,
  changed_at INTEGER NOT NULL,
  deleted_at INTEGER,
  read_seq INTEGER NOT NULL,
  source TEXT NOT NULL
) STRICT;

-- Colours.
CREATE TABLE color (
  color_id TEXT PRIMARY KEY,
  name TEXT,
  code TEXT,
  active INTEGER,
  extra TEXT NOT NULL,
  content_hash TEXT NOT NULL,
  first_seen_at INTEGER NOT NULL,
  changed_at INTEGER NOT NULL,
  deleted_at INTEGER,
  read_seq INTEGER NOT NULL,
  source TEXT NOT NULL
) STRICT;

-- Brands as V2 has them.
CREATE TABLE pdm_brand (
  brand_id TEXT PRIMARY KEY,
  name TEXT,
  extra TEXT NOT NULL,
  content_hash TEXT NOT NULL,
  first_seen_at INTEGER NOT NULL,
  changed_at INTEGER NOT NULL,
  deleted_at INTEGER,
  read_seq INTEGER NOT NULL,
  source TEXT NOT NULL
) STRICT;

-- Types of styles.
CREATE TABLE style_type (
  type_id TEXT PRIMARY KEY,
  name TEXT,
  extra TEXT NOT NULL,
  content_hash TEXT NOT NULL,
  first_seen_at INTEGER NOT NULL,
  changed_at INTEGER NOT NULL,
  deleted_at INTEGER,
  read_seq INTEGER NOT NULL,
  source TEXT NOT NULL
) STRICT;

-- Genders.
CREATE TABLE gender (
  gender_id TEXT PRIMARY KEY,
  name TEXT,
  extra TEXT NOT NULL,
  content_hash TEXT NOT NULL,
  first_seen_at INTEGER NOT NULL,
  changed_at INTEGER NOT NULL,
  deleted_at INTEGER,
  read_seq INTEGER NOT NULL,
  source TEXT NOT NULL
) STRICT;

-- Countries.
CREATE TABLE country (
  country_id TEXT PRIMARY KEY,
  name TEXT,
  code TEXT,
  extra TEXT NOT NULL,
  content_hash TEXT NOT NULL,
  first_seen_at INTEGER NOT NULL,
  changed_at INTEGER NOT NULL,
  deleted_at INTEGER,
  read_seq INTEGER NOT NULL,
  source TEXT NOT NULL
) STRICT;

-- Customers as the ERP told of them last, taken over from exchange.db. Amounts are in `currency`;
-- `as_of` is when the ERP took the figures.
CREATE TABLE erp_customer (
  account_no TEXT PRIMARY KEY,
  credit_limit INTEGER,
  -- What the customer owes, without deliveries that are not accepted yet.
  balance INTEGER,
  currency TEXT,
  overdue_days INTEGER,
  blocked INTEGER,
  as_of INTEGER,
  -- More fields of the ERP, a JSON object.
  extra TEXT NOT NULL,
  content_hash TEXT NOT NULL,
  first_seen_at INTEGER NOT NULL,
  -- When the import last brought something new.
  changed_at INTEGER NOT NULL,
  deleted_at INTEGER,
  read_seq INTEGER NOT NULL,
  source TEXT NOT NULL
) STRICT;

-- One row for each changed row of the mirror, in order and without gaps: safe to poll by seq. diff
-- holds the changed members as {"member": [old, new]}.
CREATE TABLE change (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  at INTEGER NOT NULL,
  entity TEXT NOT NULL,
  key TEXT NOT NULL,
  op TEXT NOT NULL CHECK (op IN ('insert', 'update', 'delete', 'restore')),
  diff TEXT NOT NULL,
  cause TEXT NOT NULL
) STRICT;
CREATE INDEX change_entity_key ON change (entity, key, seq);
-- Status changes of deliveries, and those that are gone or back, among millions of entries.
CREATE INDEX change_delivery_status ON change (seq)
WHERE entity = 'delivery' AND op <> 'insert'
  AND (op <> 'update' OR diff ->> '$.status[1]' IS NOT NULL);
-- A question for the stock of a style at some time asks also for what was of that style then, which
-- hardly ever changes: a few entries of a feed of millions. A variant that was gone and came back
-- under another style has left its style as well.
CREATE INDEX change_style_left ON change (diff ->> '$.style_no[0]')
WHERE op IN ('update', 'restore') AND entity = 'stock_variant'
  AND diff ->> '$.style_no[0]' IS NOT NULL;

-- The first entry of each hour (UTC, hours since 1970) finds the entries since some time, without an
-- index over all of them. Where a clock was put back, an hour keeps the first entry it ever had:
-- every entry since a time has a number from the least of its hour and the later ones on.
CREATE TABLE change_hour (
  hour INTEGER PRIMARY KEY,
  first_seq INTEGER NOT NULL
) STRICT;

-- The stock in sums, one row a day (UTC), brand, season and currency; '' where there is none. The
-- last count of a day stays.
CREATE TABLE stock_day (
  day TEXT NOT NULL,
  brand_name TEXT NOT NULL,
  season_name TEXT NOT NULL,
  currency TEXT NOT NULL,
  variants INTEGER NOT NULL,
  -- Variants with more than 0 pieces.
  in_stock INTEGER NOT NULL,
  pieces INTEGER NOT NULL,
  -- At wholesale prices, of pieces above 0.
  wsp_value INTEGER NOT NULL,
  -- Pieces above 0 without such a price.
  unpriced INTEGER NOT NULL,
  counted_at INTEGER NOT NULL,
  PRIMARY KEY (day, brand_name, season_name, currency)
) STRICT, WITHOUT ROWID;

-- The stock as counted last, by how long it has not sold: '' where there is none.
CREATE TABLE stock_age (
  brand_name TEXT NOT NULL,
  season_name TEXT NOT NULL,
  currency TEXT NOT NULL,
  -- Days since a variant was packed last in an accepted delivery (never: since the list first had
  -- it), at least: 0, 30, 90, 180 or 365.
  unsold_days INTEGER NOT NULL,
  -- Variants with more than 0 pieces; the other columns are of these alone.
  variants INTEGER NOT NULL,
  pieces INTEGER NOT NULL,
  -- At wholesale prices.
  wsp_value INTEGER NOT NULL,
  -- Pieces without such a price.
  unpriced INTEGER NOT NULL,
  counted_at INTEGER NOT NULL,
  PRIMARY KEY (brand_name, season_name, currency, unsold_days)
) STRICT, WITHOUT ROWID;

-- Sizes that occur, in the order in which people lay them out (lib/sizes.ts, reports.sizeOrder).
CREATE TABLE size_rank (
  size TEXT PRIMARY KEY,
  rank INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Rows that could not be understood; kept until they can be.
CREATE TABLE quarantine (
  id INTEGER PRIMARY KEY,
  entity TEXT NOT NULL,
  raw TEXT NOT NULL,
  raw_hash TEXT NOT NULL,
  path TEXT NOT NULL,
  reason TEXT NOT NULL,
  source TEXT NOT NULL,
  first_seen_at INTEGER NOT NULL,
  last_seen_at INTEGER NOT NULL,
  times INTEGER NOT NULL DEFAULT 1,
  UNIQUE (entity, raw_hash)
) STRICT;
-- A read of an order lets go of its own rows that were put aside, without looking through all that
-- is kept.
CREATE INDEX quarantine_order ON quarantine (
  entity, CASE WHEN json_valid(raw) THEN raw->>'orderId' END
);

-- Orders to read again. Ten events for one order are one row; `generation` tells a reader that
-- another event came while it was reading.
CREATE TABLE refresh (
  order_id INTEGER PRIMARY KEY,
  generation INTEGER NOT NULL DEFAULT 1,
  requested_at INTEGER NOT NULL,
  due_at INTEGER NOT NULL,
  attempts INTEGER NOT NULL DEFAULT 0,
  cause TEXT NOT NULL,
  last_error TEXT,
  -- Whether the refunds and pending refunds are read as well; an event about a delivery needs none.
  refunds INTEGER NOT NULL DEFAULT 1
) STRICT;
CREATE INDEX refresh_due ON refresh (due_at);

-- Things that an event has announced and that no read has shown yet: a replica of the service may
-- lag behind its events. A row leaves when the mirror shows the thing, or after hours.
CREATE TABLE announced (
  thing TEXT NOT NULL CHECK (thing IN ('delivery', 'refund')),
  thing_id INTEGER NOT NULL,
  order_id INTEGER NOT NULL,
  -- As the event has it, where it is one of ours; null: only that the thing is there.
  status TEXT,
  sent_at INTEGER NOT NULL,
  -- When it was first announced: from then on it is waited for.
  since INTEGER NOT NULL,
  PRIMARY KEY (order_id, thing, thing_id)
) STRICT, WITHOUT ROWID;

-- The list of a stream as it was last seen, a few neighbouring rows at a time. The same digest
-- proves the rows unchanged without parsing one; the keys say which rows the list has, so that a
-- run that saw the whole list knows which rows are gone.
CREATE TABLE chunk (
  stream TEXT NOT NULL,
  -- '' for a list in one piece, else the part (a season).
  part TEXT NOT NULL,
  first_row INTEGER NOT NULL,
  row_count INTEGER NOT NULL,
  -- Null: the rows must be compared again, whatever comes.
  digest BLOB,
  -- A JSON array.
  keys TEXT NOT NULL,
  -- The length of the rows on the wire; null: they did not come as bytes. With it a chunk that is
  -- as it was is found without looking at its rows.
  bytes INTEGER CHECK (bytes > 0),
  PRIMARY KEY (stream, part, first_row)
) STRICT, WITHOUT ROWID;

-- Rows of the stock that were written apart from its list since the last run began.
CREATE TABLE stock_out_of_band (
  barcode TEXT PRIMARY KEY,
  is_new INTEGER NOT NULL CHECK (is_new IN (0, 1))
) STRICT;

-- Keys that stand more than once in their list.
CREATE TABLE duplicate_key (
  stream TEXT NOT NULL,
  key TEXT NOT NULL,
  -- 1: its places have changed since its row was made of them.
  is_due INTEGER NOT NULL CHECK (is_due IN (0, 1)),
  PRIMARY KEY (stream, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX duplicate_key_due ON duplicate_key (stream, key) WHERE is_due = 1;

-- Places of such keys, and the row that each place says. It goes with the chunk (first_row) that
-- has it.
CREATE TABLE key_place (
  stream TEXT NOT NULL,
  part TEXT NOT NULL,
  first_row INTEGER NOT NULL,
  -- Among the rows of the chunk, from 0.
  at INTEGER NOT NULL,
  key TEXT NOT NULL,
  -- By which two places of a key are told apart; null: the part alone.
  season_name TEXT,
  brand_name TEXT,
  quantity INTEGER,
  -- A JSON object: the row as it is to be written.
  prepared TEXT NOT NULL,
  PRIMARY KEY (stream, part, first_row, at)
) STRICT, WITHOUT ROWID;
CREATE INDEX key_place_key ON key_place (stream, key);

-- ---- Pulls (sync/) ---------------------------------------------------------------------------

-- Runs of the streams: a run without an end goes on from its checkpoint.
CREATE TABLE sync_run (
  run_id INTEGER PRIMARY KEY AUTOINCREMENT,
  stream TEXT NOT NULL,
  cause TEXT NOT NULL,
  started_at INTEGER NOT NULL,
  ended_at INTEGER,
  read_seq INTEGER NOT NULL,
  -- What the run was asked for; a run with other options does not resume this one.
  options TEXT NOT NULL,
  -- Where to go on after a stop: written in the transaction of the page it follows.
  checkpoint TEXT NOT NULL,
  pages INTEGER NOT NULL DEFAULT 0,
  rows_seen INTEGER NOT NULL DEFAULT 0,
  rows_changed INTEGER NOT NULL DEFAULT 0,
  rows_unchanged INTEGER NOT NULL DEFAULT 0,
  rows_deleted INTEGER NOT NULL DEFAULT 0,
  rows_quarantined INTEGER NOT NULL DEFAULT 0,
  bytes INTEGER NOT NULL DEFAULT 0,
  resumes INTEGER NOT NULL DEFAULT 0,
  outcome TEXT NOT NULL DEFAULT 'running' CHECK (
    outcome IN ('running', 'complete', 'partial', 'skipped', 'suspicious', 'failed')
  ),
  reason TEXT,
  -- Held back tombstones of a suspicious run, until somebody releases the run.
  rows_held INTEGER NOT NULL DEFAULT 0,
  released_at INTEGER,
  -- Requests made once more, and requests that stood still: for their turn, for a log-in, or
  -- because the service asked for patience. Requests that wait beside each other count each.
  retries INTEGER NOT NULL DEFAULT 0,
  waits INTEGER NOT NULL DEFAULT 0,
  wait_ms INTEGER NOT NULL DEFAULT 0,
  -- Rows that were inserted, which nothing could be compared with.
  rows_new INTEGER NOT NULL DEFAULT 0,
  -- Rows in which something fell to nothing or jumped (mirror/rows/drastic.ts), and a JSON object
  -- of the faults and the groups of rows, each with its number.
  rows_drastic INTEGER NOT NULL DEFAULT 0,
  drastic TEXT NOT NULL DEFAULT '{}',
  -- Null: as many as may be. off: the first run that reads otherwise than the one before it.
  change_guard TEXT CHECK (change_guard IN ('off', 'open', 'accepted', 'over')),
  -- Entries of the change feed between which the run's own stand.
  feed_from INTEGER NOT NULL DEFAULT 0,
  feed_to INTEGER,
  -- A JSON object, by how much each part's count was off: set where counts alone keep the run from
  -- being complete.
  count_off TEXT,
  -- When the oldest answer was made that the run has rows of; null: none says so.
  list_at INTEGER
) STRICT;
CREATE INDEX sync_run_stream ON sync_run (stream, run_id);
CREATE INDEX sync_run_drastic ON sync_run (stream) WHERE rows_drastic > 100;

-- Streams: when each is due, and how its last runs ended.
CREATE TABLE stream_state (
  stream TEXT PRIMARY KEY,
  due_at INTEGER NOT NULL,
  last_run_id INTEGER,
  -- Moved by complete runs only: the start of the last one.
  complete_at INTEGER,
  complete_rows INTEGER,
  failures INTEGER NOT NULL DEFAULT 0,
  last_error TEXT,
  -- Asked for by the operator: 'run' (now), 'full' (now, and compare every row).
  requested TEXT,
  -- By which program, level and names it was read the last time.
  reading TEXT,
  -- A JSON object: by how much its counts are off for good, as a person has said, who and why.
  count_off TEXT,
  -- What a row is to the facts that a complete list does not have: zero, or null for unknown.
  unlisted TEXT CHECK (unlisted = 'zero')
) STRICT, WITHOUT ROWID;

-- Rows that one complete run of a paged list did not see: a row that slipped between two pages is
-- there again the next time, so that only two runs that agree make a tombstone.
CREATE TABLE absence (
  stream TEXT NOT NULL,
  -- As text.
  key TEXT NOT NULL,
  run_id INTEGER NOT NULL,
  PRIMARY KEY (stream, key)
) STRICT, WITHOUT ROWID;

-- ---- Events (inbox/) -------------------------------------------------------------------------

-- Signed events, each stored before it is acknowledged.
CREATE TABLE webhook_event (
  event_id TEXT PRIMARY KEY,
  received_at INTEGER NOT NULL,
  -- The relay's own time stamp of the attempt that reached us first.
  sent_at INTEGER NOT NULL,
  type TEXT,
  order_id INTEGER,
  body BLOB NOT NULL,
  secret_name TEXT NOT NULL,
  duplicates INTEGER NOT NULL DEFAULT 0,
  last_duplicate_at INTEGER,
  -- What became of it: 'refresh' (an order is read again) or 'stored' (nothing to read).
  outcome TEXT NOT NULL CHECK (outcome IN ('refresh', 'stored'))
) STRICT;
CREATE INDEX webhook_event_received ON webhook_event (received_at);
CREATE INDEX webhook_event_order ON webhook_event (order_id);
-- Events that the relay has sent again are looked for by time: they are few among all.
CREATE INDEX webhook_event_again ON webhook_event (last_duplicate_at)
WHERE last_duplicate_at IS NOT NULL;

-- ---- Decisions (decisions/) ------------------------------------------------------------------

-- The exact text of every rule set that ever decided, by its hash.
CREATE TABLE rule_set (
  hash TEXT PRIMARY KEY,
  first_used_at INTEGER NOT NULL,
  files TEXT NOT NULL,
  -- Its first evaluation in the journal, deflated: what the others repeat of it is not stored again.
  words BLOB
) STRICT, WITHOUT ROWID;

-- Delivery windows with their days, as the settings of the rules in force give them
-- (season_windows). An empty delivery_name: every window of the season without a row of its own.
CREATE TABLE season_window (
  season_name TEXT NOT NULL,
  delivery_name TEXT NOT NULL,
  -- First and last day, YYYY-MM-DD, in the time zone of the rules.
  from_day TEXT NOT NULL,
  to_day TEXT NOT NULL,
  PRIMARY KEY (season_name, delivery_name)
) STRICT, WITHOUT ROWID;

-- Facts that decisions were made on, by their digest.
CREATE TABLE fact_snapshot (
  digest TEXT PRIMARY KEY,
  at INTEGER NOT NULL,
  -- Deflated canonical JSON.
  facts BLOB NOT NULL
) STRICT, WITHOUT ROWID;

-- Append-only journal, chained by hash: each decision, on which facts, by which rules. Of the texts
-- that may tell of people (reason, shadow, evaluation) the hash covers the digests alone, so that
-- they can be forgotten; an evaluation then begins with what the digests were, and the facts go.
CREATE TABLE decision (
  decision_id INTEGER PRIMARY KEY AUTOINCREMENT,
  order_delivery_id INTEGER NOT NULL,
  order_id INTEGER NOT NULL,
  at INTEGER NOT NULL,
  trigger TEXT NOT NULL,
  actor TEXT NOT NULL,
  rule_set_hash TEXT NOT NULL,
  facts_digest TEXT NOT NULL,
  mode TEXT NOT NULL,
  outcome TEXT NOT NULL CHECK (outcome IN ('accept', 'hold', 'reject', 'release', 'no_rule')),
  reason TEXT NOT NULL,
  rules TEXT NOT NULL,
  shadow TEXT NOT NULL,
  -- Outcome of the live rules, whatever became of it.
  said TEXT NOT NULL,
  -- Hashes of the reject rules that matched, and of the hold rules whose time was up.
  matched TEXT NOT NULL,
  lapsed TEXT NOT NULL,
  -- Every rule with its clauses and operand values, as explained to people: JSON, deflated with the
  -- words of the rule set as its dictionary. The hash is over the JSON.
  evaluation BLOB NOT NULL,
  previous_hash TEXT NOT NULL,
  hash TEXT NOT NULL UNIQUE
) STRICT;
CREATE INDEX decision_delivery ON decision (order_delivery_id, decision_id);
-- Deliveries that were ever held, among all.
CREATE INDEX decision_held ON decision (order_delivery_id) WHERE outcome = 'hold';
CREATE INDEX decision_day ON decision (at, outcome, actor, rules);
CREATE INDEX decision_said ON decision (order_delivery_id, actor, decision_id, outcome);
CREATE TRIGGER decision_is_final BEFORE UPDATE ON decision
WHEN substr(NEW.evaluation, 1, 13) <> CAST('{"forgotten":' AS BLOB) OR NEW.hash <> OLD.hash
  OR NEW.previous_hash <> OLD.previous_hash OR NEW.decision_id <> OLD.decision_id
  OR NEW.order_delivery_id <> OLD.order_delivery_id OR NEW.order_id <> OLD.order_id
  OR NEW.at <> OLD.at OR NEW.actor <> OLD.actor OR NEW.outcome <> OLD.outcome
  OR NEW.rules <> OLD.rules OR NEW.facts_digest <> OLD.facts_digest OR NEW.mode <> OLD.mode
  OR NEW.trigger <> OLD.trigger OR NEW.rule_set_hash <> OLD.rule_set_hash
  OR NEW.said <> OLD.said OR NEW.matched <> OLD.matched OR NEW.lapsed <> OLD.lapsed
BEGIN
  SELECT RAISE(ABORT, 'decisions are append-only');
END;
CREATE TRIGGER decision_stays BEFORE DELETE ON decision
BEGIN
  SELECT RAISE(ABORT, 'decisions are append-only');
END;

-- The latest evaluation of each delivery, and its grounds, so that nothing is decided twice and
-- everything that changed is decided again.
CREATE TABLE evaluation (
  order_delivery_id INTEGER PRIMARY KEY,
  decision_id INTEGER NOT NULL,
  delivery_hash TEXT NOT NULL,
  order_hash TEXT NOT NULL,
  -- Mode and hash of the rule set; empty: what was decided was called off.
  rules_key TEXT NOT NULL,
  -- A digest of what the latest decision rests on: where it is the same, nothing is journaled. Of an
  -- accepted delivery, what the rules said of it last.
  basis TEXT NOT NULL DEFAULT '',
  evaluated_at INTEGER NOT NULL,
  -- When it is evaluated again at the latest; null: nothing about it is for the rules to decide.
  due_at INTEGER,
  -- 'manual': a person left it to the rules again.
  due_why TEXT,
  -- The last change of its status, of the change feed, whose author is known.
  feed_seq INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX evaluation_due ON evaluation (due_at) WHERE due_at IS NOT NULL;

-- One row for each rule that holds a delivery, from the first match until it matches no more. A
-- hold that no rule of its own stands for (could not evaluate, rules disagree, no lines) has the
-- code of its outcome as the rule.
CREATE TABLE hold (
  order_delivery_id INTEGER NOT NULL,
  rule_id TEXT NOT NULL,
  -- Another text of the rule is another hold.
  rule_hash TEXT NOT NULL,
  since INTEGER NOT NULL,
  -- When the rules are asked again although nothing changed (next opening, a duration).
  until_at INTEGER,
  -- When its time is up.
  expires_at INTEGER NOT NULL,
  -- What follows then.
  afterwards TEXT NOT NULL CHECK (afterwards IN ('escalate', 're-evaluate', 'accept', 'release')),
  -- Its time was up, and what follows has been done.
  lapsed_at INTEGER,
  PRIMARY KEY (order_delivery_id, rule_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX hold_lapsed ON hold (rule_id) WHERE lapsed_at IS NOT NULL;

-- The latest note of a person about a delivery.
CREATE TABLE delivery_note (
  order_delivery_id INTEGER PRIMARY KEY,
  text TEXT NOT NULL,
  author TEXT NOT NULL,
  at INTEGER NOT NULL
) STRICT;

-- The last word of a person about a delivery. While its lines are as they were then, the rules
-- leave the delivery alone.
CREATE TABLE review (
  order_delivery_id INTEGER PRIMARY KEY,
  action TEXT NOT NULL CHECK (action IN ('accept', 'reject', 'hold', 'release')),
  at INTEGER NOT NULL,
  actor TEXT NOT NULL,
  reason TEXT NOT NULL,
  -- From the short list of reasons, where the action asks for one.
  why TEXT,
  -- Digest of barcodes, quantities and prices.
  lines_hash TEXT NOT NULL,
  decision_id INTEGER NOT NULL
) STRICT;

-- Backtests that somebody kept: the ground on which a reject rule is armed.
CREATE TABLE backtest_report (
  report_id INTEGER PRIMARY KEY AUTOINCREMENT,
  at INTEGER NOT NULL,
  actor TEXT NOT NULL,
  rule_set_hash TEXT NOT NULL,
  since INTEGER NOT NULL,
  until INTEGER NOT NULL,
  deliveries INTEGER NOT NULL,
  -- JSON: the hash of each rule on trial, by its id.
  rules TEXT NOT NULL,
  report TEXT NOT NULL
) STRICT;

-- Deliveries that a rule would have rejected, and the persons who have looked at them.
CREATE TABLE match_seen (
  rule_hash TEXT NOT NULL,
  decision_id INTEGER NOT NULL,
  order_delivery_id INTEGER NOT NULL,
  at INTEGER NOT NULL,
  actor TEXT NOT NULL,
  PRIMARY KEY (rule_hash, decision_id)
) STRICT, WITHOUT ROWID;

-- Reject rules that were armed: each acts only in exactly the text (and with the lists and tables)
-- that it was armed in.
CREATE TABLE arming (
  arming_id INTEGER PRIMARY KEY AUTOINCREMENT,
  rule_id TEXT NOT NULL,
  rule_hash TEXT NOT NULL,
  at INTEGER NOT NULL,
  actor TEXT NOT NULL,
  reason TEXT NOT NULL,
  report_id INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  ended_at INTEGER,
  ended_by TEXT,
  end_reason TEXT
) STRICT;
CREATE UNIQUE INDEX arming_open ON arming (rule_id) WHERE ended_at IS NULL;

-- Rejects from the decision to their end. One that waits can be stopped by anybody.
CREATE TABLE reject_entry (
  entry_id INTEGER PRIMARY KEY AUTOINCREMENT,
  order_delivery_id INTEGER NOT NULL,
  order_id INTEGER NOT NULL,
  rule_id TEXT NOT NULL,
  rule_hash TEXT NOT NULL,
  -- Content of the delivery when the wait began; another content is another reject.
  delivery_hash TEXT NOT NULL,
  decision_id INTEGER NOT NULL,
  queued_at INTEGER NOT NULL,
  -- When it is looked at next: the end of the grace, or later where a safeguard puts it off.
  due_at INTEGER NOT NULL,
  state TEXT NOT NULL CHECK (
    state IN ('waiting', 'pushing', 'rejected', 'stopped', 'held', 'withdrawn', 'failed')
  ),
  -- The safeguard that is or was in its way, and what it says.
  safeguard TEXT,
  detail TEXT,
  -- Known from the moment the push is meant: what the caps count.
  intent_at INTEGER,
  intent_decision_id INTEGER,
  account_no TEXT,
  -- In ten-thousandths.
  amount INTEGER,
  currency TEXT,
  ended_at INTEGER,
  ended_by TEXT
) STRICT;
CREATE UNIQUE INDEX reject_entry_open ON reject_entry (order_delivery_id) WHERE ended_at IS NULL;
CREATE INDEX reject_entry_delivery ON reject_entry (order_delivery_id, entry_id);
CREATE INDEX reject_entry_intent ON reject_entry (intent_at) WHERE intent_at IS NOT NULL;

-- ---- Pushes (outbox/) ------------------------------------------------------------------------

-- Pushes: decisions and documents on their way to the service.
CREATE TABLE outbox (
  outbox_id INTEGER PRIMARY KEY AUTOINCREMENT,
  kind TEXT NOT NULL,
  -- Rows of one ordering key go out one after the other.
  ordering_key TEXT NOT NULL,
  reference TEXT NOT NULL,
  body TEXT NOT NULL,
  body_hash TEXT NOT NULL,
  state TEXT NOT NULL DEFAULT 'queued' CHECK (
    state IN ('queued', 'sending', 'sent', 'confirmed', 'refused', 'in_doubt', 'dead', 'canceled')
  ),
  -- The status the service must show for this push still to make sense (compare before write).
  expected_from TEXT,
  due_at INTEGER NOT NULL,
  attempts INTEGER NOT NULL DEFAULT 0,
  in_doubt_since INTEGER,
  created_at INTEGER NOT NULL,
  ended_at INTEGER,
  cause TEXT NOT NULL,
  result TEXT,
  last_error TEXT,
  -- The reference as it is compared: trimmed, NFC, lower case. Only documents have one.
  reference_key TEXT,
  -- Found by the pre-flight: [{"path", "message", "severity"}], errors and warnings.
  problems TEXT NOT NULL DEFAULT '[]',
  -- Why a person must decide; while it is set, nothing happens by itself.
  blocked_reason TEXT,
  -- The order that it made or belongs to, once it is known.
  order_id INTEGER,
  -- The reference that the service shows for it; '': it shows none; null: not seen yet.
  shown_reference TEXT,
  -- Of a delivery's status: the delivery, and the decision that it pushes. Each has one push.
  order_delivery_id INTEGER,
  decision_id INTEGER,
  UNIQUE (kind, reference)
) STRICT;
CREATE INDEX outbox_work ON outbox (due_at) WHERE ended_at IS NULL;
CREATE INDEX outbox_ordering ON outbox (ordering_key, outbox_id) WHERE ended_at IS NULL;
CREATE INDEX outbox_delivery ON outbox (order_delivery_id) WHERE order_delivery_id IS NOT NULL;
CREATE INDEX outbox_decision ON outbox (decision_id) WHERE decision_id IS NOT NULL;
CREATE UNIQUE INDEX outbox_reference_key ON outbox (kind, reference_key)
WHERE reference_key IS NOT NULL;
CREATE INDEX outbox_order ON outbox (order_id) WHERE order_id IS NOT NULL;
CREATE INDEX outbox_ended ON outbox (kind, state, ended_at);
-- By state: lookups of unknown outcomes must not step over everything that waits to be sent.
CREATE INDEX outbox_due ON outbox (state, due_at) WHERE ended_at IS NULL;
CREATE INDEX outbox_shown_reference ON outbox (kind, shown_reference)
WHERE shown_reference IS NOT NULL;
CREATE TRIGGER outbox_moves_along BEFORE UPDATE OF state ON outbox
WHEN NEW.state <> OLD.state AND NOT EXISTS (
  SELECT 1 FROM outbox_transition WHERE from_state = OLD.state AND to_state = NEW.state
)
BEGIN
  SELECT RAISE(ABORT, 'outbox: no such transition');
END;
-- Every move of a document also makes its receipts due, in the same transaction.
CREATE TRIGGER outbox_tells_intake AFTER UPDATE ON outbox
WHEN (
  NEW.state <> OLD.state OR NEW.result IS NOT OLD.result OR NEW.problems <> OLD.problems
  OR NEW.last_error IS NOT OLD.last_error OR NEW.blocked_reason IS NOT OLD.blocked_reason
  OR NEW.order_id IS NOT OLD.order_id
) AND EXISTS (SELECT 1 FROM intake WHERE outbox_id = NEW.outbox_id)
BEGIN
  UPDATE intake SET receipt_due = receipt_due + 1 WHERE outbox_id = NEW.outbox_id;
  UPDATE intake SET callback_due_at = NEW.ended_at, callback_attempts = 0, callback_error = NULL
  WHERE outbox_id = NEW.outbox_id AND NEW.ended_at IS NOT NULL AND OLD.ended_at IS NULL;
  UPDATE intake_file SET receipt_due = receipt_due + 1 WHERE file_id IN (
    SELECT file_id FROM intake_file_document WHERE outbox_id = NEW.outbox_id
  );
END;

-- No state but the written ones, and no way between them but these.
CREATE TABLE outbox_transition (
  from_state TEXT NOT NULL,
  to_state TEXT NOT NULL,
  PRIMARY KEY (from_state, to_state)
) STRICT, WITHOUT ROWID;
INSERT INTO outbox_transition (from_state, to_state) VALUES
  ('queued', 'canceled'), ('queued', 'confirmed'), ('queued', 'dead'),
  ('queued', 'in_doubt'), ('queued', 'refused'), ('queued', 'sending'),
  ('sending', 'confirmed'), ('sending', 'in_doubt'), ('sending', 'queued'),
  ('sending', 'refused'), ('sending', 'sent'),
  ('sent', 'confirmed'), ('sent', 'in_doubt'),
  ('in_doubt', 'canceled'), ('in_doubt', 'confirmed'), ('in_doubt', 'dead'),
  ('in_doubt', 'queued'), ('in_doubt', 'refused'),
  ('dead', 'canceled'), ('dead', 'confirmed'), ('dead', 'in_doubt'),
  ('dead', 'queued'),
  ('refused', 'queued'),
  ('canceled', 'queued');

-- Requests that were made for a push.
CREATE TABLE outbox_attempt (
  outbox_id INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  started_at INTEGER NOT NULL,
  -- The highest order id we knew before sending: a look-up down to it is complete.
  max_order_id_before INTEGER,
  ended_at INTEGER,
  class TEXT,
  http_status INTEGER,
  error_code TEXT,
  answer TEXT,
  -- How many equal ones were there before the attempt; more afterwards prove its effect.
  count_before INTEGER,
  PRIMARY KEY (outbox_id, attempt)
) STRICT, WITHOUT ROWID;

-- Lookups of pushes whose outcome is unknown, and statements of people about them.
CREATE TABLE outbox_evidence (
  id INTEGER PRIMARY KEY,
  outbox_id INTEGER NOT NULL,
  at INTEGER NOT NULL,
  source TEXT NOT NULL,
  outcome TEXT NOT NULL CHECK (outcome IN ('matched', 'not_found', 'ambiguous')),
  detail TEXT NOT NULL,
  -- Whether the lookup could have missed nothing: only then an absence is evidence.
  complete INTEGER NOT NULL DEFAULT 1
) STRICT;
CREATE INDEX outbox_evidence_outbox ON outbox_evidence (outbox_id);

-- Earlier texts of a document that was corrected, and how each ended.
CREATE TABLE outbox_revision (
  outbox_id INTEGER NOT NULL,
  -- From 1.
  revision INTEGER NOT NULL,
  body TEXT NOT NULL,
  -- Where it came from.
  cause TEXT NOT NULL,
  submitted_at INTEGER NOT NULL,
  state TEXT NOT NULL,
  problems TEXT NOT NULL,
  last_error TEXT,
  ended_at INTEGER,
  replaced_at INTEGER NOT NULL,
  PRIMARY KEY (outbox_id, revision)
) STRICT, WITHOUT ROWID;

-- Orders that may be this document, as long as no lookup can tell.
CREATE TABLE outbox_candidate (
  order_id INTEGER NOT NULL,
  outbox_id INTEGER NOT NULL,
  PRIMARY KEY (order_id, outbox_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX outbox_candidate_outbox ON outbox_candidate (outbox_id);

-- Orders of ours that were confirmed and are no longer at the service: it was put back.
CREATE TABLE outbox_lost (
  outbox_id INTEGER PRIMARY KEY,
  order_id INTEGER NOT NULL,
  since INTEGER NOT NULL,
  -- As the order was: by that it is known when it is back.
  reference TEXT,
  -- Of its row when it was last met; what is read later may show it again.
  read_seq INTEGER NOT NULL,
  -- When a person took note of it.
  noted_at INTEGER
) STRICT;

-- How the service spells references, learned from documents that were answered; the one without an
-- end is how it is now.
CREATE TABLE reference_spelling (
  id INTEGER PRIMARY KEY,
  kind TEXT NOT NULL,
  -- A JSON list: equally simple ones, which agree on all that was seen.
  spellings TEXT NOT NULL,
  learned_at INTEGER NOT NULL,
  ended_at INTEGER
) STRICT;
CREATE UNIQUE INDEX reference_spelling_now ON reference_spelling (kind) WHERE ended_at IS NULL;

-- ---- Documents from the ERP (outbox/intake/) -------------------------------------------------

-- Documents that the ERP submitted, their intake channel, and which receipts are due.
CREATE TABLE intake (
  outbox_id INTEGER PRIMARY KEY,
  channel TEXT NOT NULL CHECK (channel IN ('sql', 'folder', 'http', 'cli')),
  -- Which row, file and line, client or person.
  source TEXT NOT NULL,
  received_at INTEGER NOT NULL,
  -- The same document again, by whatever channel.
  repeats INTEGER NOT NULL DEFAULT 0,
  last_repeat_at INTEGER,
  -- Changes that the row in exchange.db does not show yet.
  receipt_due INTEGER NOT NULL DEFAULT 1,
  -- When the command of the configuration is to be told of the end; null: nothing to tell.
  callback_due_at INTEGER,
  callback_attempts INTEGER NOT NULL DEFAULT 0,
  callback_error TEXT
) STRICT;
CREATE INDEX intake_receipt_due ON intake (outbox_id) WHERE receipt_due > 0;
CREATE INDEX intake_callback_due ON intake (callback_due_at) WHERE callback_due_at IS NOT NULL;

-- Files of the drop folder. The same name and content is the same file.
CREATE TABLE intake_file (
  file_id INTEGER PRIMARY KEY AUTOINCREMENT,
  name TEXT NOT NULL,
  sha256 TEXT NOT NULL,
  taken_at INTEGER NOT NULL,
  folder TEXT NOT NULL CHECK (folder IN ('done', 'refused')),
  -- Its name there; another file of the same name may have come later.
  stored_as TEXT NOT NULL,
  receipt_due INTEGER NOT NULL DEFAULT 1,
  UNIQUE (name, sha256)
) STRICT;
CREATE INDEX intake_file_due ON intake_file (file_id) WHERE receipt_due > 0;

-- Documents of a file, by line.
CREATE TABLE intake_file_document (
  file_id INTEGER NOT NULL,
  line INTEGER NOT NULL,
  outbox_id INTEGER,
  -- In its place, the receipt of a document that was refused at submission (JSON).
  refusal TEXT,
  PRIMARY KEY (file_id, line)
) STRICT, WITHOUT ROWID;
CREATE INDEX intake_file_document_outbox ON intake_file_document (outbox_id)
WHERE outbox_id IS NOT NULL;

-- Idempotency keys of HTTP clients.
CREATE TABLE intake_key (
  client TEXT NOT NULL,
  key TEXT NOT NULL,
  outbox_id INTEGER NOT NULL,
  at INTEGER NOT NULL,
  PRIMARY KEY (client, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX intake_key_at ON intake_key (at);

-- What the ERP is told of deliveries: what was decided and is so at the service, or was refused
-- there. A decision that has a push is told at the end of that, any other at once; not what was
-- only tried (modes observe and shadow), planned or called off.
CREATE TABLE outcome (
  outcome_id INTEGER PRIMARY KEY AUTOINCREMENT,
  decision_id INTEGER NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('confirmed', 'refused')),
  -- Why it was refused.
  problem TEXT,
  at INTEGER NOT NULL,
  -- 1: exchange.db does not have it yet.
  row_due INTEGER NOT NULL DEFAULT 1,
  callback_due_at INTEGER,
  callback_attempts INTEGER NOT NULL DEFAULT 0,
  callback_error TEXT
) STRICT;
CREATE INDEX outcome_row_due ON outcome (outcome_id) WHERE row_due = 1;
CREATE INDEX outcome_callback_due ON outcome (callback_due_at) WHERE callback_due_at IS NOT NULL;
CREATE INDEX outcome_decision ON outcome (decision_id);
CREATE INDEX outcome_at ON outcome (at);
-- Nothing is sent for a hold, and nothing for what somebody did in the service.
CREATE TRIGGER decision_has_outcome AFTER INSERT ON decision
WHEN NEW.actor = 'external' OR (NEW.mode = 'live' AND NEW.outcome IN ('hold', 'release'))
BEGIN
  INSERT INTO outcome (decision_id, state, at, callback_due_at)
  VALUES (NEW.decision_id, 'confirmed', NEW.at, NEW.at);
END;
-- In the transaction of the decision: it is told at the end of its push.
CREATE TRIGGER push_has_outcome_later AFTER INSERT ON outbox
WHEN NEW.decision_id IS NOT NULL
BEGIN
  DELETE FROM outcome WHERE decision_id = NEW.decision_id;
END;
CREATE TRIGGER push_has_outcome AFTER UPDATE OF state ON outbox
WHEN NEW.decision_id IS NOT NULL AND NEW.state IN ('confirmed', 'refused')
  AND OLD.state <> NEW.state
BEGIN
  INSERT INTO outcome (decision_id, state, problem, at, callback_due_at)
  SELECT NEW.decision_id, NEW.state, iif(NEW.state = 'refused', NEW.last_error, NULL),
    NEW.ended_at, NEW.ended_at
  WHERE NEW.ended_at IS NOT NULL;
END;

-- ---- Notifications (ops/) ---------------------------------------------------------------------

-- Messages to people, from the end of their digest to their delivery.
CREATE TABLE notification (
  notification_id INTEGER PRIMARY KEY AUTOINCREMENT,
  -- A name in notify.channels.
  channel TEXT NOT NULL,
  -- Does not wait for the end of quiet hours, nor for a message that does.
  is_urgent INTEGER NOT NULL,
  at INTEGER NOT NULL,
  -- JSON, the same at each try.
  message TEXT NOT NULL,
  state TEXT NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'delivered', 'given_up')),
  attempts INTEGER NOT NULL DEFAULT 0,
  due_at INTEGER NOT NULL,
  last_error TEXT,
  ended_at INTEGER
) STRICT;
-- While one waits, what is new waits for the next.
CREATE UNIQUE INDEX notification_waiting ON notification (channel, is_urgent)
WHERE state = 'waiting';
CREATE INDEX notification_channel ON notification (channel, notification_id);

-- Until when a channel was told of what has begun.
CREATE TABLE notification_told (
  channel TEXT NOT NULL,
  event TEXT NOT NULL,
  until INTEGER NOT NULL,
  PRIMARY KEY (channel, event)
) STRICT, WITHOUT ROWID;

-- ---- Views for reports ------------------------------------------------------------------------
-- A public contract, described in docs/views.md. Amounts are decimals, times are text (ISO 8601,
-- UTC), booleans 0 and 1. Only functions of SQLite 3.40 and older are used, so that the client of
-- the system can read them. A name that the service left empty says no more than one that is not
-- there (nullif); numbers by which rows are searched through an index are left as they are.

-- A line that does not tell its pieces or price makes no sum; the currency is the one that
-- decisions go by.
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
  (SELECT CASE WHEN count(*) = count(l.fulfilled_quantity) THEN sum(l.fulfilled_quantity) END
    FROM delivery_line l WHERE l.order_delivery_id = d.order_delivery_id) AS pieces,
  (SELECT CASE WHEN count(*) = count(l.fulfilled_quantity * l.price)
    THEN sum(l.fulfilled_quantity * l.price) / 10000.0 END
    FROM delivery_line l WHERE l.order_delivery_id = d.order_delivery_id) AS amount,
  (SELECT c.currency FROM order_currency c WHERE c.order_id = d.order_id) AS currency,
  e.decision_id,
  n.outcome AS decided,
  n.reason,
  n.actor AS decided_by,
  strftime('%Y-%m-%dT%H:%M:%SZ', n.at / 1000, 'unixepoch') AS decided_at,
  d.deleted_at IS NOT NULL AS gone,
  d.unread
FROM delivery d
LEFT JOIN sales_order o ON o.order_id = d.order_id
LEFT JOIN evaluation e ON e.order_delivery_id = d.order_delivery_id
LEFT JOIN decision n ON n.decision_id = e.decision_id;

CREATE VIEW v_open_delivery AS
SELECT
  order_delivery_id, delivery_no, order_id, order_no, reference, account_no, company, country_code,
  packed_at, round((julianday('now') - julianday(packed_at)) * 24, 1) AS age_hours,
  pieces, amount, currency, decided, reason, decided_by, decided_at
FROM v_delivery
WHERE status = 'pending' AND gone = 0;

CREATE VIEW v_held_delivery AS
SELECT * FROM v_open_delivery WHERE decided = 'hold';

-- on_order: none in stock, but listed, because a running order has it (includeVariantsOnOrder).
-- That is not sold out.
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
  quantity = 0 AS on_order,
  (SELECT r.rank FROM size_rank r WHERE r.size = stock_variant.size) AS size_rank
FROM stock_variant
WHERE deleted_at IS NULL;

-- One size may stand in two rows, or be missing; styles of two brands may have the same number, and
-- colours no code.
CREATE VIEW v_stock_grid AS
SELECT
  v.style_no, nullif(v.style_name, '') AS style_name, nullif(v.brand_name, '') AS brand_name,
  nullif(v.color_code, '') AS color_code, nullif(v.color_name, '') AS color_name,
  count(DISTINCT coalesce(v.size, '')) AS sizes, sum(v.quantity) AS quantity,
  (SELECT json_group_object(s.size, s.quantity) FROM (
    SELECT coalesce(w.size, '') AS size, sum(w.quantity) AS quantity
    FROM stock_variant w
    WHERE w.deleted_at IS NULL AND w.style_no = v.style_no
      AND coalesce(w.color_code, '') = coalesce(v.color_code, '')
      AND coalesce(w.brand_name, '') = coalesce(v.brand_name, '')
      AND (w.color_code <> '' OR coalesce(w.color_name, '') = coalesce(v.color_name, ''))
    GROUP BY 1
    ORDER BY coalesce((SELECT r.rank FROM size_rank r WHERE r.size = coalesce(w.size, '')), 1e9),
      1) s) AS by_size
FROM stock_variant v
WHERE v.deleted_at IS NULL AND v.style_no <> ''
GROUP BY v.style_no, coalesce(v.color_code, ''), coalesce(v.brand_name, ''),
  iif(v.color_code <> '', NULL, coalesce(v.color_name, ''));

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
  strftime('%Y-%m-%dT%H:%M:%SZ', changed_at / 1000, 'unixepoch') AS changed_at,
  (SELECT r.rank FROM size_rank r WHERE r.size = season_variant.size) AS size_rank
FROM season_variant
WHERE deleted_at IS NULL;

-- Packed pieces of open orders that have not shipped, a row for each barcode. With a tracking
-- number they have shipped, and are in the stock only until that is read again. CROSS JOIN is
-- SQLite's way to keep the order: from the few open orders, and not from all accepted deliveries.
CREATE VIEW v_reserved AS
SELECT
  l.barcode,
  sum(CASE d.status WHEN 'pending' THEN l.fulfilled_quantity ELSE 0 END) AS pending,
  sum(CASE d.status WHEN 'accepted' THEN l.fulfilled_quantity ELSE 0 END) AS accepted
FROM sales_order o
CROSS JOIN delivery d ON d.order_id = o.order_id
CROSS JOIN delivery_line l ON l.order_delivery_id = d.order_delivery_id
WHERE o.completed = 0 AND o.deleted_at IS NULL AND d.deleted_at IS NULL
  AND (d.status = 'pending' OR d.status = 'accepted' AND (
    d.tracking_numbers = '[]'
    OR d.changed_at >= coalesce(
      (SELECT s.complete_at FROM stream_state s WHERE s.stream = 'stock'), 0)))
GROUP BY l.barcode;

-- Sold-out variants keep their names, and variants that were only ordered ahead have those of their
-- season. Stock that cannot be read is unknown, and not none. On the right of an outer join, a view
-- is not looked through where rows are to be distinct, hence the tables.
CREATE VIEW v_availability AS
SELECT
  r.barcode,
  coalesce(v.style_no, a.style_no) AS style_no,
  nullif(coalesce(v.style_name, a.style_name), '') AS style_name,
  nullif(coalesce(v.color_name, a.color_name), '') AS color_name,
  nullif(coalesce(v.size, a.size), '') AS size,
  iif(v.deleted_at IS NULL AND v.barcode IS NOT NULL, v.quantity, 0) AS in_stock,
  r.pending, r.accepted,
  iif(v.deleted_at IS NULL AND v.barcode IS NOT NULL, v.quantity, 0) - r.pending - r.accepted AS free
FROM v_reserved r
LEFT JOIN stock_variant_row v ON v.barcode = r.barcode
LEFT JOIN season_variant_row a ON a.season_barcode = (
  SELECT n.season_barcode FROM season_variant_row n
  WHERE n.barcode = r.barcode AND v.barcode IS NULL LIMIT 1);

-- A pre-order may name its season in its head alone.
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
    (SELECT c.currency FROM order_currency c WHERE c.order_id = o.order_id) AS currency
  FROM sales_order_line n
  JOIN sales_order o ON o.order_id = n.order_id
  WHERE n.season_name <> '' AND o.status <> 'canceled' AND o.deleted_at IS NULL
  UNION ALL
  SELECT o.season_name, n.delivery_name, n.order_id, n.quantity, n.fulfilled_quantity, n.price,
    (SELECT c.currency FROM order_currency c WHERE c.order_id = o.order_id)
  FROM sales_order o
  JOIN sales_order_line n ON n.order_id = o.order_id
  WHERE o.season_name <> '' AND coalesce(n.season_name, '') = ''
    AND o.status <> 'canceled' AND o.deleted_at IS NULL
) l
GROUP BY l.season_name, coalesce(l.delivery_name, ''), coalesce(l.currency, '');

-- Pieces that one order got too much are not taken off another one, and stock below zero covers
-- nothing.
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

-- Orders. Open is what the service has not delivered of an order that it has not completed.
CREATE VIEW v_order AS
SELECT
  o.order_id, o.order_no, o.reference, o.account_no, nullif(o.company, '') AS company,
  nullif(o.country_code, '') AS country_code, nullif(o.season_name, '') AS season_name,
  strftime('%Y-%m-%dT%H:%M:%SZ', coalesce(o.created_at, o.first_seen_at) / 1000, 'unixepoch')
    AS ordered_at,
  o.status, o.completed,
  (SELECT count(*) FROM sales_order_line l WHERE l.order_id = o.order_id) AS lines,
  (SELECT CASE WHEN count(*) = count(l.quantity) THEN sum(l.quantity) END
    FROM sales_order_line l WHERE l.order_id = o.order_id) AS pieces,
  (SELECT sum(coalesce(l.fulfilled_quantity, 0))
    FROM sales_order_line l WHERE l.order_id = o.order_id) AS fulfilled,
  CASE WHEN o.completed = 0 AND o.status <> 'canceled' AND o.deleted_at IS NULL THEN (
    SELECT CASE WHEN count(*) = count(l.quantity)
      THEN sum(max(0, l.quantity - coalesce(l.fulfilled_quantity, 0))) END
    FROM sales_order_line l WHERE l.order_id = o.order_id) ELSE 0 END AS open_pieces,
  (SELECT CASE WHEN count(*) = count(l.quantity * l.price)
    THEN sum(l.quantity * l.price) / 10000.0 END
    FROM sales_order_line l WHERE l.order_id = o.order_id) AS amount,
  CASE WHEN o.completed = 0 AND o.status <> 'canceled' AND o.deleted_at IS NULL THEN (
    SELECT CASE WHEN count(*) = count(l.quantity * l.price)
      THEN sum(max(0, l.quantity - coalesce(l.fulfilled_quantity, 0)) * l.price) / 10000.0 END
    FROM sales_order_line l WHERE l.order_id = o.order_id) ELSE 0.0 END AS open_amount,
  (SELECT c.currency FROM order_currency c WHERE c.order_id = o.order_id) AS currency,
  o.freight_type, o.freight_amount / 10000.0 AS freight_amount,
  (SELECT count(*) FROM delivery d WHERE d.order_id = o.order_id AND d.deleted_at IS NULL
    AND d.status NOT IN ('rejected', 'canceled')) AS deliveries,
  o.deleted_at IS NOT NULL AS gone,
  o.unread
FROM sales_order o;

-- The names of a variant are those of the stock list, also when it is sold out, else those of a
-- season. Two halves, so that the lines of one style are found by the indexes of either list.
CREATE VIEW v_order_line AS
SELECT
  l.order_id, o.order_no, o.reference, o.account_no, nullif(o.company, '') AS company,
  nullif(o.country_code, '') AS country_code,
  strftime('%Y-%m-%dT%H:%M:%SZ', coalesce(o.created_at, o.first_seen_at) / 1000, 'unixepoch')
    AS ordered_at,
  o.status, o.completed, l.line_no,
  coalesce(nullif(l.season_name, ''), nullif(o.season_name, '')) AS season_name,
  nullif(l.delivery_name, '') AS delivery_name, l.barcode,
  v.style_no, nullif(v.style_name, '') AS style_name, nullif(v.brand_name, '') AS brand_name,
  nullif(v.color_code, '') AS color_code, nullif(v.color_name, '') AS color_name,
  nullif(v.size, '') AS size, (SELECT r.rank FROM size_rank r WHERE r.size = v.size) AS size_rank,
  l.quantity AS pieces, l.fulfilled_quantity AS fulfilled,
  iif(o.completed = 0 AND o.status <> 'canceled' AND o.deleted_at IS NULL,
    max(0, l.quantity - coalesce(l.fulfilled_quantity, 0)), 0) AS open_pieces,
  l.price / 10000.0 AS price, l.quantity * l.price / 10000.0 AS amount,
  (SELECT c.currency FROM order_currency c WHERE c.order_id = o.order_id) AS currency,
  o.deleted_at IS NOT NULL AS gone
FROM sales_order_line l
JOIN sales_order o ON o.order_id = l.order_id
JOIN stock_variant_row v ON v.barcode = l.barcode
UNION ALL
SELECT
  l.order_id, o.order_no, o.reference, o.account_no, nullif(o.company, '') AS company,
  nullif(o.country_code, '') AS country_code,
  strftime('%Y-%m-%dT%H:%M:%SZ', coalesce(o.created_at, o.first_seen_at) / 1000, 'unixepoch')
    AS ordered_at,
  o.status, o.completed, l.line_no,
  coalesce(nullif(l.season_name, ''), nullif(o.season_name, '')) AS season_name,
  nullif(l.delivery_name, '') AS delivery_name, l.barcode,
  v.style_no, nullif(v.style_name, '') AS style_name, nullif(v.brand_name, '') AS brand_name,
  nullif(v.color_code, '') AS color_code, nullif(v.color_name, '') AS color_name,
  nullif(v.size, '') AS size, (SELECT r.rank FROM size_rank r WHERE r.size = v.size) AS size_rank,
  l.quantity AS pieces, l.fulfilled_quantity AS fulfilled,
  iif(o.completed = 0 AND o.status <> 'canceled' AND o.deleted_at IS NULL,
    max(0, l.quantity - coalesce(l.fulfilled_quantity, 0)), 0) AS open_pieces,
  l.price / 10000.0 AS price, l.quantity * l.price / 10000.0 AS amount,
  (SELECT c.currency FROM order_currency c WHERE c.order_id = o.order_id) AS currency,
  o.deleted_at IS NOT NULL AS gone
FROM sales_order_line l
JOIN sales_order o ON o.order_id = l.order_id
LEFT JOIN season_variant_row v ON v.barcode = l.barcode AND v.season_barcode = (
  SELECT min(n.season_barcode) FROM season_variant_row n WHERE n.barcode = v.barcode)
WHERE NOT EXISTS (SELECT 1 FROM stock_variant_row s WHERE s.barcode = l.barcode);

CREATE VIEW v_delivery_line AS
SELECT
  l.order_delivery_id, d.delivery_no, d.order_id, o.order_no, o.reference, o.account_no,
  nullif(o.company, '') AS company, nullif(o.country_code, '') AS country_code,
  strftime('%Y-%m-%dT%H:%M:%SZ', coalesce(d.created_at, d.first_seen_at) / 1000, 'unixepoch')
    AS packed_at,
  d.status, l.line_no,
  coalesce(nullif(l.season_name, ''), nullif(o.season_name, '')) AS season_name,
  nullif(l.delivery_name, '') AS delivery_name, l.barcode,
  v.style_no, nullif(v.style_name, '') AS style_name, nullif(v.brand_name, '') AS brand_name,
  nullif(v.color_code, '') AS color_code, nullif(v.color_name, '') AS color_name,
  nullif(v.size, '') AS size, (SELECT r.rank FROM size_rank r WHERE r.size = v.size) AS size_rank,
  l.fulfilled_quantity AS pieces, l.price / 10000.0 AS price,
  l.fulfilled_quantity * l.price / 10000.0 AS amount,
  (SELECT c.currency FROM order_currency c WHERE c.order_id = d.order_id) AS currency,
  d.deleted_at IS NOT NULL AS gone
FROM delivery_line l
JOIN delivery d ON d.order_delivery_id = l.order_delivery_id
LEFT JOIN sales_order o ON o.order_id = d.order_id
JOIN stock_variant_row v ON v.barcode = l.barcode
UNION ALL
SELECT
  l.order_delivery_id, d.delivery_no, d.order_id, o.order_no, o.reference, o.account_no,
  nullif(o.company, '') AS company, nullif(o.country_code, '') AS country_code,
  strftime('%Y-%m-%dT%H:%M:%SZ', coalesce(d.created_at, d.first_seen_at) / 1000, 'unixepoch')
    AS packed_at,
  d.status, l.line_no,
  coalesce(nullif(l.season_name, ''), nullif(o.season_name, '')) AS season_name,
  nullif(l.delivery_name, '') AS delivery_name, l.barcode,
  v.style_no, nullif(v.style_name, '') AS style_name, nullif(v.brand_name, '') AS brand_name,
  nullif(v.color_code, '') AS color_code, nullif(v.color_name, '') AS color_name,
  nullif(v.size, '') AS size, (SELECT r.rank FROM size_rank r WHERE r.size = v.size) AS size_rank,
  l.fulfilled_quantity AS pieces, l.price / 10000.0 AS price,
  l.fulfilled_quantity * l.price / 10000.0 AS amount,
  (SELECT c.currency FROM order_currency c WHERE c.order_id = d.order_id) AS currency,
  d.deleted_at IS NOT NULL AS gone
FROM delivery_line l
JOIN delivery d ON d.order_delivery_id = l.order_delivery_id
LEFT JOIN sales_order o ON o.order_id = d.order_id
LEFT JOIN season_variant_row v ON v.barcode = l.barcode AND v.season_barcode = (
  SELECT min(n.season_barcode) FROM season_variant_row n WHERE n.barcode = v.barcode)
WHERE NOT EXISTS (SELECT 1 FROM stock_variant_row s WHERE s.barcode = l.barcode);

-- Refunds; a line that does not tell its pieces or price makes no sum.
CREATE VIEW v_refund AS
SELECT
  r.order_refund_id, r.refund_no, r.order_id, o.order_no, o.reference, o.account_no,
  nullif(o.company, '') AS company, nullif(o.country_code, '') AS country_code,
  strftime('%Y-%m-%dT%H:%M:%SZ', coalesce(r.created_at, r.first_seen_at) / 1000, 'unixepoch')
    AS refunded_at,
  r.status, r.pending_refund_id,
  (SELECT CASE WHEN count(*) = count(l.refunded_quantity) THEN sum(l.refunded_quantity) END
    FROM refund_line l WHERE l.order_refund_id = r.order_refund_id) AS pieces,
  (SELECT sum(iif(l.restock = 1, l.refunded_quantity, 0))
    FROM refund_line l WHERE l.order_refund_id = r.order_refund_id) AS restocked,
  (SELECT CASE WHEN count(*) = count(l.refunded_quantity * l.price)
    THEN sum(l.refunded_quantity * l.price) / 10000.0 END
    FROM refund_line l WHERE l.order_refund_id = r.order_refund_id) AS amount,
  (SELECT c.currency FROM order_currency c WHERE c.order_id = r.order_id) AS currency,
  r.deleted_at IS NOT NULL AS gone
FROM refund r
LEFT JOIN sales_order o ON o.order_id = r.order_id;

-- Customers: those that ordered, and those that the ERP tells of. A sum over two currencies would
-- be none. Each column is looked up by itself, so that a question costs what it asks for; most
-- orders name their currency, which spares the look at order_currency. CROSS JOIN keeps SQLite from
-- looking through all pending deliveries for each customer.
CREATE VIEW v_customer AS
SELECT
  a.account_no,
  (SELECT o.company FROM sales_order o WHERE o.account_no = a.account_no AND o.company <> ''
    ORDER BY o.order_id DESC LIMIT 1) AS company,
  (SELECT o.country_code FROM sales_order o
    WHERE o.account_no = a.account_no AND o.country_code <> ''
    ORDER BY o.order_id DESC LIMIT 1) AS country_code,
  (SELECT count(*) FROM sales_order o WHERE o.account_no = a.account_no
    AND o.status <> 'canceled' AND o.deleted_at IS NULL) AS orders,
  (SELECT strftime('%Y-%m-%dT%H:%M:%SZ', max(coalesce(o.created_at, o.first_seen_at)) / 1000,
      'unixepoch')
    FROM sales_order o WHERE o.account_no = a.account_no
    AND o.status <> 'canceled' AND o.deleted_at IS NULL) AS last_ordered_at,
  (SELECT iif(count(*) = count(t.currency) AND min(t.currency) = max(t.currency),
      min(t.currency), NULL)
    FROM (
      SELECT CASE WHEN trim(o.currency) <> '' THEN o.currency ELSE
        (SELECT c.currency FROM order_currency c WHERE c.order_id = o.order_id) END AS currency
      FROM sales_order o WHERE o.account_no = a.account_no
        AND o.status <> 'canceled' AND o.deleted_at IS NULL) t) AS currency,
  (SELECT iif(min(t.currency) = max(t.currency) AND count(*) = count(t.currency),
      coalesce(sum(t.amount), 0) / 10000.0, iif(count(*) = 0, 0.0, NULL))
    FROM (
      SELECT CASE WHEN trim(o.currency) <> '' THEN o.currency ELSE
        (SELECT c.currency FROM order_currency c WHERE c.order_id = o.order_id) END AS currency,
        (SELECT sum(l.quantity * l.price)
          FROM sales_order_line l WHERE l.order_id = o.order_id) AS amount
      FROM sales_order o WHERE o.account_no = a.account_no
        AND o.status <> 'canceled' AND o.deleted_at IS NULL) t) AS amount,
  (SELECT count(*) FROM sales_order o
    CROSS JOIN sales_order_line l INDEXED BY sales_order_line_unpriced ON l.order_id = o.order_id
    WHERE o.account_no = a.account_no AND o.status <> 'canceled' AND o.deleted_at IS NULL
      AND l.quantity * l.price IS NULL) AS lines_without_amount,
  (SELECT count(*) FROM sales_order o WHERE o.account_no = a.account_no
    AND o.completed = 0 AND o.status <> 'canceled' AND o.deleted_at IS NULL) AS open_orders,
  (SELECT iif(min(t.currency) = max(t.currency) AND count(*) = count(t.currency),
      coalesce(sum(t.amount), 0) / 10000.0, iif(count(*) = 0, 0.0, NULL))
    FROM (
      SELECT CASE WHEN trim(o.currency) <> '' THEN o.currency ELSE
        (SELECT c.currency FROM order_currency c WHERE c.order_id = o.order_id) END AS currency,
        (SELECT sum(max(0, l.quantity - coalesce(l.fulfilled_quantity, 0)) * l.price)
          FROM sales_order_line l WHERE l.order_id = o.order_id) AS amount
      FROM sales_order o WHERE o.account_no = a.account_no AND o.completed = 0
        AND o.status <> 'canceled' AND o.deleted_at IS NULL) t) AS open_amount,
  (SELECT count(*) FROM sales_order o JOIN delivery d ON d.order_id = o.order_id
    WHERE o.account_no = a.account_no AND d.deleted_at IS NULL AND d.status <> 'canceled')
    AS deliveries,
  (SELECT count(*) FROM sales_order o CROSS JOIN delivery d ON d.order_id = o.order_id
    CROSS JOIN evaluation e ON e.order_delivery_id = d.order_delivery_id
    CROSS JOIN decision n ON n.decision_id = e.decision_id
    WHERE o.account_no = a.account_no AND d.deleted_at IS NULL AND d.status = 'pending'
      AND n.outcome = 'hold') AS held,
  (SELECT round(100.0 * avg(EXISTS (SELECT 1 FROM decision n
      WHERE n.order_delivery_id = d.order_delivery_id AND n.outcome = 'hold')), 1)
    FROM sales_order o JOIN delivery d ON d.order_id = o.order_id
    WHERE o.account_no = a.account_no AND d.deleted_at IS NULL AND d.status <> 'canceled')
    AS held_percent,
  (SELECT count(*) FROM sales_order o JOIN refund r ON r.order_id = o.order_id
    WHERE o.account_no = a.account_no AND r.deleted_at IS NULL
      AND r.status NOT IN ('rejected', 'canceled')) AS refunds,
  (SELECT iif(min(t.currency) = max(t.currency) AND count(*) = count(t.currency),
      coalesce(sum(t.amount), 0) / 10000.0, iif(count(*) = 0, 0.0, NULL))
    FROM (
      SELECT CASE WHEN trim(o.currency) <> '' THEN o.currency ELSE
        (SELECT c.currency FROM order_currency c WHERE c.order_id = o.order_id) END AS currency,
        (SELECT sum(l.refunded_quantity * l.price)
          FROM refund_line l WHERE l.order_refund_id = r.order_refund_id) AS amount
      FROM sales_order o JOIN refund r ON r.order_id = o.order_id
      WHERE o.account_no = a.account_no AND r.deleted_at IS NULL
        AND r.status NOT IN ('rejected', 'canceled')) t) AS refunded_amount,
  e.credit_limit / 10000.0 AS credit_limit, e.balance / 10000.0 AS balance,
  (e.credit_limit - e.balance) / 10000.0 AS credit_left,
  nullif(e.currency, '') AS credit_currency, e.overdue_days, e.blocked,
  strftime('%Y-%m-%dT%H:%M:%SZ', e.as_of / 1000, 'unixepoch') AS credit_as_of
FROM (
  SELECT DISTINCT account_no FROM sales_order WHERE account_no <> ''
  UNION
  SELECT account_no FROM erp_customer WHERE deleted_at IS NULL
) a
LEFT JOIN erp_customer e ON e.account_no = a.account_no AND e.deleted_at IS NULL;

-- Seasons with their delivery windows. Days are those of the settings of the rules: the window's
-- own, else those of its season.
CREATE VIEW v_season AS
SELECT
  s.season_name, d.line_no AS place, d.delivery_name,
  coalesce(w.from_day, a.from_day) AS from_day, coalesce(w.to_day, a.to_day) AS to_day,
  s.deleted_at IS NOT NULL AS gone
FROM season s
LEFT JOIN season_delivery d ON d.season_name = s.season_name
LEFT JOIN season_window w ON w.season_name = trim(s.season_name) COLLATE NOCASE
  AND w.delivery_name = trim(d.delivery_name) COLLATE NOCASE
LEFT JOIN season_window a ON a.season_name = trim(s.season_name) COLLATE NOCASE
  AND a.delivery_name = '';

-- Styles of either list of variants, and of V2 where that is read. What the variants of a style do
-- not agree on is null.
CREATE VIEW v_style AS
SELECT
  b.style_no,
  coalesce(
    (SELECT nullif(p.style_name, '') FROM style p
      WHERE p.style_no = b.style_no AND p.deleted_at IS NULL LIMIT 1),
    (SELECT v.style_name FROM stock_variant_row v
      WHERE v.style_no = b.style_no AND v.style_name <> '' LIMIT 1),
    (SELECT v.style_name FROM season_variant_row v
      WHERE v.style_no = b.style_no AND v.style_name <> '' LIMIT 1)) AS style_name,
  (SELECT iif(min(u.brand_name) = max(u.brand_name), min(u.brand_name), NULL) FROM (
    SELECT v.brand_name FROM stock_variant_row v
    WHERE v.style_no = b.style_no AND v.brand_name <> ''
    UNION ALL
    SELECT v.brand_name FROM season_variant_row v
    WHERE v.style_no = b.style_no AND v.brand_name <> '') u) AS brand_name,
  coalesce(
    (SELECT v.category FROM stock_variant_row v
      WHERE v.style_no = b.style_no AND v.category <> '' LIMIT 1),
    (SELECT v.category FROM season_variant_row v
      WHERE v.style_no = b.style_no AND v.category <> '' LIMIT 1)) AS category,
  coalesce(
    (SELECT v.gender FROM stock_variant_row v
      WHERE v.style_no = b.style_no AND v.gender <> '' LIMIT 1),
    (SELECT v.gender FROM season_variant_row v
      WHERE v.style_no = b.style_no AND v.gender <> '' LIMIT 1)) AS gender,
  (SELECT nullif(p.designer, '') FROM style p
    WHERE p.style_no = b.style_no AND p.deleted_at IS NULL LIMIT 1) AS designer,
  (SELECT t.name FROM style p JOIN style_type t ON t.type_id = p.type_id
    WHERE p.style_no = b.style_no AND p.deleted_at IS NULL LIMIT 1) AS type,
  (SELECT p.active FROM style p
    WHERE p.style_no = b.style_no AND p.deleted_at IS NULL LIMIT 1) AS active,
  (SELECT count(DISTINCT coalesce(nullif(v.color_code, ''), v.color_name, ''))
    FROM stock_variant_row v WHERE v.style_no = b.style_no AND v.deleted_at IS NULL) AS colors,
  (SELECT count(*) FROM stock_variant_row v
    WHERE v.style_no = b.style_no AND v.deleted_at IS NULL) AS variants,
  (SELECT coalesce(sum(v.quantity), 0) FROM stock_variant_row v
    WHERE v.style_no = b.style_no AND v.deleted_at IS NULL) AS quantity,
  (SELECT count(DISTINCT v.season_name) FROM season_variant_row v
    WHERE v.style_no = b.style_no AND v.deleted_at IS NULL) AS seasons
FROM (
  SELECT DISTINCT style_no FROM stock_variant_row WHERE style_no <> ''
  UNION
  SELECT DISTINCT style_no FROM season_variant_row WHERE style_no <> ''
  UNION
  SELECT style_no FROM style WHERE style_no <> '' AND deleted_at IS NULL
) b;

CREATE VIEW v_size AS
SELECT size, rank FROM size_rank;

CREATE VIEW v_stock_day AS
SELECT
  day, nullif(brand_name, '') AS brand_name, nullif(season_name, '') AS season_name,
  nullif(currency, '') AS currency, variants, in_stock, pieces,
  wsp_value / 10000.0 AS wsp_value, unpriced,
  strftime('%Y-%m-%dT%H:%M:%SZ', counted_at / 1000, 'unixepoch') AS counted_at
FROM stock_day;

CREATE VIEW v_stock_age AS
SELECT
  nullif(brand_name, '') AS brand_name, nullif(season_name, '') AS season_name,
  nullif(currency, '') AS currency, unsold_days, variants, pieces,
  wsp_value / 10000.0 AS wsp_value, unpriced,
  strftime('%Y-%m-%dT%H:%M:%SZ', counted_at / 1000, 'unixepoch') AS counted_at
FROM stock_age;

-- The stock of a style at the end of each day that the feed tells of, by undoing what came later.
-- A row for each variant that was there then.
CREATE VIEW v_style_stock_day AS
SELECT
  f.day, v.barcode,
  v.style_no, nullif(v.style_name, '') AS style_name, nullif(v.brand_name, '') AS brand_name,
  nullif(v.color_code, '') AS color_code, nullif(v.color_name, '') AS color_name,
  nullif(v.size, '') AS size, (SELECT r.rank FROM size_rank r WHERE r.size = v.size) AS size_rank,
  coalesce(
    (SELECT c.diff -> '$.quantity[0]' FROM change c
      WHERE c.entity = 'stock_variant' AND c.key = v.barcode AND c.seq >= f.next_seq
        AND json_type(c.diff, '$.quantity') IS NOT NULL
      ORDER BY c.seq LIMIT 1),
    json_quote(v.quantity)) ->> '$' AS quantity
FROM stock_variant_row v
JOIN (
  SELECT date(n.number * 86400, 'unixepoch') AS day, (n.number + 1) * 86400000 AS ends_at,
    min(n.first_seq) OVER (
      ORDER BY n.number DESC ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS next_seq
  FROM (SELECT hour / 24 AS number, min(first_seq) AS first_seq FROM change_hour GROUP BY 1) n
) f ON v.first_seen_at < f.ends_at
WHERE CASE
  (SELECT c.op FROM change c
    WHERE c.entity = 'stock_variant' AND c.key = v.barcode AND c.seq >= f.next_seq
      AND c.op IN ('delete', 'restore')
    ORDER BY c.seq LIMIT 1)
  WHEN 'delete' THEN 1
  WHEN 'restore' THEN 0
  ELSE v.deleted_at IS NULL
END;

-- What open orders still want packed, a row a line. Deliveries that are pending or accepted have
-- their pieces off, whether or not the service counts them as fulfilled already; two lines of one
-- order with the same barcode share them from the first on.
CREATE VIEW v_to_pack AS
SELECT order_id, line_no, barcode, season_name, delivery_name, pieces, to_pack
FROM (
  SELECT l.order_id, l.line_no, l.barcode,
    coalesce(nullif(l.season_name, ''), nullif(o.season_name, '')) AS season_name,
    nullif(l.delivery_name, '') AS delivery_name, l.quantity AS pieces,
    max(0, coalesce(l.quantity, 0) - max(coalesce(l.fulfilled_quantity, 0), (
      SELECT coalesce(sum(p.fulfilled_quantity), 0) FROM delivery d
      JOIN delivery_line p ON p.order_delivery_id = d.order_delivery_id AND p.barcode = l.barcode
      WHERE d.order_id = l.order_id AND d.deleted_at IS NULL
        AND d.status IN ('pending', 'accepted')
    ) - (
      SELECT coalesce(sum(e.quantity), 0) FROM sales_order_line e
      WHERE e.barcode = l.barcode AND e.order_id = l.order_id AND e.line_no < l.line_no
    ))) AS to_pack
  FROM sales_order_line l
  JOIN sales_order o ON o.order_id = l.order_id
  WHERE o.completed = 0 AND o.status <> 'canceled' AND o.deleted_at IS NULL
)
WHERE to_pack > 0;

-- Available to sell. Of the stock: what is there, less what is packed and not shipped, less what
-- orders without a season still want. Of a season, by its delivery windows in their order: what the
-- season's list has, less what its pre-orders want up to that window; a pre-order whose window the
-- season does not name wants its pieces from the first on. Where the lists have that off already
-- (reports.stockQuantity, reports.seasonQuantity), the quantity itself is what is left.
CREATE VIEW v_ats AS
SELECT
  barcode,
  t.style_no, nullif(t.style_name, '') AS style_name, nullif(t.brand_name, '') AS brand_name,
  nullif(t.color_code, '') AS color_code, nullif(t.color_name, '') AS color_name,
  nullif(t.size, '') AS size, (SELECT r.rank FROM size_rank r WHERE r.size = t.size) AS size_rank,
  season_name, delivery_name, quantity, packed, to_pack,
  iif(is_free, quantity, quantity - packed - to_pack) AS ats
FROM (
  SELECT
    v.barcode, v.style_no, v.style_name, v.brand_name, v.color_code, v.color_name, v.size,
    NULL AS season_name, NULL AS delivery_name, v.quantity,
    (SELECT coalesce(sum(l.fulfilled_quantity), 0)
      FROM delivery_line l
      JOIN delivery d ON d.order_delivery_id = l.order_delivery_id
      JOIN sales_order o ON o.order_id = d.order_id
      WHERE l.barcode = v.barcode
        AND o.completed = 0 AND o.deleted_at IS NULL AND d.deleted_at IS NULL
        AND (d.status = 'pending' OR d.status = 'accepted' AND (
          d.tracking_numbers = '[]'
          OR d.changed_at >= coalesce(
            (SELECT s.complete_at FROM stream_state s WHERE s.stream = 'stock'), 0)))) AS packed,
    (SELECT coalesce(sum(p.to_pack), 0) FROM v_to_pack p
      WHERE p.barcode = v.barcode AND p.season_name IS NULL) AS to_pack,
    (SELECT s.value FROM daemon_state s WHERE s.key = 'stock_quantity') IS 'free' AS is_free
  FROM stock_variant_row v
  WHERE v.deleted_at IS NULL
  UNION ALL
  SELECT
    v.barcode, v.style_no, v.style_name, v.brand_name, v.color_code, v.color_name, v.size,
    v.season_name, d.delivery_name, v.quantity, 0,
    (SELECT coalesce(sum(p.to_pack), 0) FROM v_to_pack p
      WHERE p.barcode = v.barcode AND p.season_name = v.season_name
        AND (d.line_no IS NULL OR d.line_no >= coalesce(
          (SELECT min(e.line_no) FROM season_delivery e
            WHERE e.season_name = v.season_name AND e.delivery_name = p.delivery_name), 0))),
    (SELECT s.value FROM daemon_state s WHERE s.key = 'season_quantity') IS 'free'
  FROM season_variant_row v
  LEFT JOIN season_delivery d ON d.season_name = v.season_name
  WHERE v.deleted_at IS NULL
) t;

-- Sold beyond what there is: the negative ends of v_ats, found from what is wanted.
CREATE VIEW v_oversold AS
SELECT
  barcode, style_no, nullif(style_name, '') AS style_name, nullif(brand_name, '') AS brand_name,
  nullif(color_code, '') AS color_code, nullif(color_name, '') AS color_name,
  nullif(size, '') AS size, (SELECT r.rank FROM size_rank r WHERE r.size = t.size) AS size_rank,
  season_name, quantity, packed, to_pack, -left AS missing
FROM (
  SELECT
    x.barcode, coalesce(v.style_no, a.style_no) AS style_no,
    coalesce(v.style_name, a.style_name) AS style_name,
    coalesce(v.brand_name, a.brand_name) AS brand_name,
    coalesce(v.color_code, a.color_code) AS color_code,
    coalesce(v.color_name, a.color_name) AS color_name, coalesce(v.size, a.size) AS size,
    NULL AS season_name,
    iif(v.deleted_at IS NULL AND v.barcode IS NOT NULL, v.quantity, 0) AS quantity,
    x.packed, x.to_pack,
    iif(v.deleted_at IS NULL AND v.barcode IS NOT NULL, v.quantity, 0) - iif(
      (SELECT s.value FROM daemon_state s WHERE s.key = 'stock_quantity') IS 'free',
      0, x.packed + x.to_pack) AS left
  FROM (
    SELECT u.barcode, sum(u.packed) AS packed, sum(u.to_pack) AS to_pack FROM (
      SELECT barcode, pending + accepted AS packed, 0 AS to_pack FROM v_reserved
      UNION ALL
      SELECT barcode, 0, to_pack FROM v_to_pack WHERE season_name IS NULL
    ) u
    GROUP BY u.barcode
  ) x
  LEFT JOIN stock_variant_row v ON v.barcode = x.barcode
  LEFT JOIN season_variant_row a ON a.season_barcode = (
    SELECT min(n.season_barcode) FROM season_variant_row n
    WHERE n.barcode = x.barcode AND v.barcode IS NULL)
  UNION ALL
  SELECT
    x.barcode, v.style_no, v.style_name, v.brand_name, v.color_code, v.color_name, v.size,
    x.season_name, v.quantity, 0, x.to_pack,
    v.quantity - iif(
      (SELECT s.value FROM daemon_state s WHERE s.key = 'season_quantity') IS 'free',
      0, x.to_pack)
  FROM (
    -- Without the signs SQLite would read all lines there ever were, in the order of barcodes.
    SELECT barcode, season_name, sum(to_pack) AS to_pack FROM v_to_pack
    WHERE season_name IS NOT NULL
    GROUP BY +barcode, +season_name
  ) x
  JOIN season_variant_row v ON v.barcode = x.barcode AND v.season_name = x.season_name
    AND v.deleted_at IS NULL
) t
WHERE left < 0;

CREATE VIEW v_decision AS
SELECT
  decision_id, order_delivery_id, order_id,
  strftime('%Y-%m-%dT%H:%M:%SZ', at / 1000, 'unixepoch') AS decided_at,
  actor, mode, outcome, reason, rules, trigger, rule_set_hash
FROM decision;

CREATE VIEW v_decision_day AS
SELECT
  date(d.at / 1000, 'unixepoch') AS day, d.outcome,
  coalesce(r.value, CASE d.actor WHEN 'daemon' THEN '(no rule)' ELSE '(a person)' END) AS rule,
  count(*) AS decisions
FROM decision d
LEFT JOIN json_each(d.rules) r
GROUP BY 1, 2, 3;

CREATE VIEW v_decision_hour AS
SELECT
  strftime('%Y-%m-%dT%H:00:00Z', at / 1000, 'unixepoch') AS hour, outcome,
  CASE actor WHEN 'daemon' THEN 'the rules' WHEN 'external' THEN 'the service' ELSE 'people' END
    AS decided_by,
  count(*) AS decisions
FROM decision
GROUP BY 1, 2, 3;

-- The last word of the rules about each delivery that was decided, and who decided in the end.
CREATE VIEW v_agreement AS
SELECT
  d.order_delivery_id, d.delivery_no, d.status,
  strftime('%Y-%m-%dT%H:%M:%SZ', coalesce(d.created_at, d.first_seen_at) / 1000, 'unixepoch')
    AS packed_at,
  (SELECT n.outcome FROM decision n
    WHERE n.order_delivery_id = d.order_delivery_id AND n.actor = 'daemon'
    ORDER BY n.decision_id DESC LIMIT 1) AS rules_said,
  CASE WHEN EXISTS (
    SELECT 1 FROM decision n JOIN outbox b ON b.decision_id = n.decision_id
    WHERE n.order_delivery_id = d.order_delivery_id AND n.actor = 'daemon'
      AND b.state IN ('sent', 'confirmed') AND b.body ->> '$.status' = d.status
  ) THEN 'the rules' ELSE 'people' END AS done_by
FROM delivery d
WHERE d.status IN ('accepted', 'rejected') AND d.deleted_at IS NULL
  AND EXISTS (SELECT 1 FROM decision n
    WHERE n.order_delivery_id = d.order_delivery_id AND n.actor = 'daemon');

CREATE VIEW v_order_pushed AS
SELECT
  b.outbox_id, b.kind, b.reference, b.state,
  b.result ->> '$.orderId' AS order_id, b.result ->> '$.orderNo' AS order_no,
  b.attempts, b.last_error,
  strftime('%Y-%m-%dT%H:%M:%SZ', b.created_at / 1000, 'unixepoch') AS handed_in_at,
  strftime('%Y-%m-%dT%H:%M:%SZ', b.ended_at / 1000, 'unixepoch') AS ended_at
FROM outbox b
WHERE b.kind = 'order';

CREATE VIEW v_outbox AS
SELECT
  outbox_id, kind, reference, state, attempts, last_error,
  strftime('%Y-%m-%dT%H:%M:%SZ', created_at / 1000, 'unixepoch') AS created_at,
  strftime('%Y-%m-%dT%H:%M:%SZ', due_at / 1000, 'unixepoch') AS due_at,
  strftime('%Y-%m-%dT%H:%M:%SZ', in_doubt_since / 1000, 'unixepoch') AS in_doubt_since,
  strftime('%Y-%m-%dT%H:%M:%SZ', ended_at / 1000, 'unixepoch') AS ended_at
FROM outbox;

CREATE VIEW v_refund_pending AS
SELECT
  p.pending_refund_id, p.order_id, p.reference, p.status,
  strftime('%Y-%m-%dT%H:%M:%SZ', coalesce(p.created_at, p.first_seen_at) / 1000, 'unixepoch')
    AS created_at,
  (SELECT sum(l.quantity) FROM pending_refund_line l
    WHERE l.pending_refund_id = p.pending_refund_id) AS pieces,
  r.order_refund_id, r.status AS refund_status
FROM pending_refund p
LEFT JOIN refund r ON r.order_id = p.order_id AND r.pending_refund_id = p.pending_refund_id
WHERE p.deleted_at IS NULL;

CREATE VIEW v_sync_run AS
SELECT
  run_id, stream, cause, outcome, reason, pages, rows_seen, rows_changed, rows_unchanged,
  rows_deleted, rows_quarantined, rows_held, bytes, resumes,
  strftime('%Y-%m-%dT%H:%M:%SZ', started_at / 1000, 'unixepoch') AS started_at,
  strftime('%Y-%m-%dT%H:%M:%SZ', ended_at / 1000, 'unixepoch') AS ended_at,
  (ended_at - started_at) / 1000.0 AS seconds
FROM sync_run;

CREATE VIEW v_freshness AS
SELECT
  stream, complete_rows AS rows,
  EXISTS (SELECT 1 FROM pause p
    WHERE p.target = 'all' OR p.target = 'stream' AND p.name = stream_state.stream) AS paused,
  strftime('%Y-%m-%dT%H:%M:%SZ', complete_at / 1000, 'unixepoch') AS complete_at,
  CAST((julianday('now') - 2440587.5) * 86400 - complete_at / 1000.0 AS INTEGER) AS age_seconds,
  strftime('%Y-%m-%dT%H:%M:%SZ', due_at / 1000, 'unixepoch') AS due_at,
  failures, last_error
FROM stream_state;

CREATE VIEW v_orphan AS
SELECT 'delivery' AS entity, CAST(d.order_delivery_id AS TEXT) AS key,
  'its order ' || d.order_id || ' is not here' AS why
FROM delivery d
WHERE d.deleted_at IS NULL AND NOT EXISTS (SELECT 1 FROM sales_order o WHERE o.order_id = d.order_id)
UNION ALL
SELECT 'refund', CAST(r.order_refund_id AS TEXT), 'its order ' || r.order_id || ' is not here'
FROM refund r
WHERE r.deleted_at IS NULL AND NOT EXISTS (SELECT 1 FROM sales_order o WHERE o.order_id = r.order_id)
UNION ALL
SELECT 'pending_refund', CAST(p.pending_refund_id AS TEXT), 'its order ' || p.order_id || ' is not here'
FROM pending_refund p
WHERE p.deleted_at IS NULL AND NOT EXISTS (SELECT 1 FROM sales_order o WHERE o.order_id = p.order_id)
UNION ALL
SELECT 'stock_variant', l.barcode, 'order ' || o.order_id || ' asks for this unknown barcode'
FROM sales_order o
JOIN sales_order_line l ON l.order_id = o.order_id
WHERE o.completed = 0 AND o.deleted_at IS NULL
  AND NOT EXISTS (SELECT 1 FROM stock_variant v WHERE v.barcode = l.barcode)
  AND NOT EXISTS (SELECT 1 FROM season_variant v WHERE v.barcode = l.barcode);

CREATE VIEW v_quarantine AS
SELECT
  id, entity, path, reason, raw, source, times,
  strftime('%Y-%m-%dT%H:%M:%SZ', first_seen_at / 1000, 'unixepoch') AS first_seen_at,
  strftime('%Y-%m-%dT%H:%M:%SZ', last_seen_at / 1000, 'unixepoch') AS last_seen_at
FROM quarantine;

-- One row for every new delivery that an event or a sweep brought into the mirror. `announced`: an
-- event brought it, or its delivery_created came no later than five minutes after the sweep did.
-- `since`: when the sweep before began, the earliest that the delivery can have been packed.
-- Left out: what a sweep found that had no complete one before it (all is new then), and deliveries
-- of an old order whose details a sweep read for the first time.
CREATE VIEW event_coverage AS
SELECT order_delivery_id, order_id, at, created_at, by_event, since,
  by_event OR EXISTS (
    SELECT 1 FROM webhook_event e
    WHERE e.order_id = found.order_id AND e.type = 'sales_order.delivery_created'
      AND e.received_at BETWEEN since - 300000 AND at + 300000
  ) AS announced
FROM (
  SELECT d.order_delivery_id, d.order_id, d.first_seen_at AS at, d.created_at,
    c.cause LIKE 'refresh:event:%' AS by_event,
    iif(c.cause LIKE '%:first', o.first_seen_at, NULL) AS order_seen_at,
    p.started_at AS since, p.ended_at AS swept_at
  FROM delivery d
  JOIN change c ON c.entity = 'delivery' AND c.key = CAST(d.order_delivery_id AS TEXT)
    AND c.op = 'insert'
  LEFT JOIN sales_order o ON o.order_id = d.order_id
  LEFT JOIN sync_run r ON r.run_id =
    CAST(replace(replace(c.cause, 'refresh:sweep:', ''), 'run:', '') AS INTEGER)
  LEFT JOIN sync_run p ON p.run_id = (
    SELECT max(run_id) FROM (
      SELECT * FROM (
        SELECT run_id FROM sync_run WHERE stream = 'orders' AND outcome = 'complete'
          AND run_id < r.run_id AND ended_at <= r.started_at ORDER BY run_id DESC LIMIT 1)
      UNION ALL
      SELECT * FROM (
        SELECT run_id FROM sync_run WHERE stream = 'ordersFull' AND outcome = 'complete'
          AND run_id < r.run_id AND ended_at <= r.started_at ORDER BY run_id DESC LIMIT 1)))
) found
WHERE by_event OR (since IS NOT NULL AND (order_seen_at IS NULL OR order_seen_at > swept_at));

-- Members that the service sends and that have no column: in the newest 1,000 rows of each table,
-- which are found by their rowid.
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

CREATE VIEW v_incident AS
SELECT
  id, kind, entity, key, detail,
  strftime('%Y-%m-%dT%H:%M:%SZ', at / 1000, 'unixepoch') AS at,
  strftime('%Y-%m-%dT%H:%M:%SZ', resolved_at / 1000, 'unixepoch') AS resolved_at
FROM incident;

CREATE VIEW v_change AS
SELECT seq, strftime('%Y-%m-%dT%H:%M:%SZ', at / 1000, 'unixepoch') AS at, entity, key, op, diff,
  cause
FROM change;

CREATE VIEW v_change_hour AS
SELECT strftime('%Y-%m-%dT%H:00:00Z', hour * 3600, 'unixepoch') AS hour, first_seq
FROM change_hour;

-- NOT INDEXED keeps SQLite on the numbers: by the index of a kind of row it would read all of them.
CREATE VIEW v_recent_change AS
SELECT seq, strftime('%Y-%m-%dT%H:%M:%SZ', at / 1000, 'unixepoch') AS at, entity, key, op, diff,
  cause
FROM change NOT INDEXED
WHERE seq >= (SELECT min(first_seq) FROM change_hour
    WHERE hour >= (unixepoch('now', 'start of day') - 86400) / 3600)
  AND at >= (unixepoch('now', 'start of day') - 86400) * 1000;
