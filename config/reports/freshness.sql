/*
title: How old the data of each stream is
formats: { rows: count, age_seconds: count }
empty: No stream has been pulled yet.
*/
SELECT stream, complete_at, age_seconds, rows, due_at, failures, last_error
FROM v_freshness
ORDER BY age_seconds DESC NULLS LAST, stream;
