-- Of 0.2.0, not released yet.

-- The style that a document made or changed at the service.
ALTER TABLE receipt ADD COLUMN style_id TEXT;

DROP VIEW v_document;
-- A public contract, described in docs/views.md. A reference may have several receipts: the same
-- document again, a correction, or another one that was refused. What still waits counts first,
-- then the document that is under way or at the service, then the last word.
CREATE VIEW v_document AS
SELECT
  r.kind, r.reference, r.state, r.final, r.order_id, r.order_no, r.deliveries,
  r.pending_refund_id, r.refund_id, r.problems, r.next_step, r.document_id, r.intake_id,
  (SELECT count(*) FROM receipt a WHERE a.reference = r.reference AND a.kind = r.kind) AS receipts,
  r.handed_in_at, r.changed_at, r.ended_at, r.style_id
FROM receipt r
WHERE r.receipt_id = (
  SELECT b.receipt_id FROM receipt b WHERE b.reference = r.reference AND b.kind = r.kind
  ORDER BY
    CASE
      WHEN b.state = 'waiting' THEN 0
      WHEN b.document_id IS NOT NULL AND b.state NOT IN ('refused', 'canceled') THEN 1
      ELSE 2
    END,
    b.receipt_id DESC
  LIMIT 1
);
