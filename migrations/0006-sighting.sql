-- Who told us of a change first, and how late: what the loss meter goes by.
CREATE TABLE sighting (
  -- The entry of the change feed.
  change_seq INTEGER PRIMARY KEY,
  at INTEGER NOT NULL,
  order_id INTEGER NOT NULL,
  -- The type of the event that should have told us.
  type TEXT NOT NULL,
  seen_by TEXT NOT NULL CHECK (seen_by IN ('event', 'sweep')),
  -- From the change to the mirror; where its time is not known, at the most.
  late_ms INTEGER NOT NULL,
  event_id TEXT,
  -- 'late': the event came after the sweep. Null: it may still come.
  verdict TEXT CHECK (verdict IN ('announced', 'late', 'lost', 'excused'))
) STRICT;
CREATE INDEX sighting_at ON sighting (at);
CREATE INDEX sighting_open ON sighting (change_seq) WHERE verdict IS NULL;
CREATE INDEX sighting_event ON sighting (event_id) WHERE event_id IS NOT NULL;
