-- What is due by its state: looks for doubts must not step over everything that waits to be sent.
CREATE INDEX outbox_due ON outbox (state, due_at) WHERE ended_at IS NULL;
