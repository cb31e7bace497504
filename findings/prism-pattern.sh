#!/usr/bin/env bash
# Prism 5.16.0 (@stoplight/prism-cli), mock: an answer that it makes of a schema gives "string" for a
# text with a pattern, which its own description refuses; with Prefer: dynamic=true, one that fits.
# Of a number's bounds it takes care in both. As a service to test against it needs examples.
# Seen: {"country":"string","pieces":3} for ^[A-Z]{2}$ and from 3 to 5. Needs node, npm and curl.
set -euo pipefail
work=$(mktemp -d)
prism=
finish() {
  [ -z "$prism" ] || kill "$prism" || true
  rm -rf "$work"
}
trap finish EXIT
cd "$work"
npm install --silent --no-audit --no-fund --ignore-scripts @stoplight/prism-cli@5.16.0
cat >api.json <<'JSON'
{ "openapi": "3.1.0", "info": { "title": "orders", "version": "1" },
  "paths": { "/order": { "get": { "operationId": "getOrder", "responses": { "200": {
    "description": "it", "content": { "application/json": { "schema": {
      "type": "object", "required": ["country", "pieces"], "properties": {
        "country": { "type": "string", "pattern": "^[A-Z]{2}$" },
        "pieces": { "type": "integer", "minimum": 3, "maximum": 5 } } } } } } } } } } }
JSON
port=$(node -e "const s = require('net').createServer().listen(0, '127.0.0.1', () => {
  console.log(s.address().port); s.close() })")
node node_modules/@stoplight/prism-cli/dist/index.js mock -p "$port" api.json >log 2>&1 &
prism=$!
curl -sS --retry 60 --retry-delay 1 --retry-connrefused "http://127.0.0.1:$port/order" | tee static
echo
curl -sS -H 'Prefer: dynamic=true' "http://127.0.0.1:$port/order" | tee dynamic
echo
grep -qxF '{"country":"string","pieces":3}' static
grep -qE '"country":"[A-Z]{2}"[,}]' dynamic
grep -qE '"pieces":[345][,}]' dynamic
