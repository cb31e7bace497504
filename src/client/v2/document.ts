/**
 * JSON:API documents as this service writes them: `included` is an object keyed by type and then by
 * id. The array of plain JSON:API is read as well, and noted, because it means that the service
 * changed. Rejected resources are set aside; unknown types are kept.
 */
import { z } from 'zod';
import { isJsonObject } from '../../lib/json.ts';
import { quoted } from '../../lib/reading/quoted.ts';
import type { Read } from '../calls.ts';
import { errorOfBrokenAnswer, errorOfPage } from '../http/answer.ts';
import type { AnswerHeaders } from '../http/exchange.ts';
import { askedOf, type HttpRequest } from '../http/request.ts';
import { failureIn } from '../http/said.ts';
import { checkRows, firstProblem, type Reject } from '../rows.ts';
import type { Sender } from '../transport.ts';
import { decoderOf, NO_CONTENT, rowsAt } from '../v1/envelope.ts';
import {
  isResourceType,
  type ResourceOf,
  type ResourceType,
  resourceSchemas,
} from './resources.ts';

/** Included resources of one type: valid ones by id, and rejected ones. */
interface IncludedRows<R> {
  readonly byId: ReadonlyMap<string, R>;
  readonly rejects: readonly Reject[];
}

export interface Included {
  of<T extends ResourceType>(type: T): IncludedRows<ResourceOf<T>>;
  /** Types of included resources that we do not model, each with its number of resources. */
  readonly unknownTypes: ReadonlyMap<string, number>;
  /** Whether `included` arrived as an array, as in plain JSON:API, which is drift. */
  readonly wasArray: boolean;
}

/** Turns an empty list into nothing, because some services write an empty object as a list. */
function unlessEmptyList(value: unknown): unknown {
  return Array.isArray(value) && value.length === 0 ? undefined : value;
}

/**
 * Normalizes a link: JSON:API allows an object; an empty text or false means that there is none.
 */
function linkOf(link: unknown): unknown {
  const href = isJsonObject(link) ? link.href : link;
  return href === '' || href === false ? null : href;
}

const link = z.preprocess(linkOf, z.string().nullish());
const token = z.union([z.string(), z.number().transform(String)]).nullish();

export const collectionSchema = z.looseObject({
  data: z.array(z.unknown()),
  links: z.preprocess(unlessEmptyList, z.looseObject({ next: link }).nullish()),
  meta: z.preprocess(unlessEmptyList, z.looseObject({ pageToken: token }).nullish()),
  included: z.unknown().optional(),
});

export const singleSchema = z.looseObject({ data: z.unknown(), included: z.unknown().optional() });

/** Brings a document outside the contract's form into that form. */
function documentOf(
  sender: Sender,
  request: HttpRequest,
  json: unknown,
  isCollection: boolean,
): unknown {
  const isBare = isCollection ? Array.isArray(json) : isJsonObject(json) && !('data' in json);
  if (isBare && !(isJsonObject(json) && 'errors' in json)) {
    sender.note(request, 'document=none');
    return { data: json };
  }
  if (!isCollection || !isJsonObject(json)) return json;
  const found = Array.isArray(json.data) ? undefined : rowsAt(json.data, 'data');
  if (found?.dialect !== undefined) sender.note(request, found.dialect);
  return found ? { ...json, data: found.raws } : json;
}

/** Sends a request and returns the document of its answer, checked by the schema. */
export async function askDocument<T>(
  sender: Sender,
  request: HttpRequest,
  schema: z.ZodType<T>,
  isCollection = false,
): Promise<Read<T> & { readonly headers: AnswerHeaders }> {
  const asked = { ...askedOf(request), scrub: sender.scrub };
  const answer = await sender.send(request, decoderOf(sender, request));
  const { value, status, startedAt, headers } = answer;
  if (value === undefined && status !== NO_CONTENT) throw errorOfPage(asked, '');
  const failure = failureIn(value);
  if (failure !== undefined)
    throw errorOfBrokenAnswer(asked, new Error(`it says ${quoted(failure)}`));
  // A 204 in answer to a collection means that it is empty.
  const json = value === undefined && isCollection ? { data: null } : value;
  const parsed = schema.safeParse(documentOf(sender, request, json, isCollection));
  if (parsed.success) return { value: parsed.data, startedAt, headers };
  const { path, reason } = firstProblem(parsed.error);
  throw errorOfBrokenAnswer(asked, new Error(`${path}: ${reason}`));
}

function resourcesIn(included: unknown): readonly unknown[] {
  if (Array.isArray(included)) return included;
  if (!isJsonObject(included)) return [];
  return Object.values(included).flatMap((byId) => (isJsonObject(byId) ? Object.values(byId) : []));
}

export function readIncluded(included: unknown): Included {
  const rawByType = new Map<string, unknown[]>();
  for (const raw of resourcesIn(included)) {
    const type = isJsonObject(raw) ? String(raw.type) : '';
    const ofType = rawByType.get(type);
    if (ofType) ofType.push(raw);
    else rawByType.set(type, [raw]);
  }
  const unknown = [...rawByType].filter(([type]) => !isResourceType(type));
  return {
    of(type) {
      const { rows, rejects } = checkRows(resourceSchemas[type], rawByType.get(type) ?? []);
      return { byId: new Map(rows.map((row) => [row.id, row])), rejects };
    },
    unknownTypes: new Map(unknown.map(([type, raws]) => [type, raws.length])),
    wasArray: Array.isArray(included),
  };
}
