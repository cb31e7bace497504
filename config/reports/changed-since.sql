/*
title: What has changed since some time
about: >-
  Entries of the change feed by kind of row and by what of it changed, with the latest of each.
params:
  since: { type: time, about: the beginning, default: 1d }
  entity: { type: text, label: Kind of row, offers: entities, about: "a kind of row, such as stock_variant", default: "" }
columns:
  changed: Changed members
  latest_key: Latest row
  last_at: Latest change
totals: [changes]
chart: { kind: bar, title: Changes by kind of row, x: entity, y: changes }
empty: Nothing has changed since then.
*/
SELECT entity, op, changed, changes, rows, last_at,
  (SELECT c.key FROM change c WHERE c.seq = last_seq) AS latest_key
FROM (
  SELECT entity, op, changed, count(*) AS changes, count(DISTINCT key) AS rows,
    strftime('%Y-%m-%dT%H:%M:%SZ', max(at) / 1000, 'unixepoch') AS last_at, max(seq) AS last_seq
  FROM (
    SELECT seq, at, entity, key, op,
      -- Nearly all entries are of the quantity alone.
      CASE WHEN diff <> '{}' AND json_remove(diff, '$.quantity') = '{}' THEN 'quantity'
        ELSE (SELECT group_concat(m.key, ', ') FROM json_each(diff) m) END AS changed
    FROM change NOT INDEXED
    WHERE seq >= (
        SELECT min(first_seq) FROM change_hour WHERE hour >= CAST(:since / 3600000 AS INTEGER))
      AND at >= :since AND (:entity = '' OR entity = :entity)
  ) entry
  GROUP BY entity, op, changed
) told
ORDER BY changes DESC, entity, op, changed NULLS FIRST;
