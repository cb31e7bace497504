/*
title: Rows that could not be read, by reason
columns:
  path: Place in the row
empty: Every row could be read.
*/
SELECT entity, path, reason, count(*) AS rows, sum(times) AS times, max(last_seen_at) AS last_seen_at
FROM v_quarantine
GROUP BY entity, path, reason
ORDER BY rows DESC, entity, path, reason;
