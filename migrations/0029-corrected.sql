-- A document that was refused, or called off, and was never sent may be handed in again under its
-- own reference, corrected: its row goes on with the new content.
INSERT INTO outbox_transition (from_state, to_state) VALUES
  ('refused', 'queued'), ('canceled', 'queued');

-- What such a document said before, and how that ended.
CREATE TABLE outbox_revision (
  outbox_id INTEGER NOT NULL,
  -- From 1.
  revision INTEGER NOT NULL,
  body TEXT NOT NULL,
  -- Where it came from.
  cause TEXT NOT NULL,
  handed_in_at INTEGER NOT NULL,
  state TEXT NOT NULL,
  problems TEXT NOT NULL,
  last_error TEXT,
  ended_at INTEGER,
  replaced_at INTEGER NOT NULL,
  PRIMARY KEY (outbox_id, revision)
) STRICT, WITHOUT ROWID;

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
