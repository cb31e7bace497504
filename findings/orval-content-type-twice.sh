#!/usr/bin/env bash
# orval 8.38.0, client fetch: a generated function adds Content-Type: application/json to a plain
# object of headers. Names of headers have no case, but the object has: with one in small letters
# from the caller it holds both, and fetch joins them to a media type that does not exist.
# Seen: application/json, application/json. Needs node and npm.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm install --silent --no-audit --no-fund --ignore-scripts \
  orval@8.38.0 typescript@5.9.3 @types/node@24.19.2
cat >api.json <<'JSON'
{ "openapi": "3.1.0", "info": { "title": "orders", "version": "1" },
  "paths": { "/orders": { "post": { "operationId": "placeOrder",
    "requestBody": { "required": true, "content": { "application/json": { "schema": {
      "type": "object", "properties": { "barcode": { "type": "string" } } } } } },
    "responses": { "204": { "description": "placed" } } } } } }
JSON
echo "module.exports = { api: { input: 'api.json', output: { target: 'api.ts', client: 'fetch' } } };" \
  >orval.config.cjs
npx orval --config orval.config.cjs >said
npx tsc --skipLibCheck --target es2022 --module commonjs --moduleResolution node10 \
  --types node api.ts
cat >use.cjs <<'JS'
const { placeOrder } = require('./api.js');
globalThis.fetch = async (_at, { headers }) => {
  console.log(new Headers(headers).get('content-type'));
  return new Response(null, { status: 204 });
};
(async () => {
  for (const name of ['content-type', 'Content-Type']) {
    await placeOrder({ barcode: '1' }, { headers: { [name]: 'application/json' } });
  }
})();
JS
node use.cjs | tee seen
[ "$(cat seen)" = "$(printf 'application/json, application/json\napplication/json')" ]
