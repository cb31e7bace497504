#!/usr/bin/env bash
# PostgreSQL (17, as PGlite 0.3.14 has it; 15 of Debian 12 does the same): CREATE SCHEMA IF NOT
# EXISTS of a schema that exists fails for its own owner, unless he may also make schemas in the
# database: the right is asked first. CREATE TABLE IF NOT EXISTS in it passes.
# Seen: permission denied for database template1. Needs node and npm.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm install --silent --no-audit --no-fund --ignore-scripts @electric-sql/pglite@0.3.14
cat >run.mjs <<'JS'
import { PGlite } from '@electric-sql/pglite';
const db = await PGlite.create();
await db.exec('create role keeper; create schema kept authorization keeper; set role keeper');
const attempt = (text) => db.exec(text).then(() => 'passes', (error) => error.message);
console.log('schema:', await attempt('create schema if not exists kept'));
console.log('table:', await attempt('create table if not exists kept.rows (id integer)'));
console.log('again:', await attempt('create table if not exists kept.rows (id integer)'));
JS
node run.mjs | tee seen
grep -q '^schema: permission denied for database' seen
grep -q '^table: passes' seen
grep -q '^again: passes' seen
