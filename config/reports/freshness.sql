/*
title: How old the data of each stream is
columns:
  due_at: Next pull
  complete_at: Last complete pull
empty: No stream has been pulled yet.
*/
SELECT stream, complete_at, age_seconds, rows, due_at, failures, last_error
FROM v_freshness
ORDER BY age_seconds DESC NULLS LAST, stream;
