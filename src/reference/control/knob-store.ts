/**
 * Keeps the knobs as they were given (by a file, flags, control requests) and as they are in
 * effect. Given values are kept apart from the defaults, so that a patch can take one back by
 * setting it to null.
 */
import type { z } from 'zod';
import { ConfigError } from '../../lib/errors.ts';
import { isJsonObject } from '../../lib/json.ts';
import { nearestName } from '../../lib/nearest.ts';
import { type Knobs, knobsSchema } from './knobs.ts';

type KnobListener = (knobs: Knobs, before: Knobs) => void;

export interface KnobStore {
  /** Values of the knobs that are in effect. */
  current(): Knobs;
  /**
   * Merges a change (JSON merge patch, RFC 7396) into the given values; all of it takes effect, or
   * nothing.
   */
  patch(change: Record<string, unknown>): Knobs;
  /** Calls the listener after each change, for parts that cannot read the knobs at each use. */
  onChange(listener: KnobListener): void;
}

function merged(
  base: Record<string, unknown>,
  change: Record<string, unknown>,
): Record<string, unknown> {
  const out: Record<string, unknown> = { ...base };
  for (const [name, value] of Object.entries(change)) {
    const before = out[name];
    if (value === null) delete out[name];
    else if (isJsonObject(value)) out[name] = merged(isJsonObject(before) ? before : {}, value);
    else out[name] = value;
  }
  return out;
}

/** Names of the knobs in a group, for "did you mean". */
function namesAt(path: readonly PropertyKey[]): string[] {
  let value: unknown = knobsSchema.parse({});
  for (const step of path) value = isJsonObject(value) ? value[String(step)] : undefined;
  return isJsonObject(value) ? Object.keys(value) : [];
}

function problemOf(issue: z.core.$ZodIssue): string {
  const path = issue.path.join('.');
  if (issue.code !== 'unrecognized_keys') return `${path}: ${issue.message}`;
  return issue.keys
    .map((key) => {
      const nearest = nearestName(key, namesAt(issue.path));
      const name = [...issue.path, key].join('.');
      return `${name}: no such knob${nearest ? `, did you mean ${nearest}?` : ''}`;
    })
    .join('; ');
}

/** Parses knobs; throws a {@link ConfigError} that names each problem with its path. */
export function parseKnobs(given: unknown): Knobs {
  const parsed = knobsSchema.safeParse(given ?? {});
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues.map(problemOf).join('; ');
  throw new ConfigError('reference.knobs', `The knobs are wrong: ${problems}`, {
    hint: 'docs/internals/reference-service.md lists every knob',
  });
}

export function createKnobStore(given: Record<string, unknown>): KnobStore {
  let kept = given;
  let knobs = parseKnobs(given);
  const listeners: KnobListener[] = [];
  const replace = (next: Record<string, unknown>): Knobs => {
    const before = knobs;
    knobs = parseKnobs(next);
    kept = next;
    for (const listener of listeners) listener(knobs, before);
    return knobs;
  };
  return {
    current: () => knobs,
    patch: (change) => replace(merged(kept, change)),
    onChange(listener) {
      listeners.push(listener);
    },
  };
}
