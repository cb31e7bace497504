/**
 * Loads `settings.yaml`: modes, calendar, safeguards, and the lists and tables that conditions
 * name.
 */
import { isScalar } from 'yaml';
import { compareExact, Decimal, parseDecimal } from './cel/decimal.ts';
import { type ElementType, type SetTypes, setVariables } from './cel/environment.ts';
import type { CelContext } from './facts/build.ts';
import { tableOn } from './table-tree.ts';
import { hasDays, type LoadedTable, readTable } from './tables.ts';
import { checkShape } from './text/check.ts';
import type { Problem } from './text/problem.ts';
import {
  type ListSource,
  SETTINGS_FILE,
  type Settings,
  type SettingsFile,
  type TableFile,
} from './text/settings-schema.ts';
import type { RuleFile, YamlPath, YamlSource } from './text/yaml.ts';

export interface LoadedSettings {
  readonly settings: Settings;
  readonly types: SetTypes;
  /** Tables that are CSV files, by name. */
  readonly tables: LoadedTables;
  readonly variables: (nowMs: number) => CelContext;
  /** Whether a mistake keeps lists or tables from being known, so that no rule can be judged. */
  readonly isLacking?: boolean;
  /** Gives `lists` and `tables` as tests see them: lists from the database have their samples. */
  readonly samples: (nowMs: number) => CelContext;
}

/** Contents of the lists that are read from the database, by list name. */
export type ListsRead = Readonly<Record<string, readonly string[]>>;

export type LoadedTables = ReadonlyMap<string, LoadedTable>;

/** Canonical JSON of the tables, for hashes of what contains them. */
export function textsOf(tables: LoadedTables): ReadonlyMap<unknown, string> {
  return new Map([...tables.values()].map(({ table, json }) => [table, json]));
}

/** Default settings of a rule set without a `settings.yaml`. */
export function emptySettings(): LoadedSettings {
  const tables = new Map();
  return build(fill(SETTINGS_FILE.parse({ version: 1 }), undefined, tables), tables, undefined, []);
}

/** Loads the settings; tables that are the same as `before` are taken from there. */
export function loadSettings(
  source: YamlSource,
  problems: Problem[],
  read: ListsRead | undefined,
  files: readonly RuleFile[],
  before: LoadedTables,
): LoadedSettings {
  const checked = checkShape(source, SETTINGS_FILE);
  if ('problems' in checked) problems.push(...checked.problems);
  const value = 'value' in checked ? checked.value : withoutUnknown(source);
  if (value === undefined) return { ...emptySettings(), isLacking: true };
  checkSources(value, source, problems);
  const tables = readTables(value, source, { files, before }, problems);
  const isLacking =
    tables.size < Object.values(value.tables).filter(isTableFile).length ||
    [...tables.values()].some(({ isUnread }) => isUnread);
  return { ...build(fill(value, read, tables), tables, source, problems), isLacking };
}

/** Settings without the keys that nothing knows; undefined: they have other mistakes. */
function withoutUnknown({ value }: YamlSource): SettingsFile | undefined {
  return SETTINGS_FILE.strip().safeParse(value).data;
}

/** Fills the lists that come from the database; a list that was not read gets its sample. */
function fill(
  { lists, tables, ...rest }: SettingsFile,
  read: ListsRead | undefined,
  loaded: LoadedTables,
): Settings {
  const filled: Record<string, readonly Cell[]> = {};
  const sources: Record<string, ListSource> = {};
  for (const [name, list] of Object.entries(lists)) {
    if ('from' in list) sources[name] = list;
    filled[name] = 'from' in list ? (read?.[name] ?? list.sample) : list;
  }
  const inline: Record<string, Readonly<Record<string, Cell>>> = {};
  for (const [name, table] of Object.entries(tables)) {
    if (!isTableFile(table)) inline[name] = table;
  }
  const lists_and_tables = { lists: filled, list_sources: sources, tables: inline };
  const files = [...loaded].map(([name, { table }]) => [name, table] as const);
  return { ...rest, ...lists_and_tables, table_files: Object.fromEntries(files) };
}

