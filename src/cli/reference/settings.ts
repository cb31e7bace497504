/** Knobs of a `selvedge reference` call: a file, then flags, then single settings on top. */
import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { ConfigError, toError } from '../../lib/errors.ts';
import { isJsonObject } from '../../lib/json.ts';
import { createKnobStore } from '../../reference/control/knob-store.ts';
import type { Knobs } from '../../reference/control/knobs.ts';

export interface KnobFlags {
  readonly knobs?: string;
  readonly set: readonly string[];
  readonly seed?: number;
  readonly brands?: number;
  readonly styles?: number;
  readonly strict?: boolean;
}

function readKnobFile(file: string): Record<string, unknown> {
  try {
    const knobs: unknown = parse(readFileSync(file, 'utf8'));
    if (isJsonObject(knobs)) return knobs;
    throw new Error('it must hold names and values');
  } catch (thrown) {
    throw new ConfigError('reference.knob_file', `${file}: ${toError(thrown).message}`, {
      hint: 'the file is YAML, for example:  life: { ordersPerMinute: 60 }',
      cause: thrown,
    });
  }
}

function yamlOf(setting: string, text: string): unknown {
  try {
    return parse(text);
  } catch (cause) {
    const problem = toError(cause).message.split('\n')[0];
    throw new ConfigError('reference.setting', `--set ${setting}: ${problem}`, { cause });
  }
}

/** Reads a knob such as `life.packAfter=2s`. The value is YAML: 5, true, "text". */
function patchOf(setting: string): Record<string, unknown> {
  const at = setting.indexOf('=');
  if (at < 1) {
    throw new ConfigError('reference.setting', `--set ${setting}: no value`, {
      hint: 'write --set life.packAfter=2s',
    });
  }
  const value = yamlOf(setting, setting.slice(at + 1));
  const path = setting.slice(0, at).split('.');
  return path.reduceRight<Record<string, unknown>>(
    (inner, name, index) => ({ [name]: index === path.length - 1 ? value : inner }),
    {},
  );
}

/** Combines all knobs of a call; throws a ConfigError that names each wrong one. */
export function knobsOf(flags: KnobFlags): Knobs {
  const store = createKnobStore({});
  if (flags.knobs !== undefined) store.patch(readKnobFile(flags.knobs));
  const world = { seed: flags.seed, brands: flags.brands, styles: flags.styles };
  for (const [name, value] of Object.entries(world)) {
    if (value !== undefined) store.patch({ world: { [name]: value } });
  }
  if (flags.strict === true) store.patch({ strict: true });
  for (const setting of flags.set) store.patch(patchOf(setting));
  return store.current();
}
