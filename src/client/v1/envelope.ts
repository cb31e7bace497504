/** V1's envelope: `{status, message, data}` around everything, `data` checked by a schema. */
import { z } from 'zod';
import { type Asked, errorOfAnswer, errorOfBrokenAnswer } from '../http/answer.ts';
import type { AnswerHeaders } from '../http/exchange.ts';
import type { HttpRequest } from '../http/request.ts';
import { isSafe } from '../http/request.ts';
import type { Sender } from '../transport.ts';

/** A checked answer; `startedAt` (epoch ms) says how old the knowledge is. */
export interface Read<T> {
  readonly value: T;
  readonly startedAt: number;
}

const envelopeSchema = z.looseObject({
  status: z.int(),
  message: z.string().nullish(),
  data: z.unknown(),
});

export function askedOf(request: HttpRequest): Asked {
  return { method: request.method, url: request.url, safe: isSafe(request) };
}

/** The `data` of a parsed answer. Throws when the envelope tells of a failure under a 2xx. */
export function dataOf(request: HttpRequest, json: unknown, headers: AnswerHeaders): unknown {
  const asked = askedOf(request);
  const envelope = envelopeSchema.safeParse(json);
  if (!envelope.success) throw errorOfBrokenAnswer(asked, new Error('no V1 envelope'));
  const { status, data } = envelope.data;
  if (status >= 200 && status < 300) return data;
  // Its own clock is not needed: a failure inside a 2xx carries no Retry-After of its own.
  throw errorOfAnswer(asked, { status, headers, body: Buffer.from(JSON.stringify(json)) }, 0);
}

/** Sends the request and gives its `data` in the shape of the schema. */
export async function ask<S extends z.ZodType>(
  sender: Sender,
  request: HttpRequest,
  schema: S,
): Promise<Read<z.infer<S>>> {
  const { json, headers, startedAt } = await sender.request(request);
  const parsed = schema.safeParse(dataOf(request, json, headers));
  if (parsed.success) return { value: parsed.data, startedAt };
  const issue = parsed.error.issues[0];
  const where = ['data', ...(issue?.path ?? [])].map(String).join('.');
  throw errorOfBrokenAnswer(askedOf(request), new Error(`${where}: ${issue?.message}`));
}
