-- What became of a pending refund is asked every minute of all that were handed in lately, and for
-- each receipt.
CREATE INDEX refund_pending ON refund (pending_refund_id) WHERE pending_refund_id IS NOT NULL;
