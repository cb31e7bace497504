/**
 * JSON:API documents as this service writes them: `included` is an object keyed by type and then
 * by id. The array of plain JSON:API is read as well, and told, because it means that the service
 * has changed. Resources that do not fit are put aside; unknown types are kept as they are.
 */
import { z } from 'zod';
import { isJsonObject } from '../../lib/json.ts';
import type { Read } from '../calls.ts';
import { errorOfBrokenAnswer } from '../http/answer.ts';
import { askedOf, type HttpRequest } from '../http/request.ts';
import { failureIn } from '../http/said.ts';
import { checkRows, firstProblem, type Reject } from '../rows.ts';
import type { Sender } from '../transport.ts';
import { decoderOf } from '../v1/envelope.ts';
import {
  isResourceType,
  type ResourceOf,
  type ResourceType,
  resourceSchemas,
} from './resources.ts';

/** Resources of one type that came along with the primary ones. */
interface IncludedRows<R> {
  readonly byId: ReadonlyMap<string, R>;
  readonly rejects: readonly Reject[];
}

export interface Included {
  of<T extends ResourceType>(type: T): IncludedRows<ResourceOf<T>>;
  /** Types that are not modelled, with how many of each came. */
  readonly unknownTypes: ReadonlyMap<string, number>;
  /** It came as an array: drift. */
  readonly wasArray: boolean;
}

const linksSchema = z.looseObject({ next: z.string().nullish() }).nullish();

export const collectionSchema = z.looseObject({
  data: z.array(z.unknown()),
  links: linksSchema,
  meta: z.looseObject({ pageToken: z.string().nullish() }).nullish(),
  included: z.unknown().optional(),
});

export const singleSchema = z.looseObject({ data: z.unknown(), included: z.unknown().optional() });

/** Sends the request and gives its document in the shape of the schema: else it is broken. */
export async function askDocument<T>(
  sender: Sender,
  request: HttpRequest,
  schema: z.ZodType<T>,
): Promise<Read<T>> {
  const asked = { ...askedOf(request), scrub: sender.scrub };
  const { value: json, startedAt } = await sender.send(request, decoderOf(sender, request));
  const failure = failureIn(json);
  if (failure !== undefined) throw errorOfBrokenAnswer(asked, new Error(`it says ${failure}`));
  const parsed = schema.safeParse(json);
  if (parsed.success) return { value: parsed.data, startedAt };
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
