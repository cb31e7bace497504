/** Problem details of HTTP answers (RFC 9457), the same at every door. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { SelvedgeError, UsageError } from '../lib/errors.ts';
import { askable, type KnownPaths } from '../lib/http-server/methods.ts';

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

/**
 * Refusal of a request whose path or method is not known here. `code` is that of an unknown path;
 * `more` goes on after the nearest path or the methods that there are.
 */
export function noSuchRoute(
  { methodsOf, nearest }: KnownPaths,
  { url, method }: FastifyRequest,
  { code, what, more }: { readonly code: string; readonly what: string; readonly more: string },
): Refusal & { readonly allow: readonly string[] } {
  const allow = methodsOf(url);
  const near = nearest(url);
  const hint = allow.length > 0 ? `ask with ${askable(allow)}` : near && `did you mean ${near}?`;
  const steps = [hint, more].filter(Boolean).join('; ');
  return allow.length > 0
    ? {
        status: 405,
        code: 'request.method',
        message: `${method} is not answered here`,
        hint: steps,
        allow,
      }
    : { status: 404, code, message: `there is no such ${what}`, hint: steps, allow };
}

type NoRoute = ReturnType<typeof noSuchRoute>;

/** Sets the status of a refusal, and the methods that there are. */
export function withAllow(reply: FastifyReply, { status, allow }: NoRoute): FastifyReply {
  return allow.length > 0
    ? reply.code(status).header('allow', allow.join(', '))
    : reply.code(status);
}

/** Answers with such a refusal; `nextStep` is its hint as programs of the ERP read it. */
export function sendNoRoute(reply: FastifyReply, refusal: NoRoute): FastifyReply {
  const problem = { ...problemOf(refusal), nextStep: refusal.hint };
  return withAllow(reply, refusal).type(PROBLEM_TYPE).send(problem);
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
