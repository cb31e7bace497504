/*
title: The latest runs of every stream
params:
  since: { type: time, about: the beginning, default: 1d }
empty: Nothing was pulled in this time.
*/
SELECT run_id, stream, outcome, reason, rows_seen, rows_changed, rows_deleted, rows_quarantined,
  seconds, started_at
FROM v_sync_run
WHERE run_id IN (SELECT run_id FROM sync_run WHERE started_at >= :since)
ORDER BY run_id DESC;
