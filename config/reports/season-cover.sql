/*
title: How far the stock covers the open pre-orders
about: A row per style and season, the worst first.
params:
  season: { type: text, offers: seasons, about: the season }
columns:
  open_preorders: Open pre-orders (pcs)
  covered: Covered (pcs)
  missing: Missing (pcs)
totals: [open_preorders, covered, missing]
rates: { cover_percent: [covered, open_preorders] }
formats: { missing: heat }
empty: The season has no open pre-orders.
*/
SELECT style_no, style_name, count(*) AS variants, sum(open_preorders) AS open_preorders,
  sum(open_preorders - missing) AS covered, sum(missing) AS missing,
  round(100.0 * sum(open_preorders - missing) / sum(open_preorders), 1) AS cover_percent
FROM v_season_cover
WHERE season_name = :season
GROUP BY style_no, style_name
ORDER BY cover_percent, style_no NULLS FIRST, style_name NULLS FIRST;
