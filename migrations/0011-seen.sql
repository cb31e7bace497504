-- The last entry of the change feed that was there when the delivery was looked at: what came up
-- to it is no reason to look again.
ALTER TABLE evaluation ADD COLUMN seen_seq INTEGER NOT NULL DEFAULT 0;
