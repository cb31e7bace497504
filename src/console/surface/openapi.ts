/** OpenAPI operations of declared acts. */
import { z } from 'zod';
import type { ActHead } from '../../surface/acts.ts';
import { memberOf } from '../../surface/members.ts';
import { writing } from '../openapi/route.ts';

/** A schema as programs of the console write and read it: times are ISO 8601, in UTC. */
function wire(schema: z.core.$ZodType): z.core.$ZodType {
  if (schema instanceof z.ZodNullable) return z.nullable(wire(schema.unwrap()));
  if (schema instanceof z.ZodOptional) return z.optional(wire(schema.unwrap()));
  if (schema instanceof z.ZodArray) return z.array(wire(schema.element));
  if (schema instanceof z.ZodObject && z.globalRegistry.get(schema)?.id === undefined) {
    const members = Object.entries(schema.shape).map(([name, one]) => [name, wire(one)]);
    return z.strictObject(Object.fromEntries(members));
  }
  return memberOf(schema)?.kind === 'time' ? z.iso.datetime() : schema;
}

const common = {
  dryRun: z.boolean().optional().meta({ description: 'Whether only the effect is told' }),
};
const reason = z.string().min(1).max(1_000);

function actPathOf(of: ActHead, tag: string) {
  const [first = ''] = of.path.includes('{id}') ? of.args : [];
  const members = Object.entries({ ...of.input.shape, ...of.seen.shape });
  const own = members.filter(([name]) => name !== first);
  const id = of.input.shape[first];
  const body = z.strictObject({
    ...Object.fromEntries(own),
    ...(of.reason === 'none' ? {} : { reason }),
    ...common,
  });
  return {
    [of.path]: writing({
      id: of.operation,
      tag,
      summary: `${of.about.charAt(0).toUpperCase()}${of.about.slice(1)}`,
      role: of.role === 'approver' ? 'approver' : 'operator',
      ...(id && { path: z.object({ id }) }),
      body,
      done: wire(of.output),
    }),
  };
}

/** Tags of the description, by the nouns of commands where these are others. */
const TAGS: Readonly<Record<string, string>> = { sync: 'pulls', deliveries: 'review' };

function tagOf({ name }: ActHead): string {
  const [noun = ''] = name.split('.');
  return TAGS[noun] ?? noun;
}

export function actPaths(acts: readonly ActHead[]) {
  return Object.assign({}, ...acts.map((act) => actPathOf(act, tagOf(act))));
}
