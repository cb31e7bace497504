-- When and why a delivery is looked at again, and how long it is held. Times are epoch
-- milliseconds (UTC).

-- What makes it due: 'facts' (something that a rule reads changed), 'hold' (the time of a hold is
-- up), 'tick' (a rule reads the clock), 'manual'.
ALTER TABLE evaluation ADD COLUMN due_why TEXT;
-- The last change of its status, of the change feed, whose author is known.
ALTER TABLE evaluation ADD COLUMN feed_seq INTEGER NOT NULL DEFAULT 0;

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
  afterwards TEXT NOT NULL CHECK (afterwards IN ('escalate', 're-evaluate', 'accept')),
  -- Its time was up, and what follows has been done.
  lapsed_at INTEGER,
  PRIMARY KEY (order_delivery_id, rule_id)
) STRICT, WITHOUT ROWID;
