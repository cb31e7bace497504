#!/usr/bin/env bash
# DuckDB 1.5.5 (@duckdb/node-api 1.5.5-r.1): small whole numbers of NDJSON are read as BIGINT where
# all of a column are above zero, and where all are below; where both occur, as HUGEINT of 128 bits,
# which becomes a DOUBLE in Parquet. read_csv takes the same column for BIGINT.
# Seen: up BIGINT, down BIGINT, both HUGEINT; CSV: BIGINT; Parquet: DOUBLE. Needs node and npm.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm install --silent --no-audit --no-fund --ignore-scripts @duckdb/node-api@1.5.5-r.1
printf '%s\n' '{"up":1,"down":-1,"both":1}' '{"up":2,"down":-2,"both":-2}' >rows.ndjson
printf '%s\n' up,down,both 1,-1,1 2,-2,-2 >rows.csv
cat >run.mjs <<'JS'
import { DuckDBInstance } from '@duckdb/node-api';
const connection = await (await DuckDBInstance.create()).connect();
const typesOf = async (table) => {
  const asked = `select column_name || ' ' || column_type from (describe select * from ${table})`;
  return (await connection.runAndReadAll(asked)).getRows().flat().join(', ');
};
await connection.run("copy (select * from read_json('rows.ndjson')) to 'rows.parquet'");
console.log(await typesOf("read_json('rows.ndjson')"));
console.log(await typesOf("read_csv('rows.csv')"));
console.log(await typesOf("read_parquet('rows.parquet')"));
JS
node run.mjs | tee seen
printf '%s\n' 'up BIGINT, down BIGINT, both HUGEINT' 'up BIGINT, down BIGINT, both BIGINT' \
  'up BIGINT, down BIGINT, both DOUBLE' | diff - seen
echo 'as described'
