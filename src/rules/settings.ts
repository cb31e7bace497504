/** `settings.yaml`: modes, calendar, rails, and the lists and tables that conditions name. */
import { isScalar } from 'yaml';
import { Decimal, parseDecimal } from './cel/decimal.ts';
import { type ElementType, type SetTypes, setVariables } from './cel/environment.ts';
import type { CelContext } from './cel/program.ts';
import { checkShape } from './text/check.ts';
import type { Problem } from './text/problem.ts';
import { SETTINGS_FILE, type Settings } from './text/settings-schema.ts';
import type { YamlPath, YamlSource } from './text/yaml.ts';

export interface LoadedSettings {
  readonly settings: Settings;
  readonly types: SetTypes;
  readonly variables: CelContext;
}

/** What holds when there is no `settings.yaml`. */
export function emptySettings(): LoadedSettings {
  return build(SETTINGS_FILE.parse({ version: 1 }), undefined, []);
}

export function loadSettings(source: YamlSource, problems: Problem[]): LoadedSettings {
  const checked = checkShape(source, SETTINGS_FILE);
  if ('value' in checked) return build(checked.value, source, problems);
  problems.push(...checked.problems);
  return emptySettings();
}

type Cell = string | number | boolean;

function typeOfCell(cell: Cell): ElementType {
  if (typeof cell === 'number') return 'Decimal';
  return typeof cell === 'boolean' ? 'bool' : 'string';
}

/** Numbers are read from their text in the file: 0.1 is one tenth, not a binary fraction. */
function cellValue(cell: Cell, source: YamlSource | undefined, path: YamlPath): unknown {
  if (typeof cell !== 'number') return cell;
  const node = source?.nodeAt(path);
  const written = isScalar(node) && typeof node.source === 'string' ? node.source : undefined;
  return parseDecimal(written ?? String(cell)) ?? parseDecimal(String(cell)) ?? new Decimal(0n, 0);
}

function elementType(
  cells: readonly (readonly [string | number, Cell])[],
  path: YamlPath,
  source: YamlSource | undefined,
  problems: Problem[],
): ElementType {
  const first = cells[0] ? typeOfCell(cells[0][1]) : 'string';
  for (const [key, cell] of cells) {
    if (typeOfCell(cell) === first || !source) continue;
    const [start = 0, end = 0] = source.nodeAt([...path, key])?.range ?? [];
    const message = `${path.join('.')} mixes texts, numbers or true/false`;
    problems.push(source.problem(start, end, { message, hint: 'use one kind of value' }));
  }
  return first;
}

function build(
  settings: Settings,
  source: YamlSource | undefined,
  problems: Problem[],
): LoadedSettings {
  const types = { lists: new Map<string, ElementType>(), tables: new Map<string, ElementType>() };
  const lists: Record<string, unknown> = {};
  const tables: Record<string, unknown> = {};
  for (const [name, cells] of Object.entries(settings.lists)) {
    const path = ['lists', name];
    types.lists.set(name, elementType([...cells.entries()], path, source, problems));
    lists[name] = cells.map((cell, index) => cellValue(cell, source, [...path, index]));
  }
  for (const [name, cells] of Object.entries(settings.tables)) {
    const path = ['tables', name];
    const rows = Object.entries(cells);
    types.tables.set(name, elementType(rows, path, source, problems));
    tables[name] = new Map(
      rows.map(([key, cell]) => [key, cellValue(cell, source, [...path, key])]),
    );
  }
  return {
    settings,
    types: {
      lists: Object.fromEntries(types.lists),
      tables: Object.fromEntries(types.tables),
    },
    variables: setVariables(lists, tables),
  };
}
