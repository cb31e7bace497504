/** A configuration of a few settings, each by its path: what is written in a file, and read. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { requireConfig } from '../../src/config/load.ts';
import type { Config } from '../../src/config/schema.ts';
import { isJsonObject } from '../../src/lib/json.ts';
import { Secret } from '../../src/lib/secret.ts';

export interface Setting {
  /** Such as `local.port`. */
  readonly path: string;
  /** As it would be written; a secret by its value. */
  readonly value: unknown;
}

/** Secrets do not stand in a file: their values go into the environment. */
function written(value: unknown, env: Record<string, string>): unknown {
  if (value instanceof Secret) {
    const name = `SECRET_${Object.keys(env).length}`;
    env[name] = value.reveal();
    return { env: name };
  }
  if (Array.isArray(value)) return value.map((item) => written(item, env));
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, written(one, env)]));
}

function laidOver(base: unknown, [step, ...rest]: readonly string[], value: unknown): unknown {
  if (step === undefined) return value;
  const members = isJsonObject(base) ? base : {};
  return { ...members, [step]: laidOver(members[step], rest, value) };
}

/** Later settings win. Nothing is left of the file. */
export function configOf(settings: readonly Setting[]): Config {
  const env: Record<string, string> = {};
  const tree = settings.reduce<unknown>(
    (base, { path, value }) => laidOver(base, path.split('.'), written(value, env)),
    {},
  );
  const folder = mkdtempSync(join(tmpdir(), 'selvedge-config-'));
  try {
    const file = join(folder, 'selvedge.yaml');
    writeFileSync(file, JSON.stringify(tree));
    return requireConfig({ file, env }).config;
  } finally {
    rmSync(folder, { recursive: true });
  }
}
