/**
 * Runs a shipped report on the plane, the copy of several accounts in PostgreSQL: for one account
 * at a time, so that its SQL needs no condition on accounts. Each table and view that the SQL names
 * is replaced by its rows of that account; PostgreSQL inlines the condition as if it were typed
 * there. The rows of several accounts follow each other.
 */
import { RefusedError, UsageError } from '../lib/errors.ts';
import { nearestName } from '../lib/nearest.ts';
import type { ParameterValues } from './parameters.ts';
import type { Rows } from './pivot.ts';
import type { Cell, RowSink } from './query.ts';
import type { Report } from './report-file.ts';

/** Read-only session with PostgreSQL in the plane's schema, which sees one moment. */
export interface PlaneReader {
  query(text: string, params?: readonly Cell[]): Promise<Rows>;
}

export interface PlaneQuery {
  readonly params: Report['params'];
  /** SQL of the report for the plane, from planeSqlOf. */
  readonly sql: string;
  readonly values: ParameterValues;
  /** Account whose rows are wanted; null: those of all, each row with its account in front. */
  readonly account: string | null;
  /** Most rows of the result; the others are left out. */
  readonly rowsMax: number;
}

const ACCOUNT = 'account';

/** The report for all accounts at once: each row begins with its account. */
export function reportOfAll(report: Report): Report {
  const { pivot, formats } = report;
  return {
    ...report,
    formats: { [ACCOUNT]: 'text', ...formats },
    ...(pivot && { pivot: { ...pivot, rows: [ACCOUNT, ...pivot.rows] } }),
  };
}

interface Statement {
  readonly text: string;
  readonly params: readonly Cell[];
}

/** SQL and parameters for one account; `relations`: all tables and views of the plane. */
function statementOf(
  { params: known, sql: text, values, rowsMax }: PlaneQuery,
  account: string,
  relations: readonly string[],
): Statement {
  const params: Cell[] = [account];
  const places = new Map<string, string>();
  const placeOf = (name: string): string => {
    const found = places.get(name);
    if (found !== undefined) return found;
    params.push(values[name] ?? null);
    const place = `$${params.length}::${known[name]?.type === 'text' ? 'text' : 'bigint'}`;
    places.set(name, place);
    return place;
  };
  const sql = text
    .replace(/;\s*$/, '')
    .replace(/(?<!:):([a-z][a-z0-9_]*)/g, (_, name: string) => placeOf(name));
  const words = new Set(sql.match(/[a-z_][a-z0-9_]*/g));
  const own = relations
    .filter((name) => words.has(name))
    .map((name) => `${name} AS NOT MATERIALIZED (SELECT * FROM ${name} WHERE account = $1)`)
    .join(',\n');
  const whole = /^WITH\s/.test(sql) ? `WITH ${own},\n${sql.slice(5)}` : `WITH ${own}\n${sql}`;
  const isLimited = /\sLIMIT\s+\S+$/.test(whole);
  return { text: isLimited ? whole : `${whole}\nLIMIT ${rowsMax + 1}`, params };
}

function texts({ rows }: Rows): string[] {
  return rows.map(([name]) => String(name));
}

async function accountsFor(reader: PlaneReader, account: string | null): Promise<string[]> {
  const all = texts(await reader.query('SELECT account FROM plane_cursor ORDER BY account'));
  if (account === null && all.length > 0) return all;
  if (account !== null && all.includes(account)) return [account];
  if (all.length === 0) {
    throw new RefusedError('report.empty_plane', 'nothing is copied to the plane yet', {
      hint: '"selvedge plane status" says why',
    });
  }
  const near = account === null ? undefined : nearestName(account, all);
  throw new UsageError('report.unknown_account', `the plane has no account ${account}`, {
    hint: near === undefined ? `it has ${all.join(', ')}` : `did you mean ${near}?`,
  });
}

/**
 * Runs the report on the plane, account by account, in the transaction of the session, and tells
 * whether rows beyond `rowsMax` were left out.
 */
export async function runOnPlane(
  reader: PlaneReader,
  query: PlaneQuery,
  sink: RowSink,
): Promise<{ readonly isCut: boolean }> {
  const { account, rowsMax } = query;
  const ofAll = account === null;
  const relations = texts(
    await reader.query(
      // Lists tables that may not be read, too, so that PostgreSQL reports that.
      `SELECT relname FROM pg_class
       WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'v')`,
    ),
  );
  let rows = 0;
  let isCut = false;
  for (const [index, one] of (await accountsFor(reader, account)).entries()) {
    const { text, params } = statementOf(query, one, relations);
    const found = await reader.query(text, params);
    if (index === 0) sink.columns(ofAll ? [ACCOUNT, ...found.columns] : found.columns);
    const kept = found.rows.slice(0, rowsMax - rows);
    for (const row of kept) sink.row(ofAll ? [one, ...row] : row);
    rows += kept.length;
    isCut ||= kept.length < found.rows.length;
  }
  return { isCut };
}
