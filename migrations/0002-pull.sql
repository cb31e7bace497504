-- The rest of the mirror, and what a pull needs to prove that it saw everything.
-- Conventions as in 0001: times are epoch milliseconds, money is integer hundredths, booleans 0/1.

-- ---- Mirror: V1's catalog -----------------------------------------------------------------

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

CREATE TABLE season (
  season_name TEXT PRIMARY KEY,
  extra TEXT NOT NULL,
  content_hash TEXT NOT NULL,
  first_seen_at INTEGER NOT NULL,
  changed_at INTEGER NOT NULL,
  deleted_at INTEGER,
  read_seq INTEGER NOT NULL,
  source TEXT NOT NULL
) STRICT;

CREATE TABLE season_delivery (
  season_name TEXT NOT NULL,
  line_no INTEGER NOT NULL,
  delivery_name TEXT NOT NULL,
  PRIMARY KEY (season_name, line_no)
) STRICT, WITHOUT ROWID;

-- What can be ordered ahead, one row a season and barcode; season_barcode is both, with a slash.
CREATE TABLE season_variant (
  season_barcode TEXT PRIMARY KEY,
  season_name TEXT NOT NULL,
  barcode TEXT NOT NULL,
  quantity INTEGER NOT NULL,
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
  source TEXT NOT NULL
) STRICT;
CREATE INDEX season_variant_barcode ON season_variant (barcode);
CREATE INDEX season_variant_style ON season_variant (style_no, color_code, size);

-- ---- Mirror: V2, style and product data -------------------------------------------------------
-- Related resources are ids; no foreign keys, as everywhere.

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

-- ---- Mirror: refunds ------------------------------------------------------------------------

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
  source TEXT NOT NULL
) STRICT;
CREATE INDEX refund_order ON refund (order_id);

CREATE TABLE refund_line (
  order_refund_id INTEGER NOT NULL,
  line_no INTEGER NOT NULL,
  barcode TEXT NOT NULL,
  refunded_quantity INTEGER NOT NULL,
  refunded_size_quantity INTEGER,
  price INTEGER,
  restock INTEGER,
  refund_type TEXT,
  extra TEXT NOT NULL,
  PRIMARY KEY (order_refund_id, line_no)
) STRICT, WITHOUT ROWID;

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
  source TEXT NOT NULL
) STRICT;
CREATE INDEX pending_refund_order ON pending_refund (order_id);

CREATE TABLE pending_refund_line (
  pending_refund_id INTEGER NOT NULL,
  line_no INTEGER NOT NULL,
  barcode TEXT NOT NULL,
  quantity INTEGER NOT NULL,
  price INTEGER,
  restock INTEGER,
  refund_type TEXT,
  extra TEXT NOT NULL,
  PRIMARY KEY (pending_refund_id, line_no)
) STRICT, WITHOUT ROWID;

-- ---- Proofs of the pulls --------------------------------------------------------------------

-- The list of a stream as it was last seen, a few neighbouring rows at a time. The same digest
-- proves the rows unchanged without parsing one; the keys say which rows the list has, so that a
-- run that saw the whole list knows which rows are gone.
CREATE TABLE segment (
  stream TEXT NOT NULL,
  -- '' for a list in one piece, else the part (a season).
  part TEXT NOT NULL,
  first_row INTEGER NOT NULL,
  row_count INTEGER NOT NULL,
  -- Null: the rows must be compared again, whatever comes.
  digest BLOB,
  -- A JSON array.
  keys TEXT NOT NULL,
  PRIMARY KEY (stream, part, first_row)
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

-- What the operator asked for: 'run' (now), 'full' (now, and compare every row).
ALTER TABLE stream_state ADD COLUMN requested TEXT;
-- Held back tombstones of a suspicious run, until somebody releases the run.
ALTER TABLE sync_run ADD COLUMN rows_held INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sync_run ADD COLUMN released_at INTEGER;

-- Deleted rows are few: this index makes the number of live ones cheap to know.
CREATE INDEX stock_variant_deleted ON stock_variant (deleted_at) WHERE deleted_at IS NOT NULL;
CREATE INDEX season_variant_deleted ON season_variant (deleted_at) WHERE deleted_at IS NOT NULL;
