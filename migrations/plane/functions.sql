-- Functions that SQLite has and PostgreSQL has not, so that the views and the shipped reports read
-- alike on both. All are plain SQL of one expression, which PostgreSQL writes into the query that
-- calls them. An index on a text of a time needs them IMMUTABLE, hence no to_char. Bodies of one
-- kind name functions of this schema and are read when they are made, so that a reader needs no
-- search_path; texts ($$) are those whose arguments may be of any type.

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

CREATE OR REPLACE FUNCTION unixepoch() RETURNS bigint
LANGUAGE sql STABLE PARALLEL SAFE
RETURN floor(extract(epoch FROM now()))::bigint;

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
