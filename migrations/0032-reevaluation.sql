-- Every open delivery is evaluated again in passes: nothing follows the change feed for the facts. The
-- table is made again, because to drop a column fails where somebody's own view is broken.
CREATE TEMP TABLE evaluation_before AS SELECT * FROM evaluation;
DROP TABLE evaluation;
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
  due_why TEXT,
  -- The status change in the feed whose author is known.
  feed_seq INTEGER NOT NULL DEFAULT 0
) STRICT;
INSERT INTO evaluation (order_delivery_id, decision_id, delivery_hash, order_hash, rules_key,
  evaluated_at, due_at, due_why, feed_seq)
SELECT order_delivery_id, decision_id, delivery_hash, order_hash, rules_key, evaluated_at, due_at,
  iif(due_why = 'manual', 'manual', NULL), feed_seq
FROM temp.evaluation_before;
DROP TABLE temp.evaluation_before;
CREATE INDEX evaluation_due ON evaluation (due_at) WHERE due_at IS NOT NULL;
DELETE FROM daemon_state
WHERE key IN ('decisions_standing', 'decisions_stock_read_at', 'decisions_seasons_read_at');

-- Status changes of deliveries, and those that are gone or back: found among millions of entries.
CREATE INDEX change_delivery_status ON change (seq)
WHERE entity = 'delivery' AND op <> 'insert'
  AND (op <> 'update' OR diff ->> '$.status[1]' IS NOT NULL);