function isTableFile(table: SettingsFile['tables'][string]): table is TableFile {
  return 'keys' in table && Array.isArray(table.keys);
}

function readTables(
  { tables }: SettingsFile,
  source: YamlSource,
  from: { readonly files: readonly RuleFile[]; readonly before: LoadedTables },
  problems: Problem[],
): LoadedTables {
  const { files, before } = from;
  const read = new Map<string, LoadedTable>();
  for (const [name, spec] of Object.entries(tables)) {
    if (!isTableFile(spec)) continue;
    const file = files.find(({ path }) => path === spec.file);
    if (file) {
      const loaded = readTable(spec, file, before.get(name));
      read.set(name, loaded);
      problems.push(...loaded.problems);
      continue;
    }
    const [start = 0, end = 0] = source.nodeAt(['tables', name, 'file'])?.range ?? [];
    const message = `there is no file ${spec.file} beside the rules`;
    const there = files.map(({ path }) => path).filter((path) => path.endsWith('.csv'));
    const hint = there.length === 0 ? undefined : `there is: ${there.join(', ')}`;
    problems.push(source.problem(start, end, { message, hint }));
  }
  return read;
}

/** Columns of the ERP's customers that can fill a list, and those that can choose its rows. */
function listColumns({ customer_fields: fields }: Pick<Settings, 'customer_fields'>) {
  const ofType = (type: string): string[] =>
    Object.entries(fields).flatMap(([name, word]) => (word === type ? [name] : []));
  return {
    from: ['account_no', 'currency', ...ofType('text')],
    where: ['blocked', 'overdue', ...ofType('true/false')],
  };
}

function checkSources(file: SettingsFile, source: YamlSource, problems: Problem[]): void {
  const known = listColumns(file);
  for (const [name, list] of Object.entries(file.lists)) {
    if (!('from' in list)) continue;
    const asked = { from: list.from.slice('erp_customer.'.length), where: list.where };
    for (const key of ['from', 'where'] as const) {
      const column = asked[key];
      if (column === undefined || known[key].includes(column)) continue;
      const [start = 0, end = 0] = source.nodeAt(['lists', name, key])?.range ?? [];
      const message = `${column} is no ${key === 'from' ? 'text' : 'true/false'} of erp_customer`;
      const hint = `possible: ${known[key].join(', ')}`;
      problems.push(source.problem(start, end, { message, hint }));
    }
  }
}

type Cell = string | number | boolean;

function typeOfCell(cell: Cell): ElementType {
  if (typeof cell === 'number') return 'Decimal';
  return typeof cell === 'boolean' ? 'bool' : 'string';
}

/** Exact value of a number as written: 0.1 is one tenth, not a binary fraction. */
function cellValue(cell: Cell): unknown {
  // JavaScript writes a double as the shortest text that means it, which is the number in the file.
  return typeof cell === 'number' ? (parseDecimal(String(cell)) ?? new Decimal(0n, 0)) : cell;
}

/**
 * Reports numbers with so many digits that two of them would be read as the same, and warns of
 * numbers such as 1.000, which look like a thousand and mean one.
 */
function checkDigits(source: YamlSource, path: YamlPath, cell: Cell, problems: Problem[]): void {
  const node = source.nodeAt(path);
  if (typeof cell !== 'number' || !isScalar(node) || typeof node.source !== 'string') return;
  const [written, read] = [parseDecimal(node.source), parseDecimal(String(cell))];
  const [start = 0, end = 0] = node.range ?? [];
  if (/^\d{1,3}\.000$/.test(node.source)) {
    const hint = `write ${node.source.replace('.', '')} without a thousands separator, or ${cell}`;
    const message = `${node.source} means ${cell}`;
    problems.push(source.problem(start, end, { message, hint, warning: true }));
  }
  if (written && read && compareExact(written, read) === 0) return;
  const message = 'a number of at most 15 digits, such as 30000.01, is needed here';
  problems.push(source.problem(start, end, { message }));
}

