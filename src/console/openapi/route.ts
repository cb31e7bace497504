/** Builds OpenAPI operations: a read with its JSON and CSV twins, and a change. */
import { z } from 'zod';
import type { ZodOpenApiOperationObject } from 'zod-openapi';
import { problemSchema } from '../../surface/problem.ts';
import type { Role } from '../../surface/roles.ts';
import { csvQuery } from '../show.ts';

const JSON_TYPE = 'application/json';
const PROBLEM = 'application/problem+json';

export function answer(description: string, schema: z.ZodType) {
  return { description, content: { [JSON_TYPE]: { schema } } };
}

export function problem(description: string) {
  return { description, content: { [PROBLEM]: { schema: problemSchema } } };
}

export const READ_PROBLEMS = {
  400: problem('The request cannot be read; the message names the member'),
  401: problem('The token or the session is missing, over or revoked'),
  403: problem('The proxy named a person who may not come in'),
  421: {
    description: 'The host name does not lead here; a line of text',
    content: { 'text/plain': { schema: z.string() } },
  },
};

export const NO_SUCH = { 404: problem('There is no such thing') };
export const PLACE = { 409: problem('There is no such place in the list: begin again without it') };

export const WRITE_PROBLEMS = {
  ...READ_PROBLEMS,
  403: {
    description: 'The role may not do this; or a line of text, to a page of another site',
    content: {
      [PROBLEM]: { schema: problemSchema },
      'text/plain': { schema: z.string() },
    },
  },
  ...NO_SUCH,
  409: problem('Not as things are now: read again, then decide'),
  429: problem('More than 120 changes in a minute'),
};

export const SECURED = [{ token: [] }, { cookie: [] }];

interface Reading {
  readonly id: string;
  readonly tag: string;
  readonly summary: string;
  /** Lowest role that reads it; undefined: any. */
  readonly role?: Role | undefined;
  readonly path?: z.ZodObject;
  readonly query?: z.ZodObject;
  /** Error answers of this read, beside those that every read has. */
  readonly problems?: ZodOpenApiOperationObject['responses'];
}

export function reading(of: Reading, done: object) {
  const who = of.role ? `needs the role ${of.role}` : 'any role reads it';
  return {
    get: {
      operationId: of.id,
      summary: of.summary,
      description: `Changes nothing; ${who}.`,
      tags: [of.tag],
      security: SECURED,
      requestParams: { ...(of.path && { path: of.path }), ...(of.query && { query: of.query }) },
      responses: {
        200: done,
        ...READ_PROBLEMS,
        ...(of.role && { 403: problem('The role may not read this') }),
        ...of.problems,
      },
    },
  };
}

export function jsonOf(of: Reading, schema: z.ZodType) {
  return reading(of, answer('The rows', schema));
}

export function csvOf({ query, ...of }: Reading) {
  const wanted = query ? query.extend(csvQuery.shape) : csvQuery;
  const description =
    'RFC 4180 with a header; with `locale` as spreadsheets there read it, such as `;` and `1,5`. ' +
    "A text that a spreadsheet would run has a `'` before it.";
  const schema = z.string();
  return reading({ ...of, query: wanted }, { description, content: { 'text/csv': { schema } } });
}

interface Writing {
  readonly id: string;
  readonly tag: string;
  readonly summary: string;
  /** Lowest role that the change needs. */
  readonly role: 'operator' | 'approver';
  readonly path?: z.ZodObject;
  readonly body: z.ZodType;
  readonly done: z.ZodType;
}

export function writing(of: Writing) {
  return {
    post: {
      operationId: of.id,
      summary: of.summary,
      description: `Needs the role ${of.role}.`,
      tags: [of.tag],
      security: SECURED,
      requestParams: { ...(of.path && { path: of.path }) },
      requestBody: { required: true, content: { [JSON_TYPE]: { schema: of.body } } },
      responses: { 200: answer('Done', of.done), ...WRITE_PROBLEMS },
    },
  };
}
