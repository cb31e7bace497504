/**
 * Writes Kysely's view of the schema, `src/store/tables/generated.ts`, from the migrations: a part
 * of `npm run references`. A column whose CHECK lists its values has the type of these values.
 */
import Database from 'better-sqlite3';

const HEAD = `/**
 * Kysely's view of the schema. Generated from the migrations (npm run references), not by hand.
 * Amounts and percentages are integers of ten-thousandths (lib/money.ts).
 */
import type { Generated } from 'kysely';
`;

const TYPES: Readonly<Record<string, string>> = {
  INTEGER: 'number',
  REAL: 'number',
  TEXT: 'string',
  BLOB: 'Buffer',
};

/** Types that no CHECK tells, or that other parts of the program name. */
const OWN: Readonly<Record<string, string>> = {
  // A run is never skipped any more.
  'sync_run.outcome': "'running' | 'complete' | 'partial' | 'suspicious' | 'failed'",
  'decision.said': "'accept' | 'hold' | 'reject' | 'release' | 'no_rule'",
  'evaluation.due_why': "'manual'",
  'stream_state.requested': "'run' | 'full'",
  'stream_state.unlisted': "'zero'",
};

/** Views, of which SQLite knows no nulls: columns as those of tables, or by themselves. */
const VIEWS: Readonly<Record<string, string>> = {
  claim_of: 'extends ClaimTable {}',
  decision_waits: `{
  decision_id: number;
  outcome: DecisionTable['outcome'];
  waits: number;
}`,
  event_coverage: `{
  order_delivery_id: number;
  order_id: number;
  at: number;
  created_at: number | null;
  by_event: number;
  since: number | null;
  announced: number;
}`,
  feed_day: `{
  day: string;
  ends_at: number;
}`,
  line_article: `{
  order_delivery_id: number;
  pieces: number | null;
  tariff_no: string | null;
  origin: string | null;
  weight: number | null;
}`,
  order_currency: `{
  order_id: number;
  currency: string | null;
}`,
  season_variant: "extends Omit<SeasonVariantRowTable, 'extra_id' | 'unread'> {}",
  stock_variant: "extends Omit<StockVariantRowTable, 'extra_id' | 'unread'> {}",
};

const LINE_CHARS = 100;

interface Column {
  readonly name: string;
  readonly type: string;
  readonly notnull: number;
  readonly dflt_value: string | null;
  readonly pk: number;
}

function nameOf(table: string): string {
  const words = table.split('_').map((word) => `${word.slice(0, 1).toUpperCase()}${word.slice(1)}`);
  return `${words.join('')}Table`;
}

/** Values of columns by the CHECKs in a table's statement. */
function listedIn(statement: string): ReadonlyMap<string, string> {
  const checks = statement.matchAll(/\b(\w+) IN \(\s*('[^)]*')\s*\)/g);
  return new Map(
    [...checks].map(([, name = '', list = '']) => [name, list.split(/,\s*/).join(' | ')]),
  );
}

function isAutoincrement(statement: string, name: string): boolean {
  return new RegExp(`\\b${name} .*AUTOINCREMENT`).test(statement);
}

function memberOf(table: string, statement: string, column: Column): string {
  const { name, type, notnull, dflt_value, pk } = column;
  const own = OWN[`${table}.${name}`] ?? listedIn(statement).get(name);
  const isNull = notnull === 0 && pk === 0 ? ' | null' : '';
  const value = `${own ?? TYPES[type] ?? 'unknown'}${isNull}`;
  const isNumbered = pk > 0 && (name === 'id' || isAutoincrement(statement, name));
  if (dflt_value === null && !isNumbered) return `  ${name}: ${value};`;
  const line = `  ${name}: Generated<${value}>;`;
  // Longer lines are broken as the formatter does.
  return line.length <= LINE_CHARS ? line : `  ${name}: Generated<\n    ${value}\n  >;`;
}

/** The text of the file, of a migrated database. */
export function tableTypes(path: string): string {
  const database = new Database(path, { readonly: true });
  const all = database
    .prepare<[], { name: string; type: string; sql: string }>(
      `select name, type, sql from sqlite_schema where type in ('table', 'view')
       and name not like 'sqlite_%' and name not glob 'v_*' order by name`,
    )
    .all();
  const shapes = all.map(({ name, type, sql }) => {
    if (type === 'view') return `interface ${nameOf(name)} ${VIEWS[name] ?? 'unknown'}`;
    const columns = database.prepare<[], Column>(`pragma table_info(${name})`).all();
    const members = columns.map((column) => memberOf(name, sql, column));
    return `interface ${nameOf(name)} {\n${members.join('\n')}\n}`;
  });
  database.close();
  const tables = all.map(({ name }) => `  ${name}: ${nameOf(name)};`);
  return `${HEAD}\n${shapes.join('\n\n')}\n\nexport interface Tables {\n${tables.join('\n')}\n}\n`;
}
