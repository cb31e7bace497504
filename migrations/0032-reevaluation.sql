-- Every open delivery is evaluated again in passes: nothing follows the change feed for the facts.
ALTER TABLE evaluation DROP COLUMN seen_seq;
ALTER TABLE evaluation DROP COLUMN facts_digest;
-- A digest of what the latest decision rests on: where it is the same, nothing is journaled. Of an
-- accepted delivery, what the rules said of it last.
ALTER TABLE evaluation ADD COLUMN basis TEXT NOT NULL DEFAULT '';
UPDATE evaluation SET due_why = NULL WHERE due_why IS NOT 'manual';
DELETE FROM daemon_state
WHERE key IN ('decisions_standing', 'decisions_stock_read_at', 'decisions_seasons_read_at');

-- Status changes of deliveries, and those that are gone or back: found among millions of entries.
CREATE INDEX change_delivery_status ON change (seq)
WHERE entity = 'delivery' AND op <> 'insert'
  AND (op <> 'update' OR diff ->> '$.status[1]' IS NOT NULL);
