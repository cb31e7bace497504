/** OpenAPI operations of declared acts. */
import { z } from 'zod';
import type { ActHead } from '../../surface/acts.ts';
import { wireSchema } from '../../surface/forms.ts';
import { type ListHead, parametersOf } from '../../surface/lists.ts';
import { csvOf, jsonOf, NO_SUCH, PLACE, writing } from '../openapi/route.ts';

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
      summary: sentence(of.about),
      role: of.role === 'approver' ? 'approver' : 'operator',
      ...(id && { path: z.object({ id }) }),
      body,
      done: wireSchema(of.output),
    }),
  };
}

/** Tags of the description, by the nouns of commands where these are others. */
const TAGS: Readonly<Record<string, string>> = { sync: 'pulls', deliveries: 'review' };

function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
}

function tagOf({ name }: Pick<ActHead, 'name'>): string {
  const [noun = ''] = name.split('.');
  return TAGS[noun] ?? noun;
}

export function actPaths(acts: readonly ActHead[]) {
  return Object.assign({}, ...acts.map((act) => actPathOf(act, tagOf(act))));
}

const place = z.string().nullable();

function listPathsOf(of: ListHead) {
  const { operation, path, about, args, query } = of;
  const [first = ''] = path.includes('{id}') ? args : [];
  const id = query.shape[first];
  const common = {
    tag: tagOf(of),
    summary: sentence(about),
    query: parametersOf(of),
    problems: id ? { ...NO_SUCH, ...PLACE } : PLACE,
    ...(id && { path: z.object({ id }) }),
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
