/** V1's envelope: `{status, message, data}` around everything, `data` checked by a schema. */
import { z } from 'zod';
import { cutDeep, isJsonObject } from '../../lib/json.ts';
import type { Read } from '../calls.ts';
import { errorOfAnswer, errorOfBrokenAnswer } from '../http/answer.ts';
import type { AnswerHeaders } from '../http/exchange.ts';
import { askedOf, type HttpRequest, isSafe } from '../http/request.ts';
import { firstProblem, type Reject, tooDeep } from '../rows.ts';
import { decodeJson, type Sender } from '../transport.ts';

const envelopeSchema = z.looseObject({
  status: z.int(),
  message: z.string().nullish(),
  data: z.unknown().optional(),
});

const UNAUTHORIZED = 401;

/** The `data` of a parsed answer. Throws when the envelope tells of a failure under a 2xx. */
export function dataOf(
  { scrub }: Pick<Sender, 'scrub'>,
  request: HttpRequest,
  json: unknown,
  headers: AnswerHeaders,
): unknown {
  const asked = { ...askedOf(request), scrub };
  const envelope = envelopeSchema.safeParse(json);
  if (!envelope.success) throw errorOfBrokenAnswer(asked, new Error('no V1 envelope'));
  const { status, data } = envelope.data;
  if (status >= 200 && status < 300) return data;
  // Its own clock is not needed: a failure inside a 2xx carries no Retry-After of its own.
  const body = Buffer.from(JSON.stringify(cutDeep(json)));
  throw errorOfAnswer(asked, { status, headers, body: body }, 0);
}

/**
 * For decoders: throws when the envelope says under a 2xx that the token was refused. The session
 * takes it as it takes a 401.
 */
export function throwIfUnauthorized(sender: Sender, request: HttpRequest, json: unknown): void {
  if (isJsonObject(json) && json.status === UNAUTHORIZED) dataOf(sender, request, json, {});
}

/** JSON; what says that the token was refused is thrown. */
export function decoderOf(sender: Sender, request: HttpRequest): (body: Buffer) => unknown {
  return (body) => {
    const json = decodeJson(body);
    throwIfUnauthorized(sender, request, json);
    return json;
  };
}

/** Sends the request and gives its `data` in the shape of the schema, however deep it is. */
export async function askLoosely<T>(
  sender: Sender,
  request: HttpRequest,
  schema: z.ZodType<T>,
): Promise<Read<T>> {
  const { value, headers, startedAt } = await sender.send(request, decoderOf(sender, request));
  const data = dataOf(sender, request, value, headers);
  // What had an effect had it, whatever else the answer says.
  const parsed = schema.safeParse(isSafe(request) ? data : cutDeep(data));
  if (parsed.success) return { value: parsed.data, startedAt };
  throw oddData(request, firstProblem(parsed.error));
}

/** The same of one thing, which can be written as it is. */
export async function ask<T>(
  sender: Sender,
  request: HttpRequest,
  schema: z.ZodType<T>,
): Promise<Read<T>> {
  const read = await askLoosely(sender, request, schema);
  const deep = tooDeep(read.value);
  if (deep) throw oddData(request, deep);
  return read;
}

function oddData(request: HttpRequest, problem: Omit<Reject, 'raw'>): Error {
  const { path, reason } = problem;
  return errorOfBrokenAnswer(askedOf(request), new Error(`data.${path}: ${reason}`));
}
