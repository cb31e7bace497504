/** JSON with one spelling: what is hashed or compared must not depend on the order of members. */
import { hash } from 'node:crypto';

export type Json = null | boolean | number | string | readonly Json[] | JsonObject;
export interface JsonObject {
  readonly [member: string]: Json | undefined;
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (value === null || typeof value !== 'object') return value;
  const out: Record<string, unknown> = {};
  for (const [name, member] of Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))) {
    if (member !== undefined) out[name] = sorted(member);
  }
  return out;
}

/** Members in code-unit order, `undefined` left out, no white space. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(sorted(value));
}

/** Lower-case hex SHA-256 of a text or of bytes. */
export function sha256(data: string | Uint8Array): string {
  return hash('sha256', data, 'hex');
}

export function isJsonObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The parsed value, or undefined when the text is not JSON. */
export function tryParseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
