-- What people have paused, in one place. A name is a kind of push, or a stream; empty: all of it.
CREATE TABLE pause (
  target TEXT NOT NULL CHECK (target IN ('pushes', 'decisions', 'stream', 'all')),
  name TEXT NOT NULL DEFAULT '',
  reason TEXT NOT NULL,
  actor TEXT NOT NULL,
  at INTEGER NOT NULL,
  PRIMARY KEY (target, name)
) STRICT, WITHOUT ROWID;

INSERT INTO pause SELECT 'stream', stream, 'paused before', 'daemon', 0
FROM stream_state WHERE paused = 1;
INSERT INTO pause SELECT 'decisions', '', value->>'$.reason', value->>'$.actor', value->>'$.at'
FROM daemon_state WHERE key = 'decisions_stop';
INSERT OR REPLACE INTO pause
SELECT 'pushes', coalesce(s.value->>'$.kind', ''), s.value->>'$.reason', s.value->>'$.actor',
  s.value->>'$.at'
FROM daemon_state d, json_each(d.value) s WHERE d.key = 'outbox_stops';
DELETE FROM daemon_state
WHERE key IN ('decisions_stop', 'outbox_stops', 'outbox.paused', 'outbox.held');

DROP VIEW v_freshness;
ALTER TABLE stream_state DROP COLUMN paused;
CREATE VIEW v_freshness AS
SELECT
  s.stream, s.complete_rows AS rows,
  EXISTS (SELECT 1 FROM pause p
    WHERE p.target = 'all' OR p.target = 'stream' AND p.name = s.stream) AS paused,
  strftime('%Y-%m-%dT%H:%M:%SZ', s.complete_at / 1000, 'unixepoch') AS complete_at,
  CAST((julianday('now') - 2440587.5) * 86400 - s.complete_at / 1000.0 AS INTEGER) AS age_seconds,
  strftime('%Y-%m-%dT%H:%M:%SZ', s.due_at / 1000, 'unixepoch') AS due_at,
  s.failures, s.last_error
FROM stream_state s;
