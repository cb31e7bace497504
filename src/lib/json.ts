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

/** The object in a text of our own; empty where it is another value. Throws where it is no JSON. */
export function parseJsonObject(text: string): JsonObject {
  const value: JsonObject = JSON.parse(text);
  return isJsonObject(value) ? value : {};
}

/** The parsed value, or undefined when the text is not JSON. */
export function tryParseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/**
 * Brackets inside each other: SQLite reads no JSON that has more than 1,000 of them, and who writes
 * some thousands comes to the end of the stack.
 */
export const DEPTH_MAX = 256;

function bracketsIn(value: unknown): readonly object[] {
  const all: readonly unknown[] = value instanceof Object ? Object.values(value) : [];
  return all.filter((one) => one instanceof Object);
}

/** So many brackets stand inside each other that it is no data, and nothing could be done with. */
export function isTooDeep(value: unknown): boolean {
  let level = bracketsIn([value]);
  for (let depth = 1; level.length > 0; depth += 1) {
    if (depth > DEPTH_MAX) return true;
    level = level.flatMap(bracketsIn);
  }
  return false;
}

/** A copy with null for what is nested too deep. */
export function cutDeep(value: unknown, depth = 1): unknown {
  if (value === null || typeof value !== 'object') return value;
  if (depth > DEPTH_MAX) return null;
  if (Array.isArray(value)) return value.map((one) => cutDeep(one, depth + 1));
  const members = Object.entries(value);
  return Object.fromEntries(members.map(([name, one]) => [name, cutDeep(one, depth + 1)]));
}
