/** Problem details of HTTP answers (RFC 9457), the same at every door. */
import type { FastifyReply } from 'fastify';
import { z } from 'zod';
import { SelvedgeError, UsageError } from '../lib/errors.ts';

const PROBLEM_TYPE = 'application/problem+json; charset=utf-8';

/** A refusal in words, with its HTTP status. */
export interface Refusal {
  readonly status: number;
  readonly code: string;
  readonly message: string;
  readonly hint?: string | undefined;
}

export const problemSchema = z
  .strictObject({
    type: z.string().meta({ description: '`about:blank`: `code` tells the problem' }),
    title: z.string().meta({ description: 'The HTTP status in words' }),
    status: z.int(),
    detail: z.string().meta({ description: 'The same as `message`' }),
    code: z.string().meta({ description: 'Stable, as in `sync.unknown_run`' }),
    message: z.string(),
    hint: z.string().optional().meta({ description: 'The next step' }),
  })
  .meta({ id: 'Problem', description: 'Problem details by RFC 9457.' });

const TITLES: Readonly<Record<number, string>> = {
  400: 'Bad Request',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'Not Found',
  405: 'Method Not Allowed',
  409: 'Conflict',
  410: 'Gone',
  413: 'Content Too Large',
  415: 'Unsupported Media Type',
  421: 'Misdirected Request',
  429: 'Too Many Requests',
  500: 'Internal Server Error',
  503: 'Service Unavailable',
};

const STATUSES: Readonly<Record<string, number>> = {
  'console.role': 403,
  'console.no_session': 401,
  'console.password': 401,
  'console.proxy': 403,
  'console.link': 410,
  'console.tries': 429,
  'console.busy': 429,
  'console.rate': 429,
  'rules.no_reject_rule': 404,
};

export function sendProblem(reply: FastifyReply, refusal: Refusal): FastifyReply {
  return reply.code(refusal.status).type(PROBLEM_TYPE).send(problemOf(refusal));
}

/** Answers a request whose path is known under other methods. */
export function sendWrongMethod(
  reply: FastifyReply,
  method: string,
  allowed: readonly string[],
): FastifyReply {
  const message = `${method} is not answered here`;
  const hint = `ask with ${allowed.filter((one) => one !== 'HEAD').join(' or ')}`;
  const refusal = { status: 405, code: 'request.method', message, hint };
  return sendProblem(reply.header('allow', allowed.join(', ')), refusal);
}

function problemOf({ status, code, message, hint }: Refusal) {
  const title = TITLES[status] ?? 'Error';
  const problem = { type: 'about:blank', title, status, detail: message, code, message };
  return hint === undefined ? problem : { ...problem, hint };
}

/** Refusal that an error of ours stands for; undefined: it is none of ours. */
export function refusalOf(error: unknown): Refusal | undefined {
  if (!(error instanceof SelvedgeError)) return undefined;
  const { code, message, hint } = error;
  const isUnknown = /\.unknown(?:_run|_stream)?$/.test(code);
  const otherwise = error instanceof UsageError ? 400 : 409;
  return { status: STATUSES[code] ?? (isUnknown ? 404 : otherwise), code, message, hint };
}
