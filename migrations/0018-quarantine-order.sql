-- A read of an order lets go of what was put aside of it, without looking through all that is kept.
CREATE INDEX quarantine_order ON quarantine (
  entity, CASE WHEN json_valid(raw) THEN raw->>'orderId' END
);
