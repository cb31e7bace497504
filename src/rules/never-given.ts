/**
 * Finds values in rule tests that no delivery can have; such a test proves less than it seems to.
 */
import { isJsonObject } from '../lib/json.ts';
import { nearestName } from '../lib/nearest.ts';
import type { SetTypes } from './cel/environment.ts';
import { impossible } from './cel/lint.ts';
import { fieldsOf, isRecordName, type RecordName, ROOT_NAMES } from './facts/table.ts';
import type { ProblemDetail, YamlPath } from './text/yaml.ts';

interface Never {
  /** Path of the value below `given:`. */
  readonly path: YamlPath;
  readonly detail: ProblemDetail;
}

type Extra = SetTypes['extra'];

function undeclared(value: unknown, path: YamlPath, extra: Extra): readonly Never[] {
  const known = Object.keys(extra);
  return Object.keys(isJsonObject(value) ? value : {}).flatMap((name) => {
    if (known.includes(name)) return [];
    const nearest = nearestName(name, known);
    const declare = 'declare it under customer_fields in settings.yaml';
    const hint = nearest === undefined ? declare : `did you mean: ${nearest}?`;
    const detail = { message: `${path.join('.')} has no field "${name}"`, hint, warning: true };
    return [{ path: [...path, name], detail }];
  });
}

function neverIn(
  record: RecordName,
  value: unknown,
  path: YamlPath,
  extra: Extra,
): readonly Never[] {
  if (!isJsonObject(value)) return [];
  return Object.entries(fieldsOf(record)).flatMap(([name, field]) => {
    const [part, here] = [value[name], [...path, name]];
    const { of } = field;
    if (field.type === 'extra') return undeclared(part, here, extra);
    if (isRecordName(of) && Array.isArray(part)) {
      return part.flatMap((item, index) => neverIn(of, item, [...here, index], extra));
    }
    if (isRecordName(of)) return neverIn(of, part, here, extra);
    const never = typeof part === 'string' ? impossible(field, here.join('.'), part) : undefined;
    return never ? [{ path: here, detail: { ...never, warning: true } }] : [];
  });
}

/** Warns of impossible values in `given:`; no error, because a test may want one. */
export function neverGiven(
  given: Readonly<Record<string, unknown>>,
  { extra }: SetTypes,
): readonly Never[] {
  return ROOT_NAMES.flatMap((root) => neverIn(root, given[root], [root], extra));
}
