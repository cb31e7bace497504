-- Functions that SQLite has and PostgreSQL has not, so that the views and the shipped reports read
-- alike on both. All are plain SQL of one expression, which PostgreSQL writes into the query that
-- calls them. An index on a text of a time needs them IMMUTABLE, hence no to_char. Bodies of one
-- kind name functions of this schema and are read when they are made, so that a reader needs no
-- search_path; texts ($$) are those whose arguments may be of any type. Where columns are returned
-- the arguments need names: else pg_dump writes them as "", which nothing can read back.

-- YYYY-MM-DD of a time (UTC).
CREATE OR REPLACE FUNCTION iso_day(timestamp) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN overlay(overlay(
  lpad((date_part('year', $1) * 10000 + date_part('month', $1) * 100 + date_part('day', $1))
    ::int::text, 8, '0')
  PLACING '-' FROM 7 FOR 0) PLACING '-' FROM 5 FOR 0);

-- YYYY-MM-DDThh:mm:ssZ of seconds since 1970.
CREATE OR REPLACE FUNCTION iso_time(bigint) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN iso_day(timestamp '1970-01-01' + $1 * interval '1 second') || 'T'
  || (timestamp '1970-01-01' + $1 * interval '1 second')::time::text || 'Z';

-- The first of a day, in seconds since 1970.
CREATE OR REPLACE FUNCTION start_of_day(bigint) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN $1 - ($1 % 86400 + 86400) % 86400;

-- The Monday of a day's week: SQLite's date(…, 'weekday 0', '-6 days').
CREATE OR REPLACE FUNCTION monday(bigint) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN start_of_day($1) - ((start_of_day($1) / 86400 + 3) % 7 + 7) % 7 * 86400;

