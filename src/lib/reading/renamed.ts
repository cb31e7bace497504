/** Settings and commands that have another name now, or none (docs/internals/renamed.yaml). */
import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { z } from 'zod';

const FILE = new URL('../../../docs/internals/renamed.yaml', import.meta.url);

const successor = z.union([
  z.string(),
  z.null(),
  z.strictObject({ fixed: z.unknown() }),
  z.strictObject({ unused: z.string() }),
]);
const names = z.record(z.string(), successor);
const tables = z.object({ settings: names, commands: names, rule_settings: names });

export type Renamed = z.output<typeof names>;

/** Reads the renamed names; where the file is missing, there are none. */
function readRenamed(): z.output<typeof tables> {
  try {
    return tables.parse(parse(readFileSync(FILE, 'utf8')));
  } catch {
    return { settings: {}, commands: {}, rule_settings: {} };
  }
}

/** Settings of earlier versions, each with its present name or what became of it. */
export function renamedSettings(): Renamed {
  return readRenamed().settings;
}

/** Explains what became of a setting or command; undefined if no version had that name. */
export function renamedHint(of: keyof z.output<typeof tables>, name: string): string | undefined {
  const table = readRenamed()[of];
  if (!Object.hasOwn(table, name)) return undefined;
  const now = table[name];
  if (typeof now === 'string') return `"${name}" is now "${now}"`;
  if (now === null || now === undefined) return `"${name}" was removed`;
  const why = 'unused' in now ? now.unused : `it is a constant now (${String(now.fixed)})`;
  return `"${name}" was removed: ${why}`;
}
