/**
 * A route of V1: its address, who may call it, and its parameters. From the table of routes the
 * server registers them, and descriptions of V1 are made.
 */
import { z } from 'zod';
import type { Key } from '../keys.ts';
import { type Answer, invalid } from './answer.ts';

/**
 * Access to a route: `open` needs no key, `catalog` also admits read tokens, `webhooks` needs that
 * right.
 */
export type Access = 'open' | 'catalog' | 'full' | 'webhooks';

interface RawCall {
  readonly key: Key | undefined;
  readonly params: unknown;
  readonly query: unknown;
  readonly body: unknown;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
}

export interface Route {
  readonly method: 'GET' | 'POST';
  /** Path with fastify's `:name` for parameters. */
  readonly path: string;
  readonly access: Access;
  readonly summary: string;
  /** Path that replaces a deprecated one. */
  readonly successor?: (params: Readonly<Record<string, string | undefined>>) => string;
  readonly params: z.ZodObject;
  readonly query: z.ZodObject;
  readonly body: z.ZodType | undefined;
  run(call: RawCall): Answer;
}

interface Call<P, Q, B> {
  readonly key: Key;
  readonly params: P;
  readonly query: Q;
  readonly body: B;
  readonly headers: RawCall['headers'];
}

interface Spec<P extends z.ZodObject, Q extends z.ZodObject, B extends z.ZodType> {
  readonly method: Route['method'];
  readonly path: string;
  readonly access: Access;
  readonly summary: string;
  readonly successor?: NonNullable<Route['successor']>;
  readonly params?: P;
  readonly query?: Q;
  readonly body?: B;
  readonly handle: (call: Call<z.output<P>, z.output<Q>, z.output<B>>) => Answer;
}

/** Key for a call of an open route without a key. */
const NOBODY: Key = {
  name: 'nobody',
  detailedPricing: false,
  readOnly: true,
  webhooks: false,
  account: undefined,
};

function problems(error: z.ZodError, where: string): string[] {
  return error.issues.map((issue) => `${issue.path.join('.') || where}: ${issue.message}`);
}

/**
 * Parses a part of the request. Problems are collected from all parts before the request is
 * refused.
 */
function parsePart<T extends z.ZodType>(
  schema: T,
  value: unknown,
  where: string,
  lines: string[],
): z.output<T> | undefined {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  lines.push(...problems(parsed.error, where));
  return undefined;
}

export function defineRoute<
  P extends z.ZodObject = z.ZodObject,
  Q extends z.ZodObject = z.ZodObject,
  B extends z.ZodType = z.ZodType,
>(spec: Spec<P, Q, B>): Route {
  const { handle, params = z.object({}), query = z.object({}), body, ...rest } = spec;
  return {
    ...rest,
    params,
    query,
    body,
    run(call) {
      const lines: string[] = [];
      const parsed = {
        params: parsePart<z.ZodType>(params, call.params, 'path', lines),
        query: parsePart<z.ZodType>(query, call.query, 'query', lines),
        body: body && parsePart<z.ZodType>(body, call.body, 'body', lines),
      };
      if (lines.length > 0) throw invalid(lines);
      // The schemas have just verified the types that the handler states.
      const typed = parsed as Pick<
        Call<z.output<P>, z.output<Q>, z.output<B>>,
        keyof typeof parsed
      >;
      return handle({ ...typed, key: call.key ?? NOBODY, headers: call.headers });
    },
  };
}

const TRUTH = { true: true, false: false } as const;

/** Schema of a flag in a query: `true` or `false`, and false when left out. */
export const flag = z
  .enum(['true', 'false'])
  .default('false')
  .transform((text) => TRUTH[text]);

/** Schema of a positive whole number in a path or a query. */
export const wholeNumber = z
  .string()
  .regex(/^\d{1,15}$/, 'must be a whole number')
  .transform(Number);