-- Of seconds, with 'unixepoch': the forms that the reports ask for.
CREATE OR REPLACE FUNCTION strftime(text, bigint, text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE $1
  WHEN '%Y-%m-%dT%H:%M:%SZ' THEN iso_time($2)
  WHEN '%Y-%m-%dT00:00:00Z' THEN
    iso_day(timestamp '1970-01-01' + $2 * interval '1 second') || 'T00:00:00Z'
  WHEN '%Y-%m' THEN
    left(iso_day(timestamp '1970-01-01' + $2 * interval '1 second'), 7)
END;

-- With 'weekday 0', '-6 days'.
CREATE OR REPLACE FUNCTION strftime(text, bigint, text, text, text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN strftime($1, monday($2), $3);

CREATE OR REPLACE FUNCTION date(bigint, text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN iso_day(timestamp '1970-01-01' + $1 * interval '1 second');

-- With 'unixepoch', and by how much a zone is ahead of UTC: '+120 minutes'.
CREATE OR REPLACE FUNCTION date(bigint, text, text) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
RETURN iso_day(timestamp '1970-01-01' + $1 * interval '1 second' + $3::interval);

CREATE OR REPLACE FUNCTION strftime(text, bigint, text, text) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
RETURN strftime($1, $2 + date_part('epoch', $4::interval)::bigint, $3);

CREATE OR REPLACE FUNCTION unixepoch() RETURNS bigint
LANGUAGE sql STABLE PARALLEL SAFE
RETURN floor(date_part('epoch', now()))::bigint;

-- With 'unixepoch', 'start of day'.
CREATE OR REPLACE FUNCTION unixepoch(bigint, text, text) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN start_of_day($1);

CREATE OR REPLACE FUNCTION iif(boolean, anycompatible, anycompatible) RETURNS anycompatible
LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$ SELECT CASE WHEN $1 THEN $2 ELSE $3 END $$;

-- The lesser and the greater of two; null where one is null, unlike least and greatest.
CREATE OR REPLACE FUNCTION min(anycompatible, anycompatible) RETURNS anycompatible
LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$ SELECT CASE WHEN $1 <= $2 THEN $1 WHEN $2 < $1 THEN $2 END $$;

CREATE OR REPLACE FUNCTION max(anycompatible, anycompatible) RETURNS anycompatible
LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$ SELECT CASE WHEN $1 >= $2 THEN $1 WHEN $2 > $1 THEN $2 END $$;

-- Of a day or time as a text, with 'weekday 0', '-6 days'.
CREATE OR REPLACE FUNCTION date(text, text, text) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
RETURN iso_day(date_trunc('week', $1::timestamp));

-- The same where a zone is ahead of UTC by this much.
CREATE OR REPLACE FUNCTION date(text, text, text, text) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
RETURN iso_day(date_trunc('week', $1::timestamp + $2::interval));

-- Of a time as a text.
CREATE OR REPLACE FUNCTION unixepoch(text) RETURNS bigint
LANGUAGE sql STABLE PARALLEL SAFE
RETURN date_part('epoch', $1::timestamp)::bigint;

-- Members of an object, or of an array by their places.
CREATE OR REPLACE FUNCTION json_each(document text) RETURNS TABLE (key text, value text)
LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
  SELECT (a.place - 1)::text, a.value
  FROM json_array_elements_text(
    CASE WHEN json_typeof(document::json) = 'array' THEN document::json ELSE '[]' END)
    WITH ORDINALITY AS a (value, place)
  UNION ALL
  SELECT o.key, o.value
  FROM json_each_text(
    CASE WHEN json_typeof(document::json) = 'object' THEN document::json ELSE '{}' END) AS o;
END;

CREATE OR REPLACE FUNCTION json_extract(text, text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN jsonb_path_query_first($1::jsonb, $2::jsonpath) #>> '{}';

-- The reporting views of migrations/0001-schema.sql, with the account in front: the same names,
-- columns and values, each join bound by account. Booleans are 0 and 1, amounts are numeric with
-- four decimals, times are texts as there. test/system/plane holds every view against SQLite's, row
-- by row. Where SQLite takes any row of several, here it is the first by a key. For an EXISTS
-- among the columns PostgreSQL may hash whole tables; a subquery with a LIMIT asks an index.

CREATE OR REPLACE VIEW stock_variant AS
SELECT
  v.account, v.barcode, v.quantity, v.variant_type, v.season_name, v.style_no, v.style_name,
  v.brand_name, v.color_code, v.color_name, v.size, v.currency, v.price, v.wsp_price,
  v.price_original, v.b2c_sale_price, v.net_price, v.net_currency, v.price_before_discount,
  v.discount_percent, v.category, v.gender, v.b2b_hidden, v.color_active,
  v.extra, v.first_seen_at, v.changed_at, v.deleted_at, v.source
FROM stock_variant_row v;

CREATE OR REPLACE VIEW season_variant AS
SELECT
  v.account, v.season_barcode, v.season_name, v.barcode, v.quantity, v.variant_type, v.style_no,
  v.style_name, v.brand_name, v.color_code, v.color_name, v.size, v.currency, v.price, v.wsp_price,
  v.price_original, v.b2c_sale_price, v.net_price, v.net_currency, v.price_before_discount,
  v.discount_percent, v.category, v.gender, v.b2b_hidden, v.color_active,
  v.extra, v.first_seen_at, v.changed_at, v.deleted_at, v.source
FROM season_variant_row v;

CREATE OR REPLACE VIEW order_currency AS
SELECT
  o.account, o.order_id,
  CASE
    WHEN trim(o.currency) <> '' THEN o.currency
    WHEN o.unread LIKE '%"currency"%' THEN NULL
    ELSE coalesce((
      SELECT CASE WHEN count(DISTINCT u.currency) = 1 THEN min(u.currency) END FROM (
        SELECT upper(trim(s.currency)) AS currency
        FROM sales_order_line l
        JOIN stock_variant_row s ON s.account = l.account AND s.barcode = l.barcode
        WHERE l.account = o.account AND l.order_id = o.order_id
        UNION ALL
        SELECT upper(trim(a.currency))
        FROM sales_order_line l
        JOIN season_variant_row a ON a.account = l.account AND a.barcode = l.barcode
        WHERE l.account = o.account AND l.order_id = o.order_id
      ) u WHERE u.currency <> ''
    ), (SELECT nullif(s.value, '') FROM daemon_state s
      WHERE s.account = o.account AND s.key = 'service_currency'))
  END AS currency
FROM sales_order o;

CREATE OR REPLACE VIEW v_delivery AS
SELECT
  d.account,
  d.order_delivery_id,
  d.delivery_no,
  d.order_id,
  o.order_no,
  o.reference,
  o.account_no,
  nullif(o.company, '') AS company,
  nullif(o.country_code, '') AS country_code,
  iso_time(coalesce(d.created_at, d.first_seen_at) / 1000) AS packed_at,
  d.status,
  (SELECT CASE WHEN count(*) = count(l.fulfilled_quantity)
    THEN sum(l.fulfilled_quantity)::bigint END
    FROM delivery_line l
    WHERE l.account = d.account AND l.order_delivery_id = d.order_delivery_id) AS pieces,
  (SELECT CASE WHEN count(*) = count(l.fulfilled_quantity * l.price)
    THEN sum(l.fulfilled_quantity * l.price) * 0.0001 END
    FROM delivery_line l
    WHERE l.account = d.account AND l.order_delivery_id = d.order_delivery_id) AS amount,
  (SELECT c.currency FROM order_currency c
    WHERE c.account = d.account AND c.order_id = d.order_id) AS currency,
  e.decision_id,
  n.outcome AS decided,
  n.reason,
  n.actor AS decided_by,
  iso_time(n.at / 1000) AS decided_at,
  (d.deleted_at IS NOT NULL)::int AS gone,
  d.unread
FROM delivery d
LEFT JOIN sales_order o ON o.account = d.account AND o.order_id = d.order_id
LEFT JOIN evaluation e ON e.account = d.account AND e.order_delivery_id = d.order_delivery_id
LEFT JOIN decision n ON n.account = e.account AND n.decision_id = e.decision_id;

CREATE OR REPLACE VIEW v_open_delivery AS
SELECT
  d.account, d.order_delivery_id, d.delivery_no, d.order_id, d.order_no, d.reference, d.account_no,
  d.company, d.country_code, d.packed_at,
  round((extract(epoch FROM now()) - extract(epoch FROM d.packed_at::timestamptz)) / 3600, 1)
    AS age_hours,
  d.pieces, d.amount, d.currency, d.decided, d.reason, d.decided_by, d.decided_at
FROM v_delivery d
WHERE d.status = 'pending' AND d.gone = 0;

CREATE OR REPLACE VIEW v_held_delivery AS
SELECT * FROM v_open_delivery WHERE decided = 'hold';

CREATE OR REPLACE VIEW v_stock AS
SELECT
  v.account, v.barcode, v.style_no, nullif(v.style_name, '') AS style_name,
  nullif(v.brand_name, '') AS brand_name, nullif(v.color_code, '') AS color_code,
  nullif(v.color_name, '') AS color_name, nullif(v.size, '') AS size,
  nullif(v.season_name, '') AS season_name, nullif(v.category, '') AS category,
  nullif(v.gender, '') AS gender, v.quantity, nullif(v.currency, '') AS currency,
  v.price * 0.0001 AS price, v.wsp_price * 0.0001 AS wsp_price,
  v.price_original * 0.0001 AS price_original, v.b2c_sale_price * 0.0001 AS b2c_sale_price,
  v.net_price * 0.0001 AS net_price, nullif(v.net_currency, '') AS net_currency,
  v.price_before_discount * 0.0001 AS price_before_discount,
  v.discount_percent * 0.0001 AS discount_percent,
  v.color_active,
  iso_time(v.changed_at / 1000) AS changed_at,
  (v.quantity = 0)::int AS on_order,
  (SELECT r.rank FROM size_rank r WHERE r.account = v.account AND r.size = v.size) AS size_rank
FROM stock_variant_row v
WHERE v.deleted_at IS NULL;

CREATE OR REPLACE VIEW v_stock_grid AS
SELECT
  g.account, g.style_no, min(g.style_name) AS style_name, nullif(g.brand, '') AS brand_name,
  nullif(g.code, '') AS color_code, min(g.color_name) AS color_name, count(*) AS sizes,
  sum(g.quantity)::bigint AS quantity,
  '{' || string_agg(to_json(g.size)::text || ':' || coalesce(g.quantity::text, 'null'), ','
    ORDER BY coalesce((SELECT r.rank FROM size_rank r
      WHERE r.account = g.account AND r.size = g.size), 1000000000), g.size) || '}' AS by_size
FROM (
  SELECT
    v.account, v.style_no, coalesce(v.color_code, '') AS code, coalesce(v.brand_name, '') AS brand,
    CASE WHEN v.color_code <> '' THEN '' ELSE coalesce(v.color_name, '') END AS color,
    coalesce(v.size, '') AS size, min(nullif(v.style_name, '')) AS style_name,
    min(nullif(v.color_name, '')) AS color_name, sum(v.quantity) AS quantity
  FROM stock_variant_row v
  WHERE v.deleted_at IS NULL AND v.style_no <> ''
  GROUP BY 1, 2, 3, 4, 5, 6
) g
GROUP BY g.account, g.style_no, g.code, g.brand, g.color;

CREATE OR REPLACE VIEW v_season_variant AS
SELECT
  v.account, v.season_name, v.barcode, v.style_no, nullif(v.style_name, '') AS style_name,
  nullif(v.brand_name, '') AS brand_name, nullif(v.color_code, '') AS color_code,
  nullif(v.color_name, '') AS color_name, nullif(v.size, '') AS size,
  nullif(v.category, '') AS category, nullif(v.gender, '') AS gender,
  v.quantity, nullif(v.currency, '') AS currency,
  v.price * 0.0001 AS price, v.wsp_price * 0.0001 AS wsp_price,
  v.net_price * 0.0001 AS net_price, nullif(v.net_currency, '') AS net_currency,
  v.price_before_discount * 0.0001 AS price_before_discount,
  v.discount_percent * 0.0001 AS discount_percent,
  v.color_active,
  iso_time(v.changed_at / 1000) AS changed_at,
  (SELECT r.rank FROM size_rank r WHERE r.account = v.account AND r.size = v.size) AS size_rank
FROM season_variant_row v
WHERE v.deleted_at IS NULL;

CREATE OR REPLACE VIEW v_reserved AS
SELECT
  l.account, l.barcode,
  sum(CASE d.status WHEN 'pending' THEN l.fulfilled_quantity ELSE 0 END)::bigint AS pending,
  sum(CASE d.status WHEN 'accepted' THEN l.fulfilled_quantity ELSE 0 END)::bigint AS accepted
FROM sales_order o
JOIN delivery d ON d.account = o.account AND d.order_id = o.order_id
JOIN delivery_line l ON l.account = d.account AND l.order_delivery_id = d.order_delivery_id
WHERE o.completed = 0 AND o.deleted_at IS NULL AND d.deleted_at IS NULL
  AND (d.status = 'pending' OR d.status = 'accepted' AND (
    d.tracking_numbers = '[]'
    OR d.changed_at >= coalesce((SELECT s.complete_at FROM stream_state s
      WHERE s.account = d.account AND s.stream = 'stock'), 0)))
GROUP BY l.account, l.barcode;

CREATE OR REPLACE VIEW v_availability AS
SELECT
  r.account, r.barcode,
  coalesce(v.style_no, a.style_no) AS style_no,
  nullif(coalesce(v.style_name, a.style_name), '') AS style_name,
  nullif(coalesce(v.color_name, a.color_name), '') AS color_name,
  nullif(coalesce(v.size, a.size), '') AS size,
  CASE WHEN v.deleted_at IS NULL AND v.barcode IS NOT NULL THEN v.quantity ELSE 0 END AS in_stock,
  r.pending, r.accepted,
  CASE WHEN v.deleted_at IS NULL AND v.barcode IS NOT NULL THEN v.quantity ELSE 0 END
    - r.pending - r.accepted AS free
FROM v_reserved r
LEFT JOIN stock_variant_row v ON v.account = r.account AND v.barcode = r.barcode
LEFT JOIN season_variant_row a ON a.account = r.account AND a.season_barcode = (
  SELECT min(n.season_barcode) FROM season_variant_row n
  WHERE n.account = r.account AND n.barcode = r.barcode AND v.barcode IS NULL);

CREATE OR REPLACE VIEW v_preorder_book AS
SELECT
  l.account, l.season_name, nullif(coalesce(l.delivery_name, ''), '') AS delivery_name,
  count(DISTINCT l.order_id) AS orders,
  sum(l.quantity)::bigint AS pieces,
  sum(coalesce(l.fulfilled_quantity, 0))::bigint AS fulfilled,
  nullif(coalesce(l.currency, ''), '') AS currency,
  sum(l.quantity * l.price) * 0.0001 AS amount,
  count(*) - count(l.price) AS lines_without_price
FROM (
  SELECT n.account, n.season_name, n.delivery_name, n.order_id, n.quantity, n.fulfilled_quantity,
    n.price, (SELECT c.currency FROM order_currency c
      WHERE c.account = o.account AND c.order_id = o.order_id) AS currency
  FROM sales_order_line n
  JOIN sales_order o ON o.account = n.account AND o.order_id = n.order_id
  WHERE n.season_name <> '' AND o.status <> 'canceled' AND o.deleted_at IS NULL
  UNION ALL
  SELECT o.account, o.season_name, n.delivery_name, n.order_id, n.quantity, n.fulfilled_quantity,
    n.price, (SELECT c.currency FROM order_currency c
      WHERE c.account = o.account AND c.order_id = o.order_id)
  FROM sales_order o
  JOIN sales_order_line n ON n.account = o.account AND n.order_id = o.order_id
  WHERE o.season_name <> '' AND coalesce(n.season_name, '') = ''
    AND o.status <> 'canceled' AND o.deleted_at IS NULL
) l
GROUP BY l.account, l.season_name, coalesce(l.delivery_name, ''), coalesce(l.currency, '');

CREATE OR REPLACE VIEW v_season_cover AS
SELECT
  c.account, c.season_name, c.barcode, c.style_no, nullif(c.style_name, '') AS style_name,
  nullif(c.color_name, '') AS color_name, nullif(c.size, '') AS size, c.open_preorders, c.in_stock,
  c.open_preorders - c.covered AS missing,
  round(100.0 * c.covered / c.open_preorders, 1) AS cover_percent
FROM (
  SELECT
    b.account, b.season_name, b.barcode, v.style_no, v.style_name, v.color_name, v.size,
    b.open AS open_preorders, coalesce(s.quantity, 0) AS in_stock,
    least(b.open, greatest(0, coalesce(s.quantity, 0))) AS covered
  FROM (
    SELECT l.account, coalesce(nullif(l.season_name, ''), o.season_name) AS season_name, l.barcode,
      sum(max(0, l.quantity - coalesce(l.fulfilled_quantity, 0)))::bigint AS open
    FROM sales_order o
    JOIN sales_order_line l ON l.account = o.account AND l.order_id = o.order_id
    WHERE o.completed = 0 AND o.status <> 'canceled' AND o.deleted_at IS NULL
      AND coalesce(nullif(l.season_name, ''), o.season_name) <> ''
    GROUP BY 1, 2, 3
  ) b
  LEFT JOIN season_variant_row v ON v.account = b.account AND v.barcode = b.barcode
    AND v.season_name = b.season_name
  LEFT JOIN stock_variant_row s ON s.account = b.account AND s.barcode = b.barcode
    AND s.deleted_at IS NULL
  WHERE b.open > 0
) c;

CREATE OR REPLACE VIEW v_order AS
SELECT
  o.account, o.order_id, o.order_no, o.reference, o.account_no, nullif(o.company, '') AS company,
  nullif(o.country_code, '') AS country_code, nullif(o.season_name, '') AS season_name,
  iso_time(coalesce(o.created_at, o.first_seen_at) / 1000) AS ordered_at,
  o.status, o.completed,
  (SELECT count(*) FROM sales_order_line l
    WHERE l.account = o.account AND l.order_id = o.order_id) AS lines,
  (SELECT CASE WHEN count(*) = count(l.quantity) THEN sum(l.quantity)::bigint END
    FROM sales_order_line l
    WHERE l.account = o.account AND l.order_id = o.order_id) AS pieces,
  (SELECT sum(coalesce(l.fulfilled_quantity, 0))::bigint FROM sales_order_line l
    WHERE l.account = o.account AND l.order_id = o.order_id) AS fulfilled,
  CASE WHEN o.completed = 0 AND o.status <> 'canceled' AND o.deleted_at IS NULL THEN (
    SELECT CASE WHEN count(*) = count(l.quantity)
      THEN sum(max(0, l.quantity - coalesce(l.fulfilled_quantity, 0)))::bigint END
    FROM sales_order_line l
    WHERE l.account = o.account AND l.order_id = o.order_id) ELSE 0 END AS open_pieces,
  (SELECT CASE WHEN count(*) = count(l.quantity * l.price)
    THEN sum(l.quantity * l.price) * 0.0001 END
    FROM sales_order_line l
    WHERE l.account = o.account AND l.order_id = o.order_id) AS amount,
  CASE WHEN o.completed = 0 AND o.status <> 'canceled' AND o.deleted_at IS NULL THEN (
    SELECT CASE WHEN count(*) = count(l.quantity * l.price)
      THEN sum(max(0, l.quantity - coalesce(l.fulfilled_quantity, 0)) * l.price) * 0.0001 END
    FROM sales_order_line l
    WHERE l.account = o.account AND l.order_id = o.order_id) ELSE 0 END AS open_amount,
  (SELECT c.currency FROM order_currency c
    WHERE c.account = o.account AND c.order_id = o.order_id) AS currency,
  o.freight_type, o.freight_amount * 0.0001 AS freight_amount,
  (SELECT count(*) FROM delivery d
    WHERE d.account = o.account AND d.order_id = o.order_id AND d.deleted_at IS NULL
      AND d.status NOT IN ('rejected', 'canceled')) AS deliveries,
  (o.deleted_at IS NOT NULL)::int AS gone,
  o.unread
FROM sales_order o;

CREATE OR REPLACE VIEW v_order_line AS
SELECT
  l.account, l.order_id, o.order_no, o.reference, o.account_no, nullif(o.company, '') AS company,
  nullif(o.country_code, '') AS country_code,
  iso_time(coalesce(o.created_at, o.first_seen_at) / 1000) AS ordered_at,
  o.status, o.completed, l.line_no,
  coalesce(nullif(l.season_name, ''), nullif(o.season_name, '')) AS season_name,
  nullif(l.delivery_name, '') AS delivery_name, l.barcode,
  v.style_no, nullif(v.style_name, '') AS style_name, nullif(v.brand_name, '') AS brand_name,
  nullif(v.color_code, '') AS color_code, nullif(v.color_name, '') AS color_name,
  nullif(v.size, '') AS size,
  (SELECT r.rank FROM size_rank r WHERE r.account = v.account AND r.size = v.size) AS size_rank,
  l.quantity AS pieces, l.fulfilled_quantity AS fulfilled,
  CASE WHEN o.completed = 0 AND o.status <> 'canceled' AND o.deleted_at IS NULL
    THEN max(0, l.quantity - coalesce(l.fulfilled_quantity, 0)) ELSE 0 END AS open_pieces,
  l.price * 0.0001 AS price, l.quantity * l.price * 0.0001 AS amount,
  (SELECT c.currency FROM order_currency c
    WHERE c.account = o.account AND c.order_id = o.order_id) AS currency,
  (o.deleted_at IS NOT NULL)::int AS gone
FROM sales_order_line l
JOIN sales_order o ON o.account = l.account AND o.order_id = l.order_id
JOIN stock_variant_row v ON v.account = l.account AND v.barcode = l.barcode
UNION ALL
SELECT
  l.account, l.order_id, o.order_no, o.reference, o.account_no, nullif(o.company, '') AS company,
  nullif(o.country_code, '') AS country_code,
  iso_time(coalesce(o.created_at, o.first_seen_at) / 1000) AS ordered_at,
  o.status, o.completed, l.line_no,
  coalesce(nullif(l.season_name, ''), nullif(o.season_name, '')) AS season_name,
  nullif(l.delivery_name, '') AS delivery_name, l.barcode,
  v.style_no, nullif(v.style_name, '') AS style_name, nullif(v.brand_name, '') AS brand_name,
  nullif(v.color_code, '') AS color_code, nullif(v.color_name, '') AS color_name,
  nullif(v.size, '') AS size,
  (SELECT r.rank FROM size_rank r WHERE r.account = v.account AND r.size = v.size) AS size_rank,
  l.quantity AS pieces, l.fulfilled_quantity AS fulfilled,
  CASE WHEN o.completed = 0 AND o.status <> 'canceled' AND o.deleted_at IS NULL
    THEN max(0, l.quantity - coalesce(l.fulfilled_quantity, 0)) ELSE 0 END AS open_pieces,
  l.price * 0.0001 AS price, l.quantity * l.price * 0.0001 AS amount,
  (SELECT c.currency FROM order_currency c
    WHERE c.account = o.account AND c.order_id = o.order_id) AS currency,
  (o.deleted_at IS NOT NULL)::int AS gone
FROM sales_order_line l
JOIN sales_order o ON o.account = l.account AND o.order_id = l.order_id
LEFT JOIN LATERAL (SELECT n.* FROM season_variant_row n
  WHERE n.account = l.account AND n.barcode = l.barcode
  ORDER BY n.season_barcode LIMIT 1) v ON true
WHERE NOT EXISTS (SELECT 1 FROM stock_variant_row s
  WHERE s.account = l.account AND s.barcode = l.barcode);

CREATE OR REPLACE VIEW v_delivery_line AS
SELECT
  l.account, l.order_delivery_id, d.delivery_no, d.order_id, o.order_no, o.reference, o.account_no,
  nullif(o.company, '') AS company, nullif(o.country_code, '') AS country_code,
  iso_time(coalesce(d.created_at, d.first_seen_at) / 1000) AS packed_at,
  d.status, l.line_no,
  coalesce(nullif(l.season_name, ''), nullif(o.season_name, '')) AS season_name,
  nullif(l.delivery_name, '') AS delivery_name, l.barcode,
  v.style_no, nullif(v.style_name, '') AS style_name, nullif(v.brand_name, '') AS brand_name,
  nullif(v.color_code, '') AS color_code, nullif(v.color_name, '') AS color_name,
  nullif(v.size, '') AS size,
  (SELECT r.rank FROM size_rank r WHERE r.account = v.account AND r.size = v.size) AS size_rank,
  l.fulfilled_quantity AS pieces, l.price * 0.0001 AS price,
  l.fulfilled_quantity * l.price * 0.0001 AS amount,
  (SELECT c.currency FROM order_currency c
    WHERE c.account = d.account AND c.order_id = d.order_id) AS currency,
  (d.deleted_at IS NOT NULL)::int AS gone,
  nullif(v.extra::json #>> '{details,customsTariffNumber}', '') AS tariff_no,
  nullif(v.extra::json #>> '{details,countryOfOrigin}', '') AS origin,
  CASE WHEN json_typeof(v.extra::json #> '{details,weight}') = 'number'
    THEN (v.extra::json #>> '{details,weight}')::numeric END AS weight
FROM delivery_line l
JOIN delivery d ON d.account = l.account AND d.order_delivery_id = l.order_delivery_id
LEFT JOIN sales_order o ON o.account = d.account AND o.order_id = d.order_id
JOIN stock_variant_row v ON v.account = l.account AND v.barcode = l.barcode
UNION ALL
SELECT
  l.account, l.order_delivery_id, d.delivery_no, d.order_id, o.order_no, o.reference, o.account_no,
  nullif(o.company, '') AS company, nullif(o.country_code, '') AS country_code,
  iso_time(coalesce(d.created_at, d.first_seen_at) / 1000) AS packed_at,
  d.status, l.line_no,
  coalesce(nullif(l.season_name, ''), nullif(o.season_name, '')) AS season_name,
  nullif(l.delivery_name, '') AS delivery_name, l.barcode,
  v.style_no, nullif(v.style_name, '') AS style_name, nullif(v.brand_name, '') AS brand_name,
  nullif(v.color_code, '') AS color_code, nullif(v.color_name, '') AS color_name,
  nullif(v.size, '') AS size,
  (SELECT r.rank FROM size_rank r WHERE r.account = v.account AND r.size = v.size) AS size_rank,
  l.fulfilled_quantity AS pieces, l.price * 0.0001 AS price,
  l.fulfilled_quantity * l.price * 0.0001 AS amount,
  (SELECT c.currency FROM order_currency c
    WHERE c.account = d.account AND c.order_id = d.order_id) AS currency,
  (d.deleted_at IS NOT NULL)::int AS gone,
  nullif(v.extra::json #>> '{details,customsTariffNumber}', '') AS tariff_no,
  nullif(v.extra::json #>> '{details,countryOfOrigin}', '') AS origin,
  CASE WHEN json_typeof(v.extra::json #> '{details,weight}') = 'number'
    THEN (v.extra::json #>> '{details,weight}')::numeric END AS weight
FROM delivery_line l
JOIN delivery d ON d.account = l.account AND d.order_delivery_id = l.order_delivery_id
LEFT JOIN sales_order o ON o.account = d.account AND o.order_id = d.order_id
LEFT JOIN LATERAL (SELECT n.* FROM season_variant_row n
  WHERE n.account = l.account AND n.barcode = l.barcode
  ORDER BY n.season_barcode LIMIT 1) v ON true
WHERE NOT EXISTS (SELECT 1 FROM stock_variant_row s
  WHERE s.account = l.account AND s.barcode = l.barcode);

CREATE OR REPLACE VIEW v_shipment AS
SELECT
  d.account, d.order_delivery_id, d.delivery_no, d.order_id, o.order_no, o.reference, o.account_no,
  nullif(o.company, '') AS company, nullif(o.country_code, '') AS country_code,
  iso_time(coalesce(d.created_at, d.first_seen_at) / 1000) AS packed_at,
  d.status,
  iso_time(d.accepted_at / 1000) AS accepted_at,
  (SELECT iso_time(min(c.at) / 1000) FROM change c
    WHERE c.account = d.account AND c.entity = 'delivery'
      AND c.key = CAST(d.order_delivery_id AS TEXT)
      AND json_extract(c.diff, '$.tracking_numbers[0]') = '[]') AS shipped_at,
  nullif((SELECT string_agg(t.value, ', ') FROM json_each(d.tracking_numbers) t), '')
    AS tracking_numbers,
  (d.tracking_numbers <> '[]')::int AS shipped,
  (d.status = 'accepted' AND d.tracking_numbers = '[]' AND d.deleted_at IS NULL)::int AS to_ship,
  CASE WHEN d.status = 'accepted' AND d.tracking_numbers = '[]' AND d.deleted_at IS NULL
    THEN round((extract(epoch FROM now())
      - coalesce(d.accepted_at, d.created_at, d.first_seen_at) / 1000.0) / 3600, 1) END
    AS age_hours,
  g.pieces, g.weight_kg, g.amount,
  (SELECT c.currency FROM order_currency c
    WHERE c.account = d.account AND c.order_id = d.order_id) AS currency,
  g.tariff_nos, g.origins, g.lines_without_customs,
  (d.deleted_at IS NOT NULL)::int AS gone
FROM (
  SELECT x.*, (SELECT max(n.at) FROM decision n
    WHERE n.account = x.account AND n.order_delivery_id = x.order_delivery_id
      AND n.outcome = 'accept' AND x.status = 'accepted') AS accepted_at
  FROM delivery x
) d
LEFT JOIN sales_order o ON o.account = d.account AND o.order_id = d.order_id
-- Each line looks up its own article: joined, the lists of variants would be read as a whole.
CROSS JOIN LATERAL (
  SELECT
    CASE WHEN count(*) = count(l.fulfilled_quantity) THEN sum(l.fulfilled_quantity)::bigint END
      AS pieces,
    CASE WHEN count(*) = count(l.fulfilled_quantity * l.weight)
      THEN sum(l.fulfilled_quantity * l.weight) * 0.001 END AS weight_kg,
    CASE WHEN count(*) = count(l.fulfilled_quantity * l.price)
      THEN sum(l.fulfilled_quantity * l.price) * 0.0001 END AS amount,
    string_agg(DISTINCT l.tariff_no, ', ' ORDER BY l.tariff_no) AS tariff_nos,
    string_agg(DISTINCT l.origin, ', ' ORDER BY l.origin) AS origins,
    count(*) FILTER (WHERE l.tariff_no IS NULL OR l.origin IS NULL OR l.weight IS NULL)
      AS lines_without_customs
  FROM (
    SELECT x.fulfilled_quantity, x.price,
      nullif(x.article #>> '{customsTariffNumber}', '') AS tariff_no,
      nullif(x.article #>> '{countryOfOrigin}', '') AS origin,
      CASE WHEN json_typeof(x.article #> '{weight}') = 'number'
        THEN (x.article #>> '{weight}')::numeric END AS weight
    FROM (
      SELECT n.fulfilled_quantity, n.price, coalesce(
        (SELECT v.extra FROM stock_variant_row v
          WHERE v.account = n.account AND v.barcode = n.barcode),
        (SELECT v.extra FROM season_variant_row v
          WHERE v.account = n.account AND v.barcode = n.barcode
          ORDER BY v.season_barcode LIMIT 1))::json #> '{details}' AS article
      FROM delivery_line n
      WHERE n.account = d.account AND n.order_delivery_id = d.order_delivery_id
      OFFSET 0
    ) x
  ) l
) g;

CREATE OR REPLACE VIEW v_refund_line AS
SELECT
  l.account, l.order_refund_id, r.refund_no, r.order_id, o.order_no, o.reference, o.account_no,
  nullif(o.company, '') AS company, nullif(o.country_code, '') AS country_code,
  iso_time(coalesce(r.created_at, r.first_seen_at) / 1000) AS refunded_at,
  r.status, l.line_no, nullif(l.refund_type, '') AS refund_type, l.barcode,
  v.style_no, nullif(v.style_name, '') AS style_name, nullif(v.brand_name, '') AS brand_name,
  nullif(v.color_code, '') AS color_code, nullif(v.color_name, '') AS color_name,
  nullif(v.size, '') AS size,
  (SELECT z.rank FROM size_rank z WHERE z.account = v.account AND z.size = v.size) AS size_rank,
  l.refunded_quantity AS pieces,
  CASE WHEN l.restock = 1 THEN l.refunded_quantity ELSE 0 END AS restocked,
  l.price * 0.0001 AS price, l.refunded_quantity * l.price * 0.0001 AS amount,
  (SELECT c.currency FROM order_currency c
    WHERE c.account = r.account AND c.order_id = r.order_id) AS currency,
  (r.deleted_at IS NOT NULL)::int AS gone
FROM refund_line l
JOIN refund r ON r.account = l.account AND r.order_refund_id = l.order_refund_id
LEFT JOIN sales_order o ON o.account = r.account AND o.order_id = r.order_id
JOIN stock_variant_row v ON v.account = l.account AND v.barcode = l.barcode
UNION ALL
SELECT
  l.account, l.order_refund_id, r.refund_no, r.order_id, o.order_no, o.reference, o.account_no,
  nullif(o.company, '') AS company, nullif(o.country_code, '') AS country_code,
  iso_time(coalesce(r.created_at, r.first_seen_at) / 1000) AS refunded_at,
  r.status, l.line_no, nullif(l.refund_type, '') AS refund_type, l.barcode,
  v.style_no, nullif(v.style_name, '') AS style_name, nullif(v.brand_name, '') AS brand_name,
  nullif(v.color_code, '') AS color_code, nullif(v.color_name, '') AS color_name,
  nullif(v.size, '') AS size,
  (SELECT z.rank FROM size_rank z WHERE z.account = v.account AND z.size = v.size) AS size_rank,
  l.refunded_quantity AS pieces,
  CASE WHEN l.restock = 1 THEN l.refunded_quantity ELSE 0 END AS restocked,
  l.price * 0.0001 AS price, l.refunded_quantity * l.price * 0.0001 AS amount,
  (SELECT c.currency FROM order_currency c
    WHERE c.account = r.account AND c.order_id = r.order_id) AS currency,
  (r.deleted_at IS NOT NULL)::int AS gone
FROM refund_line l
JOIN refund r ON r.account = l.account AND r.order_refund_id = l.order_refund_id
LEFT JOIN sales_order o ON o.account = r.account AND o.order_id = r.order_id
LEFT JOIN LATERAL (SELECT n.* FROM season_variant_row n
  WHERE n.account = l.account AND n.barcode = l.barcode
  ORDER BY n.season_barcode LIMIT 1) v ON true
WHERE NOT EXISTS (SELECT 1 FROM stock_variant_row s
  WHERE s.account = l.account AND s.barcode = l.barcode);

CREATE OR REPLACE VIEW v_refund AS
SELECT
  r.account, r.order_refund_id, r.refund_no, r.order_id, o.order_no, o.reference, o.account_no,
  nullif(o.company, '') AS company, nullif(o.country_code, '') AS country_code,
  iso_time(coalesce(r.created_at, r.first_seen_at) / 1000) AS refunded_at,
  r.status, r.pending_refund_id,
  (SELECT CASE WHEN count(*) = count(l.refunded_quantity)
    THEN sum(l.refunded_quantity)::bigint END
    FROM refund_line l
    WHERE l.account = r.account AND l.order_refund_id = r.order_refund_id) AS pieces,
  (SELECT sum(CASE WHEN l.restock = 1 THEN l.refunded_quantity ELSE 0 END)::bigint
    FROM refund_line l
    WHERE l.account = r.account AND l.order_refund_id = r.order_refund_id) AS restocked,
  (SELECT CASE WHEN count(*) = count(l.refunded_quantity * l.price)
    THEN sum(l.refunded_quantity * l.price) * 0.0001 END
    FROM refund_line l
    WHERE l.account = r.account AND l.order_refund_id = r.order_refund_id) AS amount,
  (SELECT c.currency FROM order_currency c
    WHERE c.account = r.account AND c.order_id = r.order_id) AS currency,
  (r.deleted_at IS NOT NULL)::int AS gone
FROM refund r
LEFT JOIN sales_order o ON o.account = r.account AND o.order_id = r.order_id;

CREATE OR REPLACE VIEW v_customer AS
SELECT
  a.account, a.account_no,
  (SELECT o.company FROM sales_order o
    WHERE o.account = a.account AND o.account_no = a.account_no AND o.company <> ''
    ORDER BY o.order_id DESC LIMIT 1) AS company,
  (SELECT o.country_code FROM sales_order o
    WHERE o.account = a.account AND o.account_no = a.account_no AND o.country_code <> ''
    ORDER BY o.order_id DESC LIMIT 1) AS country_code,
  (SELECT count(*) FROM sales_order o
    WHERE o.account = a.account AND o.account_no = a.account_no
      AND o.status <> 'canceled' AND o.deleted_at IS NULL) AS orders,
  (SELECT iso_time(max(coalesce(o.created_at, o.first_seen_at)) / 1000) FROM sales_order o
    WHERE o.account = a.account AND o.account_no = a.account_no
      AND o.status <> 'canceled' AND o.deleted_at IS NULL) AS last_ordered_at,
  (SELECT CASE WHEN count(*) = count(t.currency) AND min(t.currency) = max(t.currency)
      THEN min(t.currency) END
    FROM (
      SELECT CASE WHEN trim(o.currency) <> '' THEN o.currency ELSE
        (SELECT c.currency FROM order_currency c
          WHERE c.account = o.account AND c.order_id = o.order_id) END AS currency
      FROM sales_order o
      WHERE o.account = a.account AND o.account_no = a.account_no
        AND o.status <> 'canceled' AND o.deleted_at IS NULL) t) AS currency,
  (SELECT CASE WHEN min(t.currency) = max(t.currency) AND count(*) = count(t.currency)
      THEN coalesce(sum(t.amount), 0) * 0.0001 WHEN count(*) = 0 THEN 0 END
    FROM (
      SELECT CASE WHEN trim(o.currency) <> '' THEN o.currency ELSE
        (SELECT c.currency FROM order_currency c
          WHERE c.account = o.account AND c.order_id = o.order_id) END AS currency,
        (SELECT sum(l.quantity * l.price) FROM sales_order_line l
          WHERE l.account = o.account AND l.order_id = o.order_id) AS amount
      FROM sales_order o
      WHERE o.account = a.account AND o.account_no = a.account_no
        AND o.status <> 'canceled' AND o.deleted_at IS NULL) t) AS amount,
  (SELECT count(*) FROM sales_order o
    JOIN sales_order_line l ON l.account = o.account AND l.order_id = o.order_id
    WHERE o.account = a.account AND o.account_no = a.account_no
      AND o.status <> 'canceled' AND o.deleted_at IS NULL
      AND l.quantity * l.price IS NULL) AS lines_without_amount,
  (SELECT count(*) FROM sales_order o
    WHERE o.account = a.account AND o.account_no = a.account_no
      AND o.completed = 0 AND o.status <> 'canceled' AND o.deleted_at IS NULL) AS open_orders,
  (SELECT CASE WHEN min(t.currency) = max(t.currency) AND count(*) = count(t.currency)
      THEN coalesce(sum(t.amount), 0) * 0.0001 WHEN count(*) = 0 THEN 0 END
    FROM (
      SELECT CASE WHEN trim(o.currency) <> '' THEN o.currency ELSE
        (SELECT c.currency FROM order_currency c
          WHERE c.account = o.account AND c.order_id = o.order_id) END AS currency,
        (SELECT sum(max(0, l.quantity - coalesce(l.fulfilled_quantity, 0)) * l.price)
          FROM sales_order_line l
          WHERE l.account = o.account AND l.order_id = o.order_id) AS amount
      FROM sales_order o
      WHERE o.account = a.account AND o.account_no = a.account_no AND o.completed = 0
        AND o.status <> 'canceled' AND o.deleted_at IS NULL) t) AS open_amount,
  (SELECT count(*) FROM sales_order o
    JOIN delivery d ON d.account = o.account AND d.order_id = o.order_id
    WHERE o.account = a.account AND o.account_no = a.account_no
      AND d.deleted_at IS NULL AND d.status <> 'canceled') AS deliveries,
  (SELECT count(*) FROM sales_order o
    JOIN delivery d ON d.account = o.account AND d.order_id = o.order_id
    JOIN evaluation e ON e.account = d.account AND e.order_delivery_id = d.order_delivery_id
    JOIN decision n ON n.account = e.account AND n.decision_id = e.decision_id
    WHERE o.account = a.account AND o.account_no = a.account_no
      AND d.deleted_at IS NULL AND d.status = 'pending' AND n.outcome = 'hold') AS held,
  (SELECT round(100.0 * count((SELECT 1 FROM decision n
      WHERE n.account = d.account AND n.order_delivery_id = d.order_delivery_id
        AND n.outcome = 'hold' LIMIT 1)) / nullif(count(*), 0), 1)
    FROM sales_order o
    JOIN delivery d ON d.account = o.account AND d.order_id = o.order_id
    WHERE o.account = a.account AND o.account_no = a.account_no
      AND d.deleted_at IS NULL AND d.status <> 'canceled') AS held_percent,
  (SELECT count(*) FROM sales_order o
    JOIN refund r ON r.account = o.account AND r.order_id = o.order_id
    WHERE o.account = a.account AND o.account_no = a.account_no AND r.deleted_at IS NULL
      AND r.status NOT IN ('rejected', 'canceled')) AS refunds,
  (SELECT CASE WHEN min(t.currency) = max(t.currency) AND count(*) = count(t.currency)
      THEN coalesce(sum(t.amount), 0) * 0.0001 WHEN count(*) = 0 THEN 0 END
    FROM (
      SELECT CASE WHEN trim(o.currency) <> '' THEN o.currency ELSE
        (SELECT c.currency FROM order_currency c
          WHERE c.account = o.account AND c.order_id = o.order_id) END AS currency,
        (SELECT sum(l.refunded_quantity * l.price) FROM refund_line l
          WHERE l.account = r.account AND l.order_refund_id = r.order_refund_id) AS amount
      FROM sales_order o
      JOIN refund r ON r.account = o.account AND r.order_id = o.order_id
      WHERE o.account = a.account AND o.account_no = a.account_no AND r.deleted_at IS NULL
        AND r.status NOT IN ('rejected', 'canceled')) t) AS refunded_amount,
  e.credit_limit * 0.0001 AS credit_limit, e.balance * 0.0001 AS balance,
  (e.credit_limit - e.balance) * 0.0001 AS credit_left,
  nullif(e.currency, '') AS credit_currency, e.overdue_days, e.blocked,
  iso_time(e.as_of / 1000) AS credit_as_of
FROM (
  SELECT o.account, o.account_no FROM sales_order o WHERE o.account_no <> ''
  UNION
  SELECT e.account, e.account_no FROM erp_customer e WHERE e.deleted_at IS NULL
) a
LEFT JOIN erp_customer e ON e.account = a.account AND e.account_no = a.account_no
  AND e.deleted_at IS NULL;

CREATE OR REPLACE VIEW v_season AS
SELECT
  s.account, s.season_name, d.line_no AS place, d.delivery_name,
  coalesce(w.from_day, a.from_day) AS from_day, coalesce(w.to_day, a.to_day) AS to_day,
  (s.deleted_at IS NOT NULL)::int AS gone
FROM season s
LEFT JOIN season_delivery d ON d.account = s.account AND d.season_name = s.season_name
LEFT JOIN season_window w ON w.account = s.account
  AND lower(w.season_name) = lower(trim(s.season_name))
  AND lower(w.delivery_name) = lower(trim(d.delivery_name))
LEFT JOIN season_window a ON a.account = s.account
  AND lower(a.season_name) = lower(trim(s.season_name)) AND a.delivery_name = '';

CREATE OR REPLACE VIEW v_style AS
SELECT
  b.account, b.style_no,
  coalesce(
    (SELECT nullif(p.style_name, '') FROM style p
      WHERE p.account = b.account AND p.style_no = b.style_no AND p.deleted_at IS NULL
      ORDER BY p.style_id LIMIT 1),
    (SELECT v.style_name FROM stock_variant_row v
      WHERE v.account = b.account AND v.style_no = b.style_no AND v.style_name <> ''
      ORDER BY v.color_code NULLS FIRST, v.size NULLS FIRST, v.barcode LIMIT 1),
    (SELECT v.style_name FROM season_variant_row v
      WHERE v.account = b.account AND v.style_no = b.style_no AND v.style_name <> ''
      ORDER BY v.color_code NULLS FIRST, v.size NULLS FIRST, v.season_barcode LIMIT 1))
    AS style_name,
  (SELECT CASE WHEN min(u.brand_name) = max(u.brand_name) THEN min(u.brand_name) END FROM (
    SELECT v.brand_name FROM stock_variant_row v
    WHERE v.account = b.account AND v.style_no = b.style_no AND v.brand_name <> ''
    UNION ALL
    SELECT v.brand_name FROM season_variant_row v
    WHERE v.account = b.account AND v.style_no = b.style_no AND v.brand_name <> '') u)
    AS brand_name,
  coalesce(
    (SELECT v.category FROM stock_variant_row v
      WHERE v.account = b.account AND v.style_no = b.style_no AND v.category <> ''
      ORDER BY v.color_code NULLS FIRST, v.size NULLS FIRST, v.barcode LIMIT 1),
    (SELECT v.category FROM season_variant_row v
      WHERE v.account = b.account AND v.style_no = b.style_no AND v.category <> ''
      ORDER BY v.color_code NULLS FIRST, v.size NULLS FIRST, v.season_barcode LIMIT 1))
    AS category,
  coalesce(
    (SELECT v.gender FROM stock_variant_row v
      WHERE v.account = b.account AND v.style_no = b.style_no AND v.gender <> ''
      ORDER BY v.color_code NULLS FIRST, v.size NULLS FIRST, v.barcode LIMIT 1),
    (SELECT v.gender FROM season_variant_row v
      WHERE v.account = b.account AND v.style_no = b.style_no AND v.gender <> ''
      ORDER BY v.color_code NULLS FIRST, v.size NULLS FIRST, v.season_barcode LIMIT 1))
    AS gender,
  (SELECT nullif(p.designer, '') FROM style p
    WHERE p.account = b.account AND p.style_no = b.style_no AND p.deleted_at IS NULL
    ORDER BY p.style_id LIMIT 1) AS designer,
  (SELECT t.name FROM style p JOIN style_type t ON t.account = p.account AND t.type_id = p.type_id
    WHERE p.account = b.account AND p.style_no = b.style_no AND p.deleted_at IS NULL
    ORDER BY p.style_id LIMIT 1) AS type,
  (SELECT p.active FROM style p
    WHERE p.account = b.account AND p.style_no = b.style_no AND p.deleted_at IS NULL
    ORDER BY p.style_id LIMIT 1) AS active,
  (SELECT count(DISTINCT coalesce(nullif(v.color_code, ''), v.color_name, ''))
    FROM stock_variant_row v
    WHERE v.account = b.account AND v.style_no = b.style_no AND v.deleted_at IS NULL) AS colors,
  (SELECT count(*) FROM stock_variant_row v
    WHERE v.account = b.account AND v.style_no = b.style_no AND v.deleted_at IS NULL) AS variants,
  (SELECT coalesce(sum(v.quantity), 0)::bigint FROM stock_variant_row v
    WHERE v.account = b.account AND v.style_no = b.style_no AND v.deleted_at IS NULL) AS quantity,
  (SELECT count(DISTINCT v.season_name) FROM season_variant_row v
    WHERE v.account = b.account AND v.style_no = b.style_no AND v.deleted_at IS NULL) AS seasons
FROM (
  SELECT v.account, v.style_no FROM stock_variant_row v WHERE v.style_no <> ''
  UNION
  SELECT v.account, v.style_no FROM season_variant_row v WHERE v.style_no <> ''
  UNION
  SELECT p.account, p.style_no FROM style p WHERE p.style_no <> '' AND p.deleted_at IS NULL
) b;

CREATE OR REPLACE VIEW v_size AS
SELECT account, size, rank FROM size_rank;

CREATE OR REPLACE VIEW v_stock_day AS
SELECT
  account, day, nullif(brand_name, '') AS brand_name, nullif(season_name, '') AS season_name,
  nullif(currency, '') AS currency, variants, in_stock, pieces,
  wsp_value * 0.0001 AS wsp_value, unpriced, iso_time(counted_at / 1000) AS counted_at
FROM stock_day;

CREATE OR REPLACE VIEW v_stock_age AS
SELECT
  account, nullif(brand_name, '') AS brand_name, nullif(season_name, '') AS season_name,
  nullif(currency, '') AS currency, unsold_days, variants, pieces,
  wsp_value * 0.0001 AS wsp_value, unpriced, iso_time(counted_at / 1000) AS counted_at
FROM stock_age;

CREATE OR REPLACE VIEW v_zone AS
SELECT account, since, until, minutes, modifier FROM zone_offset;

CREATE OR REPLACE VIEW feed_day AS
SELECT f.account, f.day, 1000 * (
    SELECT min(max(z.since, f.ends - 60 * z.minutes)) FROM zone_offset z
    WHERE z.account = f.account AND z.until > f.ends - 60 * z.minutes) AS ends_at
FROM (
  SELECT DISTINCT h.account, h.day, date_part('epoch', h.day::date)::bigint + 86400 AS ends
  FROM (
    SELECT c.account, date(c.at, 'unixepoch', (
      SELECT z.modifier FROM zone_offset z
      WHERE z.account = c.account AND z.since <= c.at
      ORDER BY z.since DESC LIMIT 1)) AS day
    FROM (
      SELECT account, hour * 3600 AS at FROM change_hour
      UNION ALL SELECT account, hour * 3600 + 3599 FROM change_hour
    ) c
  ) h
) f;

CREATE OR REPLACE VIEW v_style_stock_day AS
SELECT
  v.account, f.day, v.barcode,
  v.style_no, nullif(v.style_name, '') AS style_name, nullif(v.brand_name, '') AS brand_name,
  nullif(v.color_code, '') AS color_code, nullif(v.color_name, '') AS color_name,
  nullif(v.size, '') AS size,
  (SELECT r.rank FROM size_rank r WHERE r.account = v.account AND r.size = v.size) AS size_rank,
  (coalesce(
    (SELECT c.diff::json #> '{quantity,0}' FROM change c
      WHERE c.account = v.account AND c.entity = 'stock_variant' AND c.key = v.barcode
        AND c.seq >= f.next_seq AND c.diff::json -> 'quantity' IS NOT NULL
      ORDER BY c.seq LIMIT 1),
    to_json(v.quantity)) #>> '{}')::bigint AS quantity
FROM stock_variant_row v
JOIN (
  SELECT d.account, d.day, d.ends_at, (
    SELECT c.seq FROM change c
    WHERE c.account = d.account AND c.at >= d.ends_at AND c.seq >= (
      SELECT min(h.first_seq) FROM change_hour h
      WHERE h.account = d.account AND h.hour >= d.ends_at / 3600000)
    ORDER BY c.seq LIMIT 1) AS next_seq
  FROM feed_day d OFFSET 0
) f ON f.account = v.account AND v.first_seen_at < f.ends_at
WHERE CASE
  (SELECT c.op FROM change c
    WHERE c.account = v.account AND c.entity = 'stock_variant' AND c.key = v.barcode
      AND c.seq >= f.next_seq AND c.op IN ('delete', 'restore')
    ORDER BY c.seq LIMIT 1)
  WHEN 'delete' THEN true
  WHEN 'restore' THEN false
  ELSE v.deleted_at IS NULL
END;

CREATE OR REPLACE VIEW v_to_pack AS
SELECT t.account, t.order_id, t.line_no, t.barcode, t.season_name, t.delivery_name, t.pieces,
  t.to_pack
FROM (
  SELECT l.account, l.order_id, l.line_no, l.barcode,
    coalesce(nullif(l.season_name, ''), nullif(o.season_name, '')) AS season_name,
    nullif(l.delivery_name, '') AS delivery_name, l.quantity AS pieces,
    greatest(0, coalesce(l.quantity, 0) - greatest(coalesce(l.fulfilled_quantity, 0), (
      SELECT coalesce(sum(p.fulfilled_quantity), 0)::bigint FROM delivery d
      JOIN delivery_line p ON p.account = d.account AND p.order_delivery_id = d.order_delivery_id
        AND p.barcode = l.barcode
      WHERE d.account = l.account AND d.order_id = l.order_id AND d.deleted_at IS NULL
        AND d.status IN ('pending', 'accepted')
    ) - (
      SELECT coalesce(sum(e.quantity), 0)::bigint FROM sales_order_line e
      WHERE e.account = l.account AND e.order_id = l.order_id AND e.barcode = l.barcode
        AND e.line_no < l.line_no
    ))) AS to_pack
  FROM sales_order_line l
  JOIN sales_order o ON o.account = l.account AND o.order_id = l.order_id
  WHERE o.completed = 0 AND o.status <> 'canceled' AND o.deleted_at IS NULL
) t
WHERE t.to_pack > 0;

CREATE OR REPLACE VIEW v_ats AS
SELECT
  t.account, t.barcode,
  t.style_no, nullif(t.style_name, '') AS style_name, nullif(t.brand_name, '') AS brand_name,
  nullif(t.color_code, '') AS color_code, nullif(t.color_name, '') AS color_name,
  nullif(t.size, '') AS size,
  (SELECT r.rank FROM size_rank r WHERE r.account = t.account AND r.size = t.size) AS size_rank,
  t.season_name, t.delivery_name, t.quantity, t.packed, t.to_pack,
  CASE WHEN t.is_free THEN t.quantity ELSE t.quantity - t.packed - t.to_pack END AS ats
FROM (
  SELECT
    v.account, v.barcode, v.style_no, v.style_name, v.brand_name, v.color_code, v.color_name,
    v.size, NULL::text AS season_name, NULL::text AS delivery_name, v.quantity,
    (SELECT coalesce(sum(l.fulfilled_quantity), 0)::bigint
      FROM delivery_line l
      JOIN delivery d ON d.account = l.account AND d.order_delivery_id = l.order_delivery_id
      JOIN sales_order o ON o.account = d.account AND o.order_id = d.order_id
      WHERE l.account = v.account AND l.barcode = v.barcode
        AND o.completed = 0 AND o.deleted_at IS NULL AND d.deleted_at IS NULL
        AND (d.status = 'pending' OR d.status = 'accepted' AND (
          d.tracking_numbers = '[]'
          OR d.changed_at >= coalesce((SELECT s.complete_at FROM stream_state s
            WHERE s.account = v.account AND s.stream = 'stock'), 0)))) AS packed,
    (SELECT coalesce(sum(p.to_pack), 0)::bigint FROM v_to_pack p
      WHERE p.account = v.account AND p.barcode = v.barcode AND p.season_name IS NULL) AS to_pack,
    (SELECT s.value FROM daemon_state s
      WHERE s.account = v.account AND s.key = 'stock_quantity') IS NOT DISTINCT FROM 'free'
      AS is_free
  FROM stock_variant_row v
  WHERE v.deleted_at IS NULL
  UNION ALL
  SELECT
    v.account, v.barcode, v.style_no, v.style_name, v.brand_name, v.color_code, v.color_name,
    v.size, v.season_name, d.delivery_name, v.quantity, 0,
    (SELECT coalesce(sum(p.to_pack), 0)::bigint FROM v_to_pack p
      WHERE p.account = v.account AND p.barcode = v.barcode AND p.season_name = v.season_name
        AND (d.line_no IS NULL OR d.line_no >= coalesce(
          (SELECT min(e.line_no) FROM season_delivery e
            WHERE e.account = v.account AND e.season_name = v.season_name
              AND e.delivery_name = p.delivery_name), 0))),
    (SELECT s.value FROM daemon_state s
      WHERE s.account = v.account AND s.key = 'season_quantity') IS NOT DISTINCT FROM 'free'
  FROM season_variant_row v
  LEFT JOIN season_delivery d ON d.account = v.account AND d.season_name = v.season_name
  WHERE v.deleted_at IS NULL
) t;

CREATE OR REPLACE VIEW v_oversold AS
SELECT
  t.account, t.barcode, t.style_no, nullif(t.style_name, '') AS style_name,
  nullif(t.brand_name, '') AS brand_name, nullif(t.color_code, '') AS color_code,
  nullif(t.color_name, '') AS color_name, nullif(t.size, '') AS size,
  (SELECT r.rank FROM size_rank r WHERE r.account = t.account AND r.size = t.size) AS size_rank,
  t.season_name, t.quantity, t.packed, t.to_pack, -t.rest AS missing
FROM (
  SELECT
    x.account, x.barcode, coalesce(v.style_no, a.style_no) AS style_no,
    coalesce(v.style_name, a.style_name) AS style_name,
    coalesce(v.brand_name, a.brand_name) AS brand_name,
    coalesce(v.color_code, a.color_code) AS color_code,
    coalesce(v.color_name, a.color_name) AS color_name, coalesce(v.size, a.size) AS size,
    NULL::text AS season_name,
    CASE WHEN v.deleted_at IS NULL AND v.barcode IS NOT NULL THEN v.quantity ELSE 0 END AS quantity,
    x.packed, x.to_pack,
    CASE WHEN v.deleted_at IS NULL AND v.barcode IS NOT NULL THEN v.quantity ELSE 0 END
      - CASE WHEN (SELECT s.value FROM daemon_state s
          WHERE s.account = x.account AND s.key = 'stock_quantity') = 'free'
        THEN 0 ELSE x.packed + x.to_pack END AS rest
  FROM (
    SELECT u.account, u.barcode, sum(u.packed)::bigint AS packed, sum(u.to_pack)::bigint AS to_pack
    FROM (
      SELECT account, barcode, pending + accepted AS packed, 0 AS to_pack FROM v_reserved
      UNION ALL
      SELECT account, barcode, 0, to_pack FROM v_to_pack WHERE season_name IS NULL
    ) u
    GROUP BY u.account, u.barcode
  ) x
  LEFT JOIN stock_variant_row v ON v.account = x.account AND v.barcode = x.barcode
  LEFT JOIN season_variant_row a ON a.account = x.account AND a.season_barcode = (
    SELECT min(n.season_barcode) FROM season_variant_row n
    WHERE n.account = x.account AND n.barcode = x.barcode AND v.barcode IS NULL)
  UNION ALL
  SELECT
    x.account, x.barcode, v.style_no, v.style_name, v.brand_name, v.color_code, v.color_name,
    v.size, x.season_name, v.quantity, 0, x.to_pack,
    v.quantity - CASE WHEN (SELECT s.value FROM daemon_state s
        WHERE s.account = x.account AND s.key = 'season_quantity') = 'free'
      THEN 0 ELSE x.to_pack END
  FROM (
    SELECT account, barcode, season_name, sum(to_pack)::bigint AS to_pack FROM v_to_pack
    WHERE season_name IS NOT NULL
    GROUP BY account, barcode, season_name
  ) x
  JOIN season_variant_row v ON v.account = x.account AND v.barcode = x.barcode
    AND v.season_name = x.season_name AND v.deleted_at IS NULL
) t
WHERE t.rest < 0;

CREATE OR REPLACE VIEW v_decision AS
SELECT
  account, decision_id, order_delivery_id, order_id, iso_time(at / 1000) AS decided_at,
  actor, mode, outcome, reason, rules, trigger, rule_set_hash
FROM decision;

CREATE OR REPLACE VIEW v_decision_day AS
SELECT
  d.account, date(d.at / 1000, 'unixepoch', (
    SELECT z.modifier FROM zone_offset z
    WHERE z.account = d.account AND z.since <= d.at / 1000
    ORDER BY z.since DESC LIMIT 1)) AS day,
  d.outcome,
  coalesce(r.value, CASE d.actor WHEN 'daemon' THEN '(no rule)' ELSE '(a person)' END) AS rule,
  count(*) AS decisions
FROM decision d
LEFT JOIN LATERAL json_array_elements_text(d.rules::json) r ON true
GROUP BY 1, 2, 3, 4;

CREATE OR REPLACE VIEW v_decision_hour AS
SELECT
  account, iso_time(at / 3600000 * 3600) AS hour, outcome,
  CASE actor WHEN 'daemon' THEN 'the rules' WHEN 'external' THEN 'the service' ELSE 'people' END
    AS decided_by,
  count(*) AS decisions
FROM decision
GROUP BY 1, 2, 3, 4;

CREATE OR REPLACE VIEW v_agreement AS
SELECT
  d.account, d.order_delivery_id, d.delivery_no, d.status,
  iso_time(coalesce(d.created_at, d.first_seen_at) / 1000) AS packed_at,
  (SELECT n.outcome FROM decision n
    WHERE n.account = d.account AND n.order_delivery_id = d.order_delivery_id
      AND n.actor = 'daemon'
    ORDER BY n.decision_id DESC LIMIT 1) AS rules_said,
  CASE WHEN (
    SELECT 1 FROM decision n
    JOIN outbox b ON b.account = n.account AND b.decision_id = n.decision_id
    WHERE n.account = d.account AND n.order_delivery_id = d.order_delivery_id
      AND n.actor = 'daemon' AND b.state IN ('sent', 'confirmed')
      AND b.body::json ->> 'status' = d.status
    LIMIT 1
  ) = 1 THEN 'the rules' ELSE 'people' END AS done_by
FROM delivery d
WHERE d.status IN ('accepted', 'rejected') AND d.deleted_at IS NULL
  AND EXISTS (SELECT 1 FROM decision n
    WHERE n.account = d.account AND n.order_delivery_id = d.order_delivery_id
      AND n.actor = 'daemon');

CREATE OR REPLACE VIEW v_order_pushed AS
SELECT
  b.account, b.outbox_id, b.kind, b.reference, b.state,
  CASE WHEN json_typeof(b.result::json -> 'orderId') = 'number'
    THEN (b.result::json ->> 'orderId')::bigint END AS order_id,
  b.result::json ->> 'orderNo' AS order_no,
  b.attempts, b.last_error,
  iso_time(b.created_at / 1000) AS handed_in_at,
  iso_time(b.ended_at / 1000) AS ended_at
FROM outbox b
WHERE b.kind = 'order';

CREATE OR REPLACE VIEW v_outbox AS
SELECT
  account, outbox_id, kind, reference, state, attempts, last_error,
  iso_time(created_at / 1000) AS created_at,
  iso_time(due_at / 1000) AS due_at,
  iso_time(in_doubt_since / 1000) AS in_doubt_since,
  iso_time(ended_at / 1000) AS ended_at
FROM outbox;

CREATE OR REPLACE VIEW v_refund_pending AS
SELECT
  p.account, p.pending_refund_id, p.order_id, p.reference, p.status,
  iso_time(coalesce(p.created_at, p.first_seen_at) / 1000) AS created_at,
  (SELECT sum(l.quantity)::bigint FROM pending_refund_line l
    WHERE l.account = p.account AND l.pending_refund_id = p.pending_refund_id) AS pieces,
  r.order_refund_id, r.status AS refund_status
FROM pending_refund p
LEFT JOIN refund r ON r.account = p.account AND r.order_id = p.order_id
  AND r.pending_refund_id = p.pending_refund_id
WHERE p.deleted_at IS NULL;

CREATE OR REPLACE VIEW v_sync_run AS
SELECT
  account, run_id, stream, cause, outcome, reason, pages, rows_seen, rows_changed, rows_unchanged,
  rows_deleted, rows_quarantined, rows_held, bytes, resumes,
  iso_time(started_at / 1000) AS started_at,
  iso_time(ended_at / 1000) AS ended_at,
  (ended_at - started_at) * 0.001 AS seconds
FROM sync_run;

CREATE OR REPLACE VIEW v_freshness AS
SELECT
  s.account, s.stream, s.complete_rows AS rows,
  (EXISTS (SELECT 1 FROM pause p
    WHERE p.account = s.account
      AND (p.target = 'all' OR p.target = 'stream' AND p.name = s.stream)))::int AS paused,
  iso_time(s.complete_at / 1000) AS complete_at,
  trunc(extract(epoch FROM now()) - s.complete_at / 1000.0)::bigint AS age_seconds,
  iso_time(s.due_at / 1000) AS due_at,
  s.failures, s.last_error
FROM stream_state s;

CREATE OR REPLACE VIEW v_orphan AS
SELECT d.account, 'delivery' AS entity, d.order_delivery_id::text AS key,
  'its order ' || d.order_id || ' is not here' AS why
FROM delivery d
WHERE d.deleted_at IS NULL AND NOT EXISTS (SELECT 1 FROM sales_order o
  WHERE o.account = d.account AND o.order_id = d.order_id)
UNION ALL
SELECT r.account, 'refund', r.order_refund_id::text, 'its order ' || r.order_id || ' is not here'
FROM refund r
WHERE r.deleted_at IS NULL AND NOT EXISTS (SELECT 1 FROM sales_order o
  WHERE o.account = r.account AND o.order_id = r.order_id)
UNION ALL
SELECT p.account, 'pending_refund', p.pending_refund_id::text,
  'its order ' || p.order_id || ' is not here'
FROM pending_refund p
WHERE p.deleted_at IS NULL AND NOT EXISTS (SELECT 1 FROM sales_order o
  WHERE o.account = p.account AND o.order_id = p.order_id)
UNION ALL
SELECT l.account, 'stock_variant', l.barcode,
  'order ' || o.order_id || ' asks for this unknown barcode'
FROM sales_order o
JOIN sales_order_line l ON l.account = o.account AND l.order_id = o.order_id
WHERE o.completed = 0 AND o.deleted_at IS NULL
  AND NOT EXISTS (SELECT 1 FROM stock_variant_row v
    WHERE v.account = l.account AND v.barcode = l.barcode)
  AND NOT EXISTS (SELECT 1 FROM season_variant_row v
    WHERE v.account = l.account AND v.barcode = l.barcode);

CREATE OR REPLACE VIEW v_quarantine AS
SELECT
  account, id, entity, path, reason, raw, source, times,
  iso_time(first_seen_at / 1000) AS first_seen_at,
  iso_time(last_seen_at / 1000) AS last_seen_at
FROM quarantine;

CREATE OR REPLACE VIEW event_coverage AS
SELECT f.account, f.order_delivery_id, f.order_id, f.at, f.created_at, f.by_event::int AS by_event,
  f.since,
  (f.by_event OR (
    SELECT 1 FROM webhook_event e
    WHERE e.account = f.account AND e.order_id = f.order_id
      AND e.type = 'sales_order.delivery_created'
      AND e.received_at BETWEEN f.since - 300000 AND f.at + 300000
    LIMIT 1
  ) IS NOT NULL)::int AS announced
FROM (
  SELECT d.account, d.order_delivery_id, d.order_id, d.first_seen_at AS at, d.created_at,
    c.cause LIKE 'refresh:event:%' AS by_event,
    CASE WHEN c.cause LIKE '%:first' THEN o.first_seen_at END AS order_seen_at,
    p.started_at AS since, p.ended_at AS swept_at
  FROM delivery d
  JOIN change c ON c.account = d.account AND c.entity = 'delivery'
    AND c.key = d.order_delivery_id::text AND c.op = 'insert'
  LEFT JOIN sales_order o ON o.account = d.account AND o.order_id = d.order_id
  LEFT JOIN sync_run r ON r.account = d.account
    AND r.run_id = substring(replace(replace(c.cause, 'refresh:sweep:', ''), 'run:', '')
      FROM '^[0-9]{1,18}')::bigint
  LEFT JOIN sync_run p ON p.account = d.account AND p.run_id = (
    SELECT max(q.run_id) FROM sync_run q
    WHERE q.account = r.account AND q.stream IN ('orders', 'ordersFull')
      AND q.outcome = 'complete' AND q.run_id < r.run_id AND q.ended_at <= r.started_at)
) f
WHERE f.by_event OR (f.since IS NOT NULL
  AND (f.order_seen_at IS NULL OR f.order_seen_at > f.swept_at));

-- In the newest 1,000 rows of each table.
CREATE OR REPLACE VIEW v_drift AS
SELECT t.account, t.entity, m.key AS member, count(*) AS rows,
  min(left(CASE json_typeof(m.value) WHEN 'boolean' THEN m.value::text::boolean::int::text
    ELSE m.value #>> '{}' END, 100)) AS example
FROM (SELECT DISTINCT account FROM stream_state) a
CROSS JOIN LATERAL (
  (SELECT v.account, 'stock_variant' AS entity, v.extra FROM stock_variant_row v
    WHERE v.account = a.account ORDER BY v.row_no DESC LIMIT 1000)
  UNION ALL
  (SELECT v.account, 'season_variant', v.extra FROM season_variant_row v
    WHERE v.account = a.account ORDER BY v.row_no DESC LIMIT 1000)
  UNION ALL
  (SELECT p.account, 'style', p.extra FROM style p
    WHERE p.account = a.account ORDER BY p.row_no DESC LIMIT 1000)
  UNION ALL
  (SELECT p.account, 'style_color', p.extra FROM style_color p
    WHERE p.account = a.account ORDER BY p.row_no DESC LIMIT 1000)
  UNION ALL
  (SELECT o.account, 'sales_order', o.extra FROM sales_order o
    WHERE o.account = a.account ORDER BY o.order_id DESC LIMIT 1000)
  UNION ALL
  (SELECT d.account, 'delivery', d.extra FROM delivery d
    WHERE d.account = a.account ORDER BY d.order_delivery_id DESC LIMIT 1000)
  UNION ALL
  (SELECT r.account, 'refund', r.extra FROM refund r
    WHERE r.account = a.account ORDER BY r.order_refund_id DESC LIMIT 1000)
) t
CROSS JOIN LATERAL json_each(t.extra::json) m
GROUP BY t.account, t.entity, m.key;

CREATE OR REPLACE VIEW v_incident AS
SELECT
  account, id, kind, entity, key, detail, iso_time(at / 1000) AS at,
  iso_time(resolved_at / 1000) AS resolved_at
FROM incident;

CREATE OR REPLACE VIEW v_change AS
SELECT account, seq, iso_time(at / 1000) AS at, entity, key, op, diff, cause
FROM change;

CREATE OR REPLACE VIEW v_change_hour AS
SELECT account, iso_time(hour * 3600) AS hour, first_seq
FROM change_hour;

CREATE OR REPLACE VIEW v_recent_change AS
SELECT c.account, c.seq, iso_time(c.at / 1000) AS at, c.entity, c.key, c.op, c.diff, c.cause
FROM change c
JOIN (
  -- The begin of yesterday, in seconds.
  SELECT y.account, (
    SELECT min(max(z.since, y.starts - 60 * z.minutes)) FROM zone_offset z
    WHERE z.account = y.account AND z.until > y.starts - 60 * z.minutes) AS begins
  FROM (
    SELECT DISTINCT ON (n.account) n.account,
      start_of_day(unixepoch() + 60 * n.minutes) - 86400 AS starts
    FROM zone_offset n WHERE n.since <= unixepoch() ORDER BY n.account, n.since DESC
  ) y
) d ON d.account = c.account
WHERE c.seq >= (SELECT min(h.first_seq) FROM change_hour h
    WHERE h.account = c.account AND h.hour >= d.begins / 3600)
  AND c.at >= d.begins * 1000;
