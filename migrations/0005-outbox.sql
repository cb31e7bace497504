-- What documents from the ERP need in the outbox, besides the decisions that are there already.

-- The reference as it is compared: trimmed, NFC, lower case. Only documents have one.
ALTER TABLE outbox ADD COLUMN reference_key TEXT;
CREATE UNIQUE INDEX outbox_reference_key ON outbox (kind, reference_key)
WHERE reference_key IS NOT NULL;

-- What the pre-flight found: [{"path", "message", "severity"}], errors and warnings.
ALTER TABLE outbox ADD COLUMN problems TEXT NOT NULL DEFAULT '[]';

-- Why a person must decide; while it is set, nothing happens by itself.
ALTER TABLE outbox ADD COLUMN desk_reason TEXT;

-- The order that it made or belongs to, once it is known.
ALTER TABLE outbox ADD COLUMN order_id INTEGER;
CREATE INDEX outbox_order ON outbox (order_id) WHERE order_id IS NOT NULL;
CREATE INDEX outbox_ended ON outbox (kind, state, ended_at);

-- How many equal ones were there before the attempt; more afterwards prove its effect.
ALTER TABLE outbox_attempt ADD COLUMN count_before INTEGER;

-- Whether a look could have missed nothing: only then an absence is evidence.
ALTER TABLE outbox_evidence ADD COLUMN complete INTEGER NOT NULL DEFAULT 1;

-- A document whose reference is at the service already is in doubt before it is ever sent; what
-- went out under a dead document and is found after all is confirmed or looked at again.
INSERT INTO outbox_transition (from_state, to_state) VALUES
  ('queued', 'in_doubt'), ('dead', 'in_doubt');
