/** Version of Selvedge, from package.json. */
import { readFileSync } from 'node:fs';
import { isJsonObject, tryParseJson } from '../lib/json.ts';

export function version(): string {
  const manifest = new URL('../../package.json', import.meta.url);
  const parsed = tryParseJson(readFileSync(manifest, 'utf8'));
  return isJsonObject(parsed) ? String(parsed.version) : 'unknown';
}
