-- A variant that was gone and came back under another style had left its style as well: the entry of
-- its return tells so, and was asked for by nobody.
DROP INDEX change_style_left;
CREATE INDEX change_style_left ON change (diff ->> '$.style_no[0]')
WHERE op IN ('update', 'restore') AND entity = 'stock_variant'
  AND diff ->> '$.style_no[0]' IS NOT NULL;
