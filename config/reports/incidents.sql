/*
title: What a person should look at, with what each is about
columns:
  at: Since
  kind: Incident
  entity: About
  key: Which
empty: There is nothing to look at.
*/
SELECT at, kind, entity, key, detail
FROM v_incident
WHERE resolved_at IS NULL
ORDER BY at, id;
