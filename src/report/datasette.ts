/** What Datasette shows beside a snapshot: descriptions, and the reports as queries. */
import type { Report } from './report-file.ts';
import { VIEWS } from './views.ts';

/** The `metadata.json` for a snapshot that is served under the name `database`. */
export function datasetteMetadata(database: string, reports: readonly Report[]): object {
  const tables = VIEWS.map(({ name, about, columns }) => [name, { description: about, columns }]);
  const queries = reports.map(({ name, title, about, sql, params }) => [
    name,
    {
      sql,
      title,
      ...(about === undefined ? {} : { description: about }),
      params: Object.keys(params),
    },
  ]);
  return {
    title: 'Selvedge',
    description: 'The mirror of stock, orders and deliveries, and what was decided.',
    databases: {
      [database]: { tables: Object.fromEntries(tables), queries: Object.fromEntries(queries) },
    },
  };
}
