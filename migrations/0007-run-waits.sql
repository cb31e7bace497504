-- What a run waited for, what a read of an order brings along, and which closed orders are to be
-- looked at next.

-- Requests made once more, and requests that stood still: for their turn, for a log-in, or because
-- the service asked for patience. Requests that wait beside each other count each.
ALTER TABLE sync_run ADD COLUMN retries INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sync_run ADD COLUMN waits INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sync_run ADD COLUMN wait_ms INTEGER NOT NULL DEFAULT 0;

-- Whether the refunds and pending refunds are read as well; an event about a delivery needs none.
ALTER TABLE refresh ADD COLUMN refunds INTEGER NOT NULL DEFAULT 1;

-- When the order was last read with all that belongs to it. Null: never.
ALTER TABLE sales_order ADD COLUMN details_read_at INTEGER;
