/** V1's envelope: `{status, message, data}` around everything, `data` checked by a schema. */
import { z } from 'zod';
import type { Read } from '../calls.ts';
import { errorOfAnswer, errorOfBrokenAnswer } from '../http/answer.ts';
import type { AnswerHeaders } from '../http/exchange.ts';
import { askedOf, type HttpRequest } from '../http/request.ts';
import { firstProblem } from '../rows.ts';
import type { Sender } from '../transport.ts';

const envelopeSchema = z.looseObject({
  status: z.int(),
  message: z.string().nullish(),
  data: z.unknown().optional(),
});

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
export async function ask<T>(
  sender: Sender,
  request: HttpRequest,
  schema: z.ZodType<T>,
): Promise<Read<T>> {
  const { json, headers, startedAt } = await sender.request(request);
  const parsed = schema.safeParse(dataOf(request, json, headers));
  if (parsed.success) return { value: parsed.data, startedAt };
  const { path, reason } = firstProblem(parsed.error);
  throw errorOfBrokenAnswer(askedOf(request), new Error(`data.${path}: ${reason}`));
}