function elementType(
  cells: readonly (readonly [string | number, Cell])[],
  path: YamlPath,
  source: YamlSource | undefined,
  problems: Problem[],
): ElementType {
  const first = cells[0] ? typeOfCell(cells[0][1]) : 'string';
  for (const [key, cell] of cells) {
    if (source) checkDigits(source, [...path, key], cell, problems);
    if (typeOfCell(cell) === first || !source) continue;
    const [start = 0, end = 0] = source.nodeAt([...path, key])?.range ?? [];
    const message = `${path.join('.')} mixes texts, numbers or true/false`;
    problems.push(source.problem(start, end, { message, hint: 'use one kind of value' }));
  }
  return first;
}

const EXTRA_TYPES = {
  text: 'string',
  'true/false': 'bool',
  'whole number': 'int',
  decimal: 'Decimal',
} as const;

function extraTypes({ customer_fields: fields }: Settings): SetTypes['extra'] {
  return Object.fromEntries(
    Object.entries(fields).map(([name, word]) => [name, EXTRA_TYPES[word]]),
  );
}

function samplesOf({ list_sources: sources }: Settings): Record<string, readonly string[]> {
  return Object.fromEntries(Object.entries(sources).map(([name, { sample }]) => [name, sample]));
}

/**
 * Gives the variables `lists` and `tables` of a day: rows of tables may apply to some days only, by
 * the time zone of the settings.
 */
function variablesByDay(
  { timezone }: Settings,
  files: LoadedTables,
  lists: Readonly<Record<string, unknown>>,
  tables: Readonly<Record<string, unknown>>,
): (nowMs: number) => CelContext {
  const read = [...files];
  const make = (day: string): CelContext => {
    const ofDay = read.map(([name, { tree }]) => [name, tableOn(tree, day)] as const);
    return setVariables(lists, { ...tables, ...Object.fromEntries(ofDay) });
  };
  const date = new Intl.DateTimeFormat('en-CA', { timeZone: timezone, dateStyle: 'short' });
  let last = { day: '', variables: make(date.format(0)) };
  if (!read.some(([, { table }]) => hasDays(table))) return () => last.variables;
  return (nowMs) => {
    const day = date.format(nowMs);
    if (day !== last.day) last = { day, variables: make(day) };
    return last.variables;
  };
}

/** Fills the lists of settings that were loaded with what was read since. */
export function refillSettings(loaded: LoadedSettings, read: ListsRead): LoadedSettings {
  const { settings, tables } = loaded;
  const own = Object.keys(settings.list_sources).map((name) => [name, read[name] ?? []] as const);
  const lists = { ...settings.lists, ...Object.fromEntries(own) };
  return build({ ...settings, lists }, tables, undefined, []);
}

function build(
  settings: Settings,
  files: LoadedTables,
  source: YamlSource | undefined,
  problems: Problem[],
): LoadedSettings {
  const types = { lists: new Map<string, ElementType>(), tables: new Map<string, string>() };
  const lists: Record<string, unknown> = {};
  const tables: Record<string, unknown> = {};
  for (const [name, cells] of Object.entries(settings.lists)) {
    const path = ['lists', name];
    types.lists.set(name, elementType([...cells.entries()], path, source, problems));
    lists[name] = cells.map(cellValue);
  }
  for (const [name, cells] of Object.entries(settings.tables)) {
    const path = ['tables', name];
    const rows = Object.entries(cells);
    types.tables.set(name, elementType(rows, path, source, problems));
    tables[name] = new Map(rows.map(([key, cell]) => [key, cellValue(cell)]));
  }
  for (const [name, { spec, rows }] of Object.entries(settings.table_files)) {
    const value = typeOfCell(rows[0]?.value ?? '');
    const inner = spec.keys.slice(1).reduce((type) => `map<string, ${type}>`, String(value));
    types.tables.set(name, inner);
  }
  return {
    settings,
    types: {
      extra: extraTypes(settings),
      lists: Object.fromEntries(types.lists),
      tables: Object.fromEntries(types.tables),
    },
    tables: files,
    variables: variablesByDay(settings, files, lists, tables),
    samples: variablesByDay(settings, files, { ...lists, ...samplesOf(settings) }, tables),
  };
}
