#!/usr/bin/env bash
# orval 8.38.0: two members of an inline object whose names differ only in the case of their first
# letter, which JSON keeps apart, get one name of a type. It says that all is well, and TypeScript
# refuses its code. As references to a schema with a name they compile.
# Seen: error TS2300: Duplicate identifier 'PlaceOrderBodyFreight'. Needs node and npm.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm install --silent --no-audit --no-fund --ignore-scripts \
  orval@8.38.0 typescript@5.9.3 @types/node@24.19.2
write() {
  cat >api.json <<JSON
{ "openapi": "3.1.0", "info": { "title": "orders", "version": "1" },
  "paths": { "/orders": { "post": { "operationId": "placeOrder",
    "requestBody": { "required": true, "content": { "application/json": { "schema": {
      "type": "object", "properties": { "Freight": $1, "freight": $1 } } } } },
    "responses": { "204": { "description": "placed" } } } } },
  "components": { "schemas": { "Cost": {
    "type": "object", "properties": { "amount": { "type": "number" } } } } } }
JSON
  echo "module.exports = { api: { input: 'api.json', output: { target: 'api.ts', client: 'fetch' } } };" \
    >orval.config.cjs
  npx orval --config orval.config.cjs >said
  grep -q 'has been converted' said
  npx tsc --noEmit --strict --skipLibCheck --target es2022 --module esnext \
    --moduleResolution bundler --types node api.ts || true
}
write '{ "type": "object", "properties": { "amount": { "type": "number" } } }' | tee seen
grep -q "TS2300: Duplicate identifier 'PlaceOrderBodyFreight'" seen
write '{ "$ref": "#/components/schemas/Cost" }' | tee named
[ ! -s named ]
