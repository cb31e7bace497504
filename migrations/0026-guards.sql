-- What a run says of its list besides its rows, and what a person has said about it.

-- Rows that were inserted, which nothing could be compared with.
ALTER TABLE sync_run ADD COLUMN rows_new INTEGER NOT NULL DEFAULT 0;
-- Rows in which something fell to nothing or jumped (mirror/rows/drastic.ts), and a JSON object of
-- what it was and in which groups of rows, each with its number.
ALTER TABLE sync_run ADD COLUMN rows_drastic INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sync_run ADD COLUMN drastic TEXT NOT NULL DEFAULT '{}';
-- Null: as many as may be. off: the first run that reads otherwise than the one before it.
ALTER TABLE sync_run ADD COLUMN change_guard TEXT CHECK (
  change_guard IN ('off', 'open', 'accepted', 'over')
);
-- Entries of the change feed between which the run's own stand.
ALTER TABLE sync_run ADD COLUMN feed_from INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sync_run ADD COLUMN feed_to INTEGER;
CREATE INDEX sync_run_drastic ON sync_run (stream) WHERE rows_drastic > 100;
-- Of a run that only its counts keep from being complete: a JSON object, by how much each part's
-- count was off.
ALTER TABLE sync_run ADD COLUMN count_off TEXT;
-- When the oldest answer was made that the run has rows of; null: none says so.
ALTER TABLE sync_run ADD COLUMN list_at INTEGER;

-- By which program, level and names it was read the last time.
ALTER TABLE stream_state ADD COLUMN reading TEXT;
-- A JSON object: by how much its counts are off for good, as a person has said, who and why.
ALTER TABLE stream_state ADD COLUMN count_off TEXT;
-- What a row is to the facts that a complete list does not have: zero, or null for unknown.
ALTER TABLE stream_state ADD COLUMN unlisted TEXT CHECK (unlisted = 'zero');

-- Keys that stand more than once in their list.
CREATE TABLE key_twice (
  stream TEXT NOT NULL,
  key TEXT NOT NULL,
  -- 1: its places have changed since its row was made of them.
  is_due INTEGER NOT NULL CHECK (is_due IN (0, 1)),
  PRIMARY KEY (stream, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX key_twice_due ON key_twice (stream, key) WHERE is_due = 1;

-- Where they stand, and what is said there. It goes with the segment (first_row) that has it.
CREATE TABLE key_place (
  stream TEXT NOT NULL,
  part TEXT NOT NULL,
  first_row INTEGER NOT NULL,
  -- Among the rows of the segment, from 0.
  at INTEGER NOT NULL,
  key TEXT NOT NULL,
  -- By which two places of a key are told apart; null: the part alone.
  season_name TEXT,
  brand_name TEXT,
  quantity INTEGER NOT NULL,
  -- A JSON object: the row as it is to be written.
  prepared TEXT NOT NULL,
  PRIMARY KEY (stream, part, first_row, at)
) STRICT, WITHOUT ROWID;
CREATE INDEX key_place_key ON key_place (stream, key);
