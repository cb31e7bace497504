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
