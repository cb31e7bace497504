/** Notes each statement that this process asks of a database, with what it was first asked with. */
import Database from 'better-sqlite3';
import { onTestFinished } from 'vitest';
import type { Asked } from './walks.ts';

type Ask = (this: Database.Statement, ...parameters: unknown[]) => unknown;

/** Comment in a statement that the test asks for itself. */
export const OF_THE_TEST = '/* of the test */';

const WAYS = ['all', 'get', 'iterate', 'run'] as const;

/** Statements by their text, of databases in files of this name; until the test has finished. */
export function noteStatements(name: string): ReadonlyMap<string, Asked> {
  const noted = new Map<string, Asked>();
  const database = new Database(':memory:');
  const common: Record<string, Ask> = Object.getPrototypeOf(database.prepare('select 1'));
  database.close();
  for (const way of WAYS) {
    const own = common[way];
    if (!own) throw new TypeError(`a statement has no ${way}`);
    common[way] = function ask(...parameters) {
      const isOurs = this.source.includes(OF_THE_TEST);
      if (!isOurs && !noted.has(this.source) && this.database.name.endsWith(name)) {
        noted.set(this.source, { sql: this.source, parameters });
      }
      return own.apply(this, parameters);
    };
    onTestFinished(() => {
      common[way] = own;
    });
  }
  return noted;
}
