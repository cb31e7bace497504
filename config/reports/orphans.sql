/*
title: Rows that name something that is not here
columns:
  key: Row
  why: Missing here
empty: Every row that is named is here.
*/
SELECT entity, key, why
FROM v_orphan
ORDER BY entity, key, why;
