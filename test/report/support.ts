/** A data folder with the mirror of mirror.sql, and a folder for reports of one's own. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { type CliRun, selvedge } from '../cli/support.ts';
import { repositoryRoot } from '../support/source.ts';
import { placeDatabase } from '../support/store.ts';

export interface ReportHouse {
  readonly folder: string;
  readonly own: string;
  readonly config: string;
  report(...args: string[]): Promise<CliRun>;
  /** Writes a report of one's own. */
  write(name: string, head: string, sql: string): void;
}

export function reportHouse(folder: string, settings: readonly string[] = []): ReportHouse {
  const own = join(folder, 'reports');
  mkdirSync(own);
  const path = join(folder, 'data', 'mirror.db');
  placeDatabase(path);
  const database = new Database(path);
  database.exec(readFileSync(join(repositoryRoot, 'test/report/mirror.sql'), 'utf8'));
  database.close();
  const config = join(folder, 'selvedge.yaml');
  const lines = [
    `dataDir: ${join(folder, 'data')}`,
    'service: { v1: { baseUrl: http://127.0.0.1:9/api/v1, apiKey: { env: KEY } } }',
    ...settings,
  ];
  writeFileSync(config, lines.join('\n'));
  return {
    folder,
    own,
    config,
    report: (...args) => selvedge(['report', ...args, '--config', config], { KEY: 'key-4711' }),
    write: (name, head, sql) => writeFileSync(join(own, `${name}.sql`), `/*\n${head}\n*/\n${sql}`),
  };
}
