/** A configuration of a few settings, each by its path, laid over the shipped default. */
import { DEFAULT_FILE, readConfig } from '../../src/config/load.ts';
import { type Config, createSchema } from '../../src/config/schema.ts';
import { plainValue } from '../../src/config/source/tree.ts';
import { isJsonObject } from '../../src/lib/json.ts';
import { Secret } from '../../src/lib/secret.ts';

export interface Setting {
  /** Such as `local.port`. */
  readonly path: string;
  /** Value as it would be written; a secret as its text. */
  readonly value: unknown;
}

/** Reading it costs more than all the rest of a configuration, and it is the same for all. */
const DEFAULTS = plainValue(readConfig({ file: DEFAULT_FILE, env: {} }).tree);

const SCHEMA = createSchema({
  resolvePath: (written) => written,
  mayBeAbsent: () => false,
  // The value itself stands in the place of the file's name: see `written`.
  readSecret: (reference) =>
    reference.kind === 'file'
      ? { value: reference.file }
      : { problem: 'is no secret of a test', hint: 'give a Secret' },
  secretLoaded: () => undefined,
});

/** Secrets do not stand in a file: what is written is a reference. */
function written(value: unknown): unknown {
  if (value instanceof Secret) return { file: value.reveal() };
  if (Array.isArray(value)) return value.map(written);
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, written(one)]));
}

/** Lays a user's file over the default: maps member by member, anything else replaced whole. */
function laidOver(base: unknown, over: unknown): unknown {
  if (!isJsonObject(base) || !isJsonObject(over)) return over;
  const members = Object.entries(over).map(([name, one]) => [name, laidOver(base[name], one)]);
  return { ...base, ...Object.fromEntries(members) };
}

/** Later settings win. */
export function configOf(settings: readonly Setting[]): Config {
  const tree = settings.reduce<unknown>((base, { path, value }) => {
    const over = path.split('.').reduceRight<unknown>((inner, step) => ({ [step]: inner }), value);
    return laidOver(base, written(over));
  }, DEFAULTS);
  return SCHEMA.parse(tree);
}
