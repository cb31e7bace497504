/*
title: What has changed since some time
about: >-
  Entries of the change feed by kind of row and by what of it changed, with the latest of each.
params:
  since: { type: time, about: the beginning, default: 1d }
  entity: { type: text, about: "a kind of row, such as stock_variant", default: "" }
totals: [changes]
chart: { kind: bar, x: entity, y: changes }
formats: { changes: count, last_at: date, latest_key: text }
empty: Nothing has changed since then.
*/
SELECT entity, op, changed, count(*) AS changes, count(DISTINCT key) AS rows,
  strftime('%Y-%m-%dT%H:%M:%SZ', max(at) / 1000, 'unixepoch') AS last_at, key AS latest_key
FROM (
  SELECT at, entity, key, op,
    -- Nearly all entries are of the quantity alone.
    CASE WHEN diff <> '{}' AND json_remove(diff, '$.quantity') = '{}' THEN 'quantity'
      ELSE (SELECT group_concat(m.key, ', ') FROM json_each(diff) m) END AS changed
  FROM change NOT INDEXED
  WHERE seq >= (SELECT min(first_seq) FROM change_hour WHERE hour >= :since / 3600000)
    AND at >= :since AND (:entity = '' OR entity = :entity)
)
GROUP BY entity, op, changed
ORDER BY changes DESC, entity, op, changed;
