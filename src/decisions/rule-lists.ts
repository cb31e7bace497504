/**
 * Fills lists of the rules from the ERP's customers. A source names one column for the values and
 * at most one true/false column that chooses the rows, so no text can become SQL. The contents are
 * part of the rule set: other contents give another hash.
 */
import { type RawBuilder, sql } from 'kysely';
import { ConfigError, isStoreUnusable, SelvedgeError, toError } from '../lib/errors.ts';
import { canonicalJson, sha256 } from '../lib/json.ts';
import { LISTS_FILE, refillLists } from '../rules/load.ts';
import type { ListsRead } from '../rules/settings.ts';
import type { ListSource } from '../rules/text/settings-schema.ts';
import type { Db } from '../store/store.ts';
import { type LoadedRuleSet, loadRuleSet } from './rule-files.ts';

/** Maximum of rows in a list; more rows belong in a table. */
const ROWS_MAX = 50_000;

const OWN_COLUMNS = ['account_no', 'currency'] as const;

function pathOf(column: string): string {
  return `$."${column}"`;
}

function isOwn(column: string): column is (typeof OWN_COLUMNS)[number] {
  return OWN_COLUMNS.some((name) => name === column);
}

/**
 * SQL: value of the column; columns that the ERP adds are members of `extra`, and only texts count.
 */
function columnValue(column: string) {
  if (isOwn(column)) return sql<string | null>`${sql.ref(column)}`;
  const path = pathOf(column);
  return sql<string | null>`iif(json_type(extra, ${path}) = 'text', extra->>${path}, null)`;
}

/** SQL: whether the true/false column chooses the row; without a column all rows are chosen. */
function chosenBy(column: string | undefined) {
  if (column === undefined) return sql<boolean>`true`;
  if (column === 'blocked') return sql<boolean>`blocked = 1`;
  if (column === 'overdue') return sql<boolean>`overdue_days > 0`;
  return sql<boolean>`extra->>${pathOf(column)} = 1`;
}

/** Finds a customer for whom the condition `isOdd` is true, with the odd value of that customer. */
async function invalidRow(db: Db, path: string, isOdd: RawBuilder<boolean>) {
  return db
    .selectFrom('erp_customer')
    .select(['account_no as account', sql<string>`substr(extra->${path}, 1, 80)`.as('value')])
    .where('deleted_at', 'is', null)
    .where(isOdd)
    .limit(1)
    .executeTakeFirst();
}

/** Names a customer that the list leaves out because the value is not a text; undefined: none. */
async function leftOut(db: Db, column: string, where: string | undefined) {
  if (isOwn(column)) return undefined;
  const path = pathOf(column);
  const isOdd = sql<boolean>`json_type(extra, ${path}) not in ('text', 'null')`;
  const row = await invalidRow(db, path, sql<boolean>`${chosenBy(where)} and ${isOdd}`);
  if (!row) return undefined;
  const what = `${column} of ${row.account} should be a text, it is ${row.value}`;
  const next = 'the ERP must write it in quotes in the extra of its erp_customer row';
  return `${what}: left out, as all such are; ${next}`;
}

/** Names a customer whose true/false column has another value; undefined: none. */
async function notChosen(db: Db, where: string | undefined) {
  if (where === undefined || where === 'blocked' || where === 'overdue') return undefined;
  const path = pathOf(where);
  const isOdd = sql<boolean>`json_type(extra, ${path}) not in ('true', 'false', 'null')
    and extra->>${path} not in (0, 1)`;
  const row = await invalidRow(db, path, isOdd);
  if (!row) return undefined;
  const what = `${where} of ${row.account} should be true or false, it is ${row.value}`;
  const next = 'the ERP must write it so, without quotes, in the extra of its erp_customer row';
  return `${what}: left out, as all such are; ${next}`;
}

/**
 * Error code for an ERP that has sent no customers yet: an empty list would say nothing about who
 * is blocked.
 */
const NO_CUSTOMERS = 'rules.list_empty';

function columnOf({ from }: ListSource): string {
  return from.slice('erp_customer.'.length);
}

