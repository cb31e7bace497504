SELECT entity, op, changed, changes, rows, last_at,
  (SELECT c.key FROM change c WHERE c.seq = last_seq) AS latest_key
FROM (
  SELECT entity, op, changed, count(*) AS changes, count(DISTINCT key) AS rows,
    strftime('%Y-%m-%dT%H:%M:%SZ', max(at) / 1000, 'unixepoch') AS last_at, max(seq) AS last_seq
  FROM (
    SELECT seq, at, entity, key, op,
      (SELECT string_agg(m.key, ', ') FROM json_each(diff) m) AS changed
    FROM change
    WHERE seq >= (
        SELECT min(first_seq) FROM change_hour WHERE hour >= CAST(:since / 3600000 AS INTEGER))
      AND at >= :since AND (:entity = '' OR entity = :entity)
  ) entry
  GROUP BY entity, op, changed
) told
ORDER BY changes DESC, entity, op, changed NULLS FIRST;
