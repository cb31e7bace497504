import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { isJsonObject } from '../../../src/lib/json.ts';
import { faultSchema } from '../../../src/reference/control/fault-knobs.ts';
import { parseKnobs } from '../../../src/reference/control/knob-store.ts';
import { repositoryRoot } from '../../support/source.ts';

const page = readFileSync(join(repositoryRoot, 'docs/internals/reference-service.md'), 'utf8');

/** Knob → default, as the tables of the page have it. */
const documented = new Map(
  [...page.matchAll(/^\| `([\w.[\]]+)` \| (?:`([^`]+)` )?\|/gm)].map((match) => [
    match[1] ?? '',
    match[2],
  ]),
);

/** `group.name` → default. */
function defaults(): Map<string, unknown> {
  const out = new Map<string, unknown>();
  for (const [group, value] of Object.entries(parseKnobs({}))) {
    if (isJsonObject(value)) {
      for (const [name, inner] of Object.entries(value)) out.set(`${group}.${name}`, inner);
    } else if (!Array.isArray(value)) out.set(group, value);
  }
  for (const [name, value] of Object.entries(faultSchema.parse({ kind: 'drip' }))) {
    out.set(`faults[].${name}`, value);
  }
  return out;
}

function withKnob(path: string, value: unknown): unknown {
  const [group = '', name] = path.split('.');
  if (name === undefined) return parseKnobs({ [group]: value })[pick(group)];
  if (group === 'faults[]') {
    const fault: Record<string, unknown> = faultSchema.parse({ kind: 'drip', [name]: value });
    return fault[name];
  }
  const knobs: Record<string, unknown> = parseKnobs({ [group]: { [name]: value } });
  const inner = knobs[group];
  return isJsonObject(inner) ? inner[name] : undefined;
}

function pick(name: string): 'strict' {
  if (name !== 'strict') throw new RangeError(`${name} is a group`);
  return name;
}

describe('docs/internals/reference-service.md', () => {
  it('has every knob, and no other', () => {
    const keys = ['name', 'kind', 'detailedPricing', 'readOnly', 'webhooks'];
    const secrets = ['clientId', 'clientSecret'];
    const known = [...defaults().keys(), ...[...keys, ...secrets].map((name) => `keys[].${name}`)];
    expect([...documented.keys()].sort()).toEqual(known.sort());
    expect(Object.keys(parseKnobs({}).keys[0] ?? {}).sort()).toEqual(keys.sort());
  });

  it.each([...defaults()])('has the default of %s', (knob, value) => {
    const text = documented.get(knob);
    if (knob === 'faults[].kind') return;
    expect(text).toBeDefined();
    expect(withKnob(knob, parse(text ?? ''))).toEqual(value);
  });
});
