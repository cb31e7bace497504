/** Settings and commands that have another name now, or none (docs/internals/renamed.yaml). */
import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { z } from 'zod';

const FILE = new URL('../../docs/internals/renamed.yaml', import.meta.url);

const successor = z.union([z.string(), z.null(), z.strictObject({ fixed: z.unknown() })]);
const tables = z.object({
  settings: z.record(z.string(), successor),
  commands: z.record(z.string(), successor),
});

type RenamedTables = z.output<typeof tables>;

/**
 * Reads the renamed names, for an error message only; where the file is missing, the message goes
 * without them.
 */
function readRenamed(): RenamedTables {
  try {
    return tables.parse(parse(readFileSync(FILE, 'utf8')));
  } catch {
    return { settings: {}, commands: {} };
  }
}

/** Explains what became of a setting or command; undefined if no version had that name. */
export function renamedHint(of: keyof RenamedTables, name: string): string | undefined {
  const table = readRenamed()[of];
  if (!Object.hasOwn(table, name)) return undefined;
  const now = table[name];
  if (typeof now === 'string') return `"${name}" is now "${now}"`;
  return now === null || now === undefined
    ? `"${name}" was removed`
    : `"${name}" was removed: it is a constant now (${String(now.fixed)})`;
}
