-- The standby's tables in PostgreSQL, which hold the lease of each account and what a second machine
-- needs to go on. Made by "selvedge standby init"; each statement may run again.

-- Which machine may send for an account. Columns with a time are for people: no machine decides by
-- one, because the clock of a promoted server may be another.
CREATE TABLE IF NOT EXISTS standby_lease (
  account text PRIMARY KEY,
  -- Drawn at each taking. The token is for people: a server that lags may give one out twice.
  taking uuid NOT NULL,
  token bigint NOT NULL,
  -- Machine and data folder of the holder.
  holder text NOT NULL,
  -- Raised at each renewal: whoever sees the same one for a lease's length may take over.
  beat bigint NOT NULL,
  -- Timeline on which the record has all that was acknowledged.
  timeline integer NOT NULL,
  -- Replicas each of which confirmed the last renewal: one of them that is promoted has all.
  confirmed_by text[] NOT NULL DEFAULT '{}',
  taken_at timestamptz NOT NULL,
  ends_at timestamptz NOT NULL,
  -- The holder has given it away: whoever waits may take it at once.
  handed_over boolean NOT NULL DEFAULT false,
  -- Machine that is to have it next, and within how many milliseconds from when the holder reads
  -- that; what the holder says about it.
  wanted_by text,
  wanted_ms bigint,
  says text
);

-- Append-only: rows of mirror.db that the service could not give again, as they were after a commit,
-- and permits to send. Each was written while its taking was that of the lease.
CREATE TABLE IF NOT EXISTS standby_record (
  place bigint GENERATED ALWAYS AS IDENTITY,
  account text NOT NULL,
  taking uuid NOT NULL,
  -- Number in the holder's queue; null: a permit.
  seq bigint,
  at timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- With this row the record has all that was committed at some moment. What follows the last such
  -- row was told to nobody.
  whole boolean NOT NULL,
  -- Table of mirror.db, or permit.
  what text NOT NULL,
  -- JSON array of the key; of a permit: the number of the push and the attempt.
  key text NOT NULL,
  -- JSON object by columns, blobs as {"base64": "…"}; null: the row was deleted.
  row text,
  PRIMARY KEY (account, place),
  UNIQUE (account, taking, seq)
);
CREATE INDEX IF NOT EXISTS standby_record_permit ON standby_record (account, place) WHERE what = 'permit';

-- How far each standby is, for people.
CREATE TABLE IF NOT EXISTS standby_machine (
  account text NOT NULL,
  machine text NOT NULL,
  at timestamptz NOT NULL,
  version text NOT NULL,
  -- The newest backup that it has, and up to where the record is in it.
  backup_at timestamptz,
  backup_place bigint,
  PRIMARY KEY (account, machine)
);
