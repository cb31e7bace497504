/** Rows of queries and reports, brought into shapes that compare, and the page of everyday SQL. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { repositoryRoot } from '../support/source.ts';

export type Row = Readonly<Record<string, string | number | null>>;

export function sorted(rows: readonly unknown[]): string[] {
  return rows.map((row) => JSON.stringify(row)).sort();
}

export function pick(rows: readonly Row[], ...names: string[]) {
  return rows.map((row) => names.map((name) => row[name] ?? null));
}

/** Sums of numbers by what the rows share, as the SQL groups them; amounts to the cent. */
export function sums(rows: readonly Row[], by: readonly string[], ...values: string[]) {
  const groups = Map.groupBy(rows, (row) => JSON.stringify(by.map((name) => row[name] ?? null)));
  return [...groups.values()].map((members) => [
    ...by.map((name) => members[0]?.[name] ?? null),
    ...values.map((name) => {
      const cents = members.reduce((sum, row) => sum + Math.round(Number(row[name] ?? 0) * 100), 0);
      return cents / 100;
    }),
  ]);
}

const STATEMENT = /\n([^\n]+):\n\n```sql everyday\n([^`]*)```/g;

/** Each question of the page of everyday SQL, with the statement below it. */
export function everydayQuestions(): { readonly question: string; readonly sql: string }[] {
  const page = readFileSync(join(repositoryRoot, 'docs/everyday-sql.md'), 'utf8');
  const found = [...page.matchAll(STATEMENT)];
  return found.map(([, question = '', sql = '']) => ({ question, sql: sql.trim() }));
}