/** Reads the values of a list in alphabetical order, each value once. */
async function readList(db: Db, list: string, source: ListSource): Promise<readonly string[]> {
  const [column, { where }] = [columnOf(source), source];
  const any = await db
    .selectFrom('erp_customer')
    .select('account_no')
    .where('deleted_at', 'is', null)
    .limit(1)
    .executeTakeFirst();
  // Without customers the list would be empty, and an empty list quietly blocks nobody.
  if (!any) throw new SelvedgeError(NO_CUSTOMERS, 'the ERP has sent no customers yet');
  const rows = await db
    .selectFrom('erp_customer')
    .select(columnValue(column).as('value'))
    .distinct()
    .where('deleted_at', 'is', null)
    .where(chosenBy(where))
    .where(sql<boolean>`${columnValue(column)} is not null`)
    .orderBy('value')
    .limit(ROWS_MAX + 1)
    .execute();
  if (rows.length <= ROWS_MAX) return rows.flatMap(({ value }) => (value === null ? [] : [value]));
  const message = `the list ${list} has more than ${ROWS_MAX} rows`;
  throw new ConfigError('rules.list_too_long', message, { hint: 'choose fewer of them by where:' });
}

export interface ListFailure {
  readonly list: string;
  readonly message: string;
}

interface Read {
  readonly lists: ListsRead;
  /**
   * Lists that could not be filled, which keep their former contents or are empty, and lists that
   * leave out values of the wrong kind.
   */
  readonly failed: readonly ListFailure[];
}

async function readLists(
  db: Db,
  sources: Readonly<Record<string, ListSource>>,
  before: ListsRead,
): Promise<Read> {
  const lists: Record<string, readonly string[]> = {};
  const failed: ListFailure[] = [];
  for (const [list, source] of Object.entries(sources)) {
    try {
      const values = await readList(db, list, source);
      const { where } = source;
      const message = (await leftOut(db, columnOf(source), where)) ?? (await notChosen(db, where));
      lists[list] = values;
      if (message !== undefined) failed.push({ list, message });
    } catch (thrown) {
      if (isStoreUnusable(thrown)) throw thrown;
      const had = before[list];
      // A list may stay empty only if the ERP has sent no customers: after a failed read an empty
      // list would let all customers through.
      const isEmpty = thrown instanceof SelvedgeError && thrown.code === NO_CUSTOMERS;
      if (had === undefined && !isEmpty) throw thrown;
      lists[list] = had ?? [];
      failed.push({ list, message: toError(thrown).message });
    }
  }
  return { lists, failed };
}

export interface FilledRuleSet extends LoadedRuleSet {
  readonly failed: readonly ListFailure[];
}

/** Contents of the rule set's lists that were read from the database. */
export function listsOf({ ruleSet }: LoadedRuleSet): ListsRead {
  const names = Object.keys(ruleSet.settings.list_sources);
  const { lists } = ruleSet.settings;
  return Object.fromEntries(names.map((name) => [name, (lists[name] ?? []).map(String)]));
}

/** Number of values and digest of each list that was read, for logs and records. */
export function listDigests(lists: ListsRead) {
  return Object.fromEntries(
    Object.entries(lists).map(([name, values]) => [
      name,
      { rows: values.length, digest: sha256(canonicalJson(values)).slice(0, 12) },
    ]),
  );
}

/**
 * Gives the same rules with the present contents of their lists, or `loaded` itself if it has these
 * contents. `before`: contents that a list keeps if it cannot be read.
 */
export async function fillLists(
  db: Db,
  loaded: LoadedRuleSet,
  before: ListsRead,
): Promise<FilledRuleSet> {
  const { list_sources: sources } = loaded.ruleSet.settings;
  if (Object.keys(sources).length === 0) return { ...loaded, failed: [] };
  const { lists, failed } = await readLists(db, sources, before);
  const text = canonicalJson(lists);
  if (loaded.files.some((file) => file.path === LISTS_FILE && file.text === text)) {
    return { ...loaded, failed };
  }
  const written = loaded.files.filter(({ path }) => path !== LISTS_FILE);
  const files = [...written, { path: LISTS_FILE, text }];
  return { ruleSet: refillLists(loaded.ruleSet, lists), files, failed };
}

/** Loads the rules of a directory and fills their lists from this database. */
export async function loadFilledRuleSet(db: Db, directory: string): Promise<FilledRuleSet> {
  return fillLists(db, loadRuleSet(directory), {});
}
