/** The tables of the relay's state. `seq` is the order in which rows were written. */
export const SCHEMA = `
CREATE TABLE IF NOT EXISTS endpoint (
  id TEXT PRIMARY KEY, url TEXT NOT NULL, description TEXT NOT NULL, event_types TEXT,
  disabled_reason TEXT, failing_since INTEGER, created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
) STRICT;
CREATE TABLE IF NOT EXISTS signing_key (
  seq INTEGER PRIMARY KEY, endpoint_id TEXT NOT NULL, secret TEXT NOT NULL, expires_at INTEGER
) STRICT;
CREATE INDEX IF NOT EXISTS signing_key_endpoint ON signing_key (endpoint_id);
CREATE TABLE IF NOT EXISTS message (
  seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, event_type TEXT NOT NULL, event_id TEXT,
  body BLOB NOT NULL, created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS message_created ON message (created_at);
CREATE INDEX IF NOT EXISTS message_event_id ON message (event_id) WHERE event_id IS NOT NULL;
CREATE TABLE IF NOT EXISTS delivery (
  message_id TEXT NOT NULL, endpoint_id TEXT NOT NULL,
  status TEXT NOT NULL CHECK (status IN ('success', 'pending', 'failed')),
  next_attempt_at INTEGER, PRIMARY KEY (message_id, endpoint_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS delivery_endpoint ON delivery (endpoint_id, status);
CREATE TABLE IF NOT EXISTS job (
  seq INTEGER PRIMARY KEY, message_id TEXT NOT NULL, endpoint_id TEXT NOT NULL,
  number INTEGER NOT NULL, kind TEXT NOT NULL CHECK (kind IN ('scheduled', 'manual', 'duplicate')),
  due_at INTEGER NOT NULL, fault TEXT
) STRICT;
CREATE INDEX IF NOT EXISTS job_endpoint_due ON job (endpoint_id, due_at, seq);
CREATE INDEX IF NOT EXISTS job_message ON job (message_id);
CREATE INDEX IF NOT EXISTS job_due ON job (due_at);
CREATE TABLE IF NOT EXISTS attempt (
  seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, message_id TEXT NOT NULL,
  endpoint_id TEXT NOT NULL, url TEXT NOT NULL,
  status TEXT NOT NULL CHECK (status IN ('success', 'failed')),
  response_status INTEGER NOT NULL, response TEXT NOT NULL, duration_ms INTEGER NOT NULL,
  trigger TEXT NOT NULL CHECK (trigger IN ('scheduled', 'manual')), at INTEGER NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS attempt_message ON attempt (message_id, seq);
CREATE INDEX IF NOT EXISTS attempt_endpoint ON attempt (endpoint_id, seq);
`;
