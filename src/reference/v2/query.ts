/** Reads `include`, `fields_<type>`, `filter[…]` and `page[…]` of a request, or refuses it. */
import {
  filtersOf,
  isResourceType,
  kindOf,
  type ResourceType,
  relatedType,
} from './pdm/resources.ts';
import { badParameter, type Problem, ProblemError } from './problem.ts';

interface PageQuery {
  readonly limit: number;
  readonly offset: number;
  readonly token: string | undefined;
}

export interface Query {
  /** Relationship paths to include: `['styleColors', 'color']` for `styleColors.color`. */
  readonly include: readonly (readonly string[])[] | undefined;
  readonly fields: ReadonlyMap<ResourceType, ReadonlySet<string>>;
  readonly filters: readonly (readonly [name: string, value: string])[];
  readonly page: PageQuery;
  /** All parameters but token and offset, in one spelling: they must not change while paging. */
  readonly frozen: string;
}

const LIMIT = { min: 1, max: 250, default: 50 } as const;

function readInclude(type: ResourceType, text: string, problems: Problem[]): string[][] {
  const paths = text.split(',').filter((path) => path !== '');
  for (const path of paths) {
    let at: ResourceType | undefined = type;
    for (const name of path.split('.')) at = at === undefined ? undefined : relatedType(at, name);
    if (at === undefined) {
      problems.push(badParameter('include', 'unknown_include', `${path}: nothing to include`));
    }
  }
  return paths.map((path) => path.split('.'));
}

function readFields(name: string, text: string, problems: Problem[]): ReadonlySet<string> {
  const type = name.slice('fields_'.length);
  const asked = text.split(',').filter((field) => field !== '');
  if (!isResourceType(type)) {
    problems.push(badParameter(name, 'unknown_type', `${type}: no such resource type`));
    return new Set();
  }
  const kind = kindOf(type);
  const known = [...kind.attributes, ...Object.keys(kind.toOne), ...Object.keys(kind.toMany)];
  for (const field of asked.filter((one) => !known.includes(one))) {
    problems.push(badParameter(name, 'unknown_field', `${field}: no such field of ${type}`));
  }
  return new Set(asked);
}

function readInteger(
  params: URLSearchParams,
  name: string,
  range: { readonly min: number; readonly max: number; readonly default: number },
  problems: Problem[],
): number {
  const text = params.get(name);
  if (text === null) return range.default;
  const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
  if (value >= range.min && value <= range.max) return value;
  const bounds = `an integer from ${range.min} to ${range.max}`;
  problems.push(badParameter(name, 'invalid_page', `${text}: must be ${bounds}`));
  return range.default;
}

function readPage(params: URLSearchParams, problems: Problem[]): PageQuery {
  const offsets = { min: 0, max: 999_999_999, default: 0 };
  const limit = readInteger(params, 'page[limit]', LIMIT, problems);
  const offset = readInteger(params, 'page[offset]', offsets, problems);
  const token = params.get('page[token]') ?? undefined;
  if (token === undefined && params.has('page[offset]')) {
    const detail = 'page[offset] goes with the page[token] of the first answer';
    problems.push(badParameter('page[offset]', 'invalid_page', detail));
  }
  return { limit, offset, token };
}

function frozenPart(params: URLSearchParams): string {
  return [...params]
    .filter(([name]) => name !== 'page[token]' && name !== 'page[offset]')
    .map(([name, value]) => `${name}=${value}`)
    .sort()
    .join('&');
}

/**
 * Reads the query of a request; throws a {@link ProblemError} with every problem. Other kinds of
 * parameters are ignored.
 */
export function readQuery(type: ResourceType, params: URLSearchParams): Query {
  const problems: Problem[] = [];
  const fields = new Map<ResourceType, ReadonlySet<string>>();
  const filters: [string, string][] = [];
  for (const [name, value] of params) {
    if (name.startsWith('fields_')) {
      const asked = readFields(name, value, problems);
      const of = name.slice('fields_'.length);
      if (isResourceType(of)) fields.set(of, asked);
    }
    const filter = /^filter\[(.*)\]$/.exec(name)?.[1];
    if (filter === undefined) continue;
    if (filtersOf(type).includes(filter)) filters.push([filter, value]);
    else problems.push(badParameter(name, 'unknown_filter', `${filter}: no filter of ${type}`));
  }
  const include = params.get('include');
  const query = {
    include: include === null ? undefined : readInclude(type, include, problems),
    fields,
    filters,
    page: readPage(params, problems),
    frozen: frozenPart(params),
  };
  if (problems.length > 0) throw new ProblemError(...problems);
  return query;
}
