/**
 * Small file in the data folder by which a process tells others on this machine how it stands,
 * replaced as a whole.
 */
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { z } from 'zod';
import { tryParseJson } from '../json.ts';

export function statusFile<T>(name: string, schema: z.ZodType<T>) {
  return {
    write(dataDir: string, status: T): void {
      const file = join(dataDir, name);
      writeFileSync(`${file}.partial`, JSON.stringify(status), { mode: 0o640 });
      renameSync(`${file}.partial`, file);
    },
    /** Undefined: the process never ran here, or the file cannot be read. */
    read(dataDir: string): T | undefined {
      try {
        return schema.safeParse(tryParseJson(readFileSync(join(dataDir, name), 'utf8'))).data;
      } catch {
        return undefined;
      }
    },
  };
}
