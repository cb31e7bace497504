/** OpenAPI operations of declared acts. */
import { z } from 'zod';
import type { ActHead } from '../../surface/acts.ts';
import { wireSchema } from '../../surface/forms.ts';
import { type ListHead, parametersOf } from '../../surface/lists.ts';
import { refusedMembers } from '../../surface/many.ts';
import { memberOf } from '../../surface/members.ts';
import { csvOf, jsonOf, NO_SUCH, PLACE, writing } from '../openapi/route.ts';
import { actionOf, type SharedAddress, sharedAddresses } from './addresses.ts';

const common = {
  dryRun: z.boolean().optional().meta({ description: 'Whether only the effect is told' }),
};
const reason = z.string().min(1).max(1_000);

function reasonOf(of: ActHead) {
  if (of.reason === 'none') return {};
  return { reason: of.reason === 'free' ? z.string().max(1_000).optional() : reason };
}

/** Schema of a member as programs send it. */
function asked(schema: z.core.$ZodType): z.core.$ZodType {
  return memberOf(schema)?.kind === 'time' ? wireSchema(schema) : schema;
}

function actPathOf(of: ActHead, tag: string) {
  const [first = ''] = of.path.includes('{id}') ? of.args : [];
  const members = Object.entries({ ...of.input.shape, ...of.seen.shape });
  const own = members.flatMap(([name, one]) => (name === first ? [] : [[name, asked(one)]]));
  const id = of.input.shape[first];
  const body = z.strictObject({
    ...Object.fromEntries(own),
    ...reasonOf(of),
    ...common,
  });
  return {
    [of.path]: writing({
      id: of.operation,
      tag,
      summary: sentence(of.about),
      role: of.role === 'approver' ? 'approver' : 'operator',
      ...(id && { path: z.object({ id: z.nonoptional(id) }) }),
      body,
      done: wireSchema(of.output),
    }),
  };
}

/** Tags of the description, by the nouns of commands where these are others. */
const TAGS: Readonly<Record<string, string>> = {
  audit: 'system',
  backup: 'system',
  config: 'system',
  console: 'system',
  deliveries: 'review',
  notify: 'system',
  orders: 'outbox',
  pause: 'operation',
  plane: 'system',
  portal: 'events',
  refunds: 'outbox',
  resume: 'operation',
  report: 'reports',
  sync: 'pulls',
};

function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
}

function tagOf({ name }: Pick<ActHead, 'name'>): string {
  const [noun = ''] = name.split('.');
  return TAGS[noun] ?? noun;
}

/** The answers for each of many things, or the act's own. */
function manyAnswerOf({ args: [thing = ''], output, many }: ActHead) {
  if (many?.isOneAnswer !== false || !(output instanceof z.ZodObject)) {
    return many?.answer?.output ?? output;
  }
  const name = { [thing]: z.string() };
  const done = z.strictObject({ ...name, ok: z.literal(true), ...output.shape });
  const refused = z.strictObject({ ...name, ...refusedMembers });
  return z.strictObject({ answers: z.array(z.union([wireSchema(done), refused])) });
}

/** Operation that acts on all that fit a filter share; each takes its own members only. */
function sharedPathOf([path, acts]: SharedAddress) {
  const [of] = acts;
  if (!of?.many?.at) return {};
  const { filter, expect, at } = of.many;
  const stated = acts.flatMap(({ args, input }) =>
    Object.entries(input.shape).filter(([name]) => !args.includes(name)),
  );
  const actions = acts.map(actionOf);
  return {
    [path]: writing({
      id: at.operation,
      tag: tagOf(of),
      summary: at.about,
      role: acts.every(({ role }) => role === 'approver') ? 'approver' : 'operator',
      body: z.strictObject({
        action: z.enum(actions),
        ...Object.fromEntries(stated),
        ...reasonOf(of),
        select: z.strictObject({ filter, expect }),
        ...common,
      }),
      done: manyAnswerOf(of),
    }),
  };
}

export function actPaths(acts: readonly ActHead[]) {
  const single = acts.map((act) => actPathOf(act, tagOf(act)));
  return Object.assign({}, ...single, ...sharedAddresses(acts).map(sharedPathOf));
}

const place = z.string().nullable();

function listPathsOf(of: ListHead) {
  const { operation, path, about, args, query, role } = of;
  const [first = ''] = path.includes('{id}') ? args : [];
  const id = query.shape[first];
  const common = {
    tag: tagOf(of),
    summary: sentence(about),
    role,
    query: parametersOf(of),
    problems: id ? { ...NO_SUCH, ...PLACE } : PLACE,
    ...(id && { path: z.object({ id: z.nonoptional(id) }) }),
  };
  const members = { [of.rowsAs]: z.array(wireSchema(of.row)), next: place, back: place };
  const beside = Object.entries(of.beside.shape).map(([name, one]) => [name, wireSchema(one)]);
  const answer = z.strictObject({ ...Object.fromEntries(beside), ...members });
  return {
    [`${path}.json`]: jsonOf({ ...common, id: operation }, answer),
    [`${path}.csv`]: csvOf({ ...common, id: `${operation}Csv` }),
  };
}

export function listPaths(lists: readonly ListHead[]) {
  return Object.assign({}, ...lists.map(listPathsOf));
}
