/** Lists the settings that differ between two configurations. */
import { isJsonObject } from '../lib/json.ts';
import { AbsentSecret, Secret } from '../lib/secret.ts';
import type { Config } from './schema.ts';

function same(before: unknown, after: unknown): boolean {
  // Two secrets that could not be read have no value to compare; a single one was set or removed.
  if (before instanceof AbsentSecret || after instanceof AbsentSecret) {
    return before instanceof AbsentSecret && after instanceof AbsentSecret;
  }
  if (before instanceof Secret && after instanceof Secret) {
    return before.reveal() === after.reveal();
  }
  return Object.is(before, after);
}

function differences(path: string, before: unknown, after: unknown): readonly string[] {
  if (before instanceof Secret || after instanceof Secret) return same(before, after) ? [] : [path];
  if (Array.isArray(before) && Array.isArray(after)) {
    const changed =
      before.length !== after.length ||
      before.some((item, index) => differences('', item, after[index]).length > 0);
    return changed ? [path] : [];
  }
  if (!isJsonObject(before) || !isJsonObject(after)) return same(before, after) ? [] : [path];
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...names].flatMap((name) =>
    differences(path === '' ? name : `${path}.${name}`, before[name], after[name]),
  );
}

/**
 * Lists the paths of changed settings, such as `outbox.delayMin`; values are not told, because some
 * are secret.
 */
export function changedSettings(before: Config, after: Config): readonly string[] {
  return differences('', before, after);
}
