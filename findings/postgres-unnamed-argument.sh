#!/usr/bin/env bash
# PostgreSQL (17, as PGlite 0.3.14 has it; 15 of Debian 12 does the same): a function with a body of
# standard SQL and RETURNS TABLE may have an unnamed argument. What pg_get_functiondef, and so
# pg_dump, writes of it has "" for the argument, and cannot be read back. With a name it can.
# Seen: zero-length delimited identifier at or near """". Needs node and npm.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm install --silent --no-audit --no-fund --ignore-scripts @electric-sql/pglite@0.3.14
cat >run.mjs <<'JS'
import { PGlite } from '@electric-sql/pglite';
const db = await PGlite.create();
const make = (argument, use) => `create function parts(${argument}) returns table (part text)
  language sql begin atomic select unnest(string_to_array(${use}, ',')); end`;
const again = async (argument, use) => {
  await db.exec(make(argument, use));
  const { rows } = await db.query("select pg_get_functiondef('parts'::regproc) as text");
  await db.exec('drop function parts');
  try {
    await db.exec(rows[0].text);
    await db.exec('drop function parts');
    return 'read back';
  } catch (error) {
    return error.message;
  }
};
console.log('unnamed:', await again('text', '$1'));
console.log('named:', await again('whole text', 'whole'));
JS
node run.mjs | tee seen
grep -q '^unnamed: zero-length delimited identifier' seen
grep -q '^named: read back' seen
