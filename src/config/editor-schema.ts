/** The JSON Schema of a configuration file: editors complete names and show what they do. */
import { z } from 'zod';
import { isJsonObject } from '../lib/json.ts';
import { createSchema } from './schema.ts';
import { readSettings } from './settings.ts';

/** Needs nothing from outside: only its form is looked at. */
const NOWHERE = {
  resolvePath: (written: string) => written,
  readSecret: () => ({ problem: 'not read', hint: 'not read' }),
  mayBeAbsent: () => true,
  secretLoaded: () => undefined,
};

type Schema = Readonly<Record<string, unknown>>;

/** Words for every setting; nothing is required, because a file holds only what is changed. */
function described(schema: Schema, path: string, about: ReadonlyMap<string, string>): Schema {
  const { required: _, properties, expected, example, secret: __, ...rest } = schema;
  const text = about.get(path) ?? (typeof expected === 'string' ? expected : undefined);
  const members = isJsonObject(properties) ? Object.entries(properties) : [];
  const inner = members.map(([name, member]): readonly [string, unknown] => {
    const at = path === '' ? name : `${path}.${name}`;
    return [name, isJsonObject(member) ? described(member, at, about) : member];
  });
  return {
    ...rest,
    ...(text === undefined ? {} : { description: text }),
    ...(typeof example === 'string' ? { examples: [example] } : {}),
    ...(members.length === 0 ? {} : { properties: Object.fromEntries(inner) }),
  };
}

export function configJsonSchema(): Schema {
  const about = new Map(readSettings().map((setting) => [setting.path, setting.about]));
  const form = { io: 'input', unrepresentable: 'any' } as const;
  const schema = z.toJSONSchema(createSchema(NOWHERE), form);
  return { ...described(schema, '', about), title: 'Selvedge configuration' };
}
