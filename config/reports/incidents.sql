/*
title: What a person should look at, with what each is about
empty: There is nothing to look at.
*/
SELECT at, kind, entity, key, detail
FROM v_incident
WHERE resolved_at IS NULL
ORDER BY at, id;
