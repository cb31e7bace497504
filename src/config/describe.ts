/** Shows the configuration to people: one row a setting, secrets masked, each with its origin. */
import { type LoadOptions, readConfig } from './load.ts';
import { showPlace, showValue } from './problems.ts';
import { mayBeShown, metaOf, schemaAt } from './schema/shape.ts';
import { describeReference, parseReference } from './source/secrets.ts';
import { type Path, plainValue, showPath, type Tree } from './source/tree.ts';

export interface SettingRow {
  readonly path: string;
  readonly value: string;
  /** Place where the value was written: `default` or `FILE:LINE:COLUMN`. */
  readonly origin: string;
}

function originOf(tree: Tree): string {
  return tree.at.source === 'default' ? 'default' : showPlace(tree.at);
}

/**
 * Lists all settings in the order of the default file. A broken configuration is listed too, as it
 * is written. A value at an unknown place may be a secret under a misspelt name, and is masked.
 */
export function describeConfig(options: LoadOptions): SettingRow[] {
  const { tree: root, schema } = readConfig(options);
  const maskedValue = (tree: Tree, path: Path): string => {
    if (tree.kind === 'leaf' && tree.value === null) return '-';
    const reference = parseReference(plainValue(tree));
    const at = schemaAt(schema, path);
    if (at === undefined) return '(unknown setting)';
    if (reference !== undefined) return `(${describeReference(reference)})`;
    return mayBeShown(schema, path) ? showValue(tree) : '(secret)';
  };
  const rowsOf = (tree: Tree, path: Path): SettingRow[] => {
    const at = schemaAt(schema, path);
    const isSetting = at === undefined || metaOf(at) !== undefined;
    const isListOfSections = tree.kind === 'list' && tree.items.some((item) => item.kind === 'map');
    if (tree.kind === 'map' && !isSetting) {
      return [...tree.members].flatMap(([name, member]) => rowsOf(member, [...path, name]));
    }
    if (isListOfSections && at !== undefined) {
      return tree.items.flatMap((item, index) => rowsOf(item, [...path, index]));
    }
    return [{ path: showPath(path), value: maskedValue(tree, path), origin: originOf(tree) }];
  };
  return rowsOf(root, []);
}
