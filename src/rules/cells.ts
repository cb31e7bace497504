/** Values of lists and tables that no fact ever has: the rules that look for them do nothing. */
import type { Node } from 'yaml';
import type { CompiledRule } from './compile.ts';
import { DEFAULT_KEY } from './tables.ts';
import type { Problem } from './text/problem.ts';
import type { Settings } from './text/settings-schema.ts';
import type { YamlSource } from './text/yaml.ts';

interface Cell {
  readonly value: unknown;
  /** `lists.nordic`, where facts are looked for in it; undefined for the values of tables. */
  readonly data: string | undefined;
  node(): Node | undefined;
}

/** What was written; what was read from the database is its owner's affair. */
function cellsOf(source: YamlSource, settings: Settings): readonly Cell[] {
  const lists = Object.entries(settings.lists).flatMap(([name, read]) => {
    const from = settings.list_sources[name];
    const path = ['lists', name, ...(from ? ['sample'] : [])];
    return (from?.sample ?? read).map((value, index) => {
      return { value, data: `lists.${name}`, node: () => source.nodeAt([...path, index]) };
    });
  });
  const tables = Object.entries(settings.tables).flatMap(([name, rows]) => {
    const path = ['tables', name];
    return Object.entries(rows).flatMap(([key, value]) => [
      { value: key, data: `tables.${name}`, node: () => source.keyAt(path, key) },
      { value, data: undefined, node: () => source.nodeAt([...path, key]) },
    ]);
  });
  return [...lists, ...tables];
}

/** Warnings: another rule, or the next one, may mean them. */
export function neverMet(
  source: YamlSource,
  settings: Settings,
  rules: readonly CompiledRule[],
): readonly Problem[] {
  const lookups = Map.groupBy(
    rules.flatMap(({ rule }) => rule?.clauses.flatMap(({ program }) => program.lookups) ?? []),
    ({ data }) => data,
  );
  const ofTables = Object.entries(settings.table_files).flatMap(([name, { spec, rows }]) => {
    return rows.flatMap(({ keys, line }) =>
      keys.flatMap((key, at): Problem[] => {
        const asked = lookups.get(at === 0 ? `tables.${name}` : `tables.${name}[]`) ?? [];
        const told = key === DEFAULT_KEY ? [] : asked.map((lookup) => lookup.never(key));
        const [never] = told;
        if (never === undefined || told.includes(undefined)) return [];
        const place = { file: spec.file, line, column: 1, source: '', length: 1 };
        return [{ severity: 'warning', ...place, ...never }];
      }),
    );
  });
  const written = cellsOf(source, settings).flatMap(({ value, data, node }): Problem[] => {
    if (typeof value !== 'string') return [];
    const plain = value.trim();
    const spaces = `"${value}" has a space at its beginning or end, which counts`;
    const told = (lookups.get(data ?? '') ?? []).map((lookup) => lookup.never(value));
    const never =
      value === plain
        ? told.every((one) => one !== undefined) && told[0]
        : { message: spaces, hint: `write "${plain}"` };
    if (!never) return [];
    const [start = 0, end = 0] = node()?.range ?? [];
    return [source.problem(start, end, { ...never, warning: true })];
  });
  return [...written, ...ofTables];
}
