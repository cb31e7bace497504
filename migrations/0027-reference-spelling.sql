-- How the service shows references, and which of its orders may be what a document became.

-- The reference that the service shows for it; '': it shows none; null: not seen yet.
ALTER TABLE outbox ADD COLUMN shown_reference TEXT;
CREATE INDEX outbox_shown_reference ON outbox (kind, shown_reference)
WHERE shown_reference IS NOT NULL;

UPDATE outbox SET shown_reference = (
  SELECT coalesce(s.reference, '') FROM sales_order s WHERE s.order_id = outbox.order_id
) WHERE kind = 'order' AND state = 'confirmed' AND order_id IS NOT NULL;

-- Each learned from documents that were answered; the one without an end is how it is now.
CREATE TABLE reference_spelling (
  id INTEGER PRIMARY KEY,
  kind TEXT NOT NULL,
  -- A JSON list: equally simple ones, which agree on all that was seen.
  spellings TEXT NOT NULL,
  learned_at INTEGER NOT NULL,
  ended_at INTEGER
) STRICT;
CREATE UNIQUE INDEX reference_spelling_now ON reference_spelling (kind) WHERE ended_at IS NULL;

-- Orders of which a look could not tell whether they are this document, as long as it is open.
CREATE TABLE outbox_candidate (
  order_id INTEGER NOT NULL,
  outbox_id INTEGER NOT NULL,
  PRIMARY KEY (order_id, outbox_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX outbox_candidate_outbox ON outbox_candidate (outbox_id);
