-- What the relay has sent again is looked for by time: it is little among all events.
CREATE INDEX webhook_event_again ON webhook_event (last_duplicate_at)
WHERE last_duplicate_at IS NOT NULL;
