#!/usr/bin/env bash
# openapi-zod-client 1.18.3: a text with two patterns (allOf) and a length, as zod itself writes one
# of two regular expressions, becomes z.unknown().and(z.unknown()).max(9): both patterns and the type
# are lost, TypeScript refuses the code, and loading it throws. With one pattern it is right.
# Seen: z.unknown(...).and(...).max is not a function. Needs node and npm.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm install --silent --no-audit --no-fund --ignore-scripts \
  openapi-zod-client@1.18.3 @zodios/core@10.9.6 zod@3.25.76 axios@1.7.9 typescript@5.9.3
load() {
  cat >api.json <<JSON
{ "openapi": "3.1.0", "info": { "title": "orders", "version": "1" },
  "paths": { "/orders": { "post": { "operationId": "placeOrder",
    "requestBody": { "required": true, "content": { "application/json": { "schema": {
      "type": "object", "required": ["code"],
      "properties": { "code": { "type": "string", "maxLength": 9, $1 } } } } } },
    "responses": { "200": { "description": "placed", "content": { "application/json": {
      "schema": { "type": "object", "properties": { "id": { "type": "integer" } } } } } } } } } } }
JSON
  npx openapi-zod-client api.json -o api.ts >said
  npx tsc --skipLibCheck --target es2022 --module commonjs --moduleResolution node10 api.ts >refused ||
    true
  node -e "try { require('./api.js'); console.log('loaded') } catch (e) { console.log(e.message) }"
}
load '"allOf": [{ "pattern": "^[A-Z]" }, { "pattern": "[0-9]$" }]' | tee seen
grep -qF '.max is not a function' seen
load '"pattern": "^[A-Z].*[0-9]$"' | tee one
grep -qx loaded one
