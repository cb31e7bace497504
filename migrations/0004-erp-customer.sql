-- What the ERP says of its customers, as last imported from exchange.db.
-- Money is integer hundredths in `currency`; `as_of` is when the ERP took the figures.

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

-- Deliveries of one customer share one credit.
CREATE INDEX sales_order_account ON sales_order (account_no);
