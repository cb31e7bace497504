/**
 * The OpenAPI description of the console: made from the schemas that requests are checked by, and
 * from those of the answers, with which a test parses every real answer.
 */
import { z } from 'zod';
import { createDocument } from 'zod-openapi';
import { reviewQuery } from '../../decisions/review/filter.ts';
import { selectionSchema } from '../../decisions/review/lists.ts';
import { actPaths, listPaths } from '../surface/openapi.ts';
import { ACTS, LISTS } from '../surface/registry.ts';
import {
  deliverySchema,
  liveSchema,
  nothingSchema,
  overviewSchema,
  pushSchema,
} from './answers.ts';
import { GOODS_PATHS } from './goods-paths.ts';
import { OPERATION_PATHS as PULL_PATHS } from './operation-paths.ts';
import { answer, csvOf, jsonOf, NO_SUCH, READ_PROBLEMS, SECURED, WRITE_PROBLEMS } from './route.ts';
import { RULE_PATHS } from './rule-paths.ts';

const idOfDelivery = z.object({
  id: z.string().meta({
    description: 'Its id or its number; `id:500044` is an id whatever numbers there are',
    example: '500044',
  }),
});
const idParams = z.object({ id: z.int().min(1) });

const REVIEW_PATHS = {
  '/review/selection.json': jsonOf(
    {
      id: 'selectDeliveries',
      tag: 'review',
      query: reviewQuery,
      summary: 'What a bulk act must expect of a filter',
    },
    selectionSchema,
  ),
  '/deliveries/{id}.json': jsonOf(
    {
      id: 'getDelivery',
      tag: 'review',
      path: idOfDelivery,
      summary: 'A delivery with all that a decision needs',
      problems: NO_SUCH,
    },
    deliverySchema,
  ),
  '/deliveries/{id}.csv': csvOf({
    id: 'getDeliveryCsv',
    tag: 'review',
    summary: 'Its lines',
    path: idOfDelivery,
    problems: NO_SUCH,
  }),
};

const OUTBOX_PATHS = {
  '/outbox/{id}.json': jsonOf(
    {
      id: 'getPush',
      tag: 'outbox',
      path: idParams,
      problems: NO_SUCH,
      summary: 'A push with its attempts, evidence, and what the service has',
    },
    pushSchema,
  ),
};

function signingOut(operationId: string, summary: string) {
  return {
    post: {
      operationId,
      summary,
      description: 'Ends at once; what was sent before is done.',
      tags: ['session'],
      security: SECURED,
      responses: {
        200: answer('Signed out', nothingSchema),
        401: READ_PROBLEMS[401],
        403: WRITE_PROBLEMS[403],
        421: READ_PROBLEMS[421],
      },
    },
  };
}

const SESSION_PATHS = {
  '/sign-out': signingOut('signOut', 'End this session or token'),
  '/sign-out/everywhere': signingOut('signOutEverywhere', 'End all sessions of this name'),
};

const OPERATION_PATHS = {
  '/index.json': jsonOf(
    {
      id: 'getOverview',
      tag: 'operation',
      summary: 'Whether all is well, and what needs a person',
    },
    overviewSchema,
  ),
  '/index.csv': csvOf({ id: 'getOverviewCsv', tag: 'operation', summary: 'Its numbers' }),
  '/changes.json': jsonOf(
    { id: 'getChanges', tag: 'operation', summary: 'Three numbers to ask for again and again' },
    liveSchema,
  ),
  '/openapi.json': jsonOf(
    { id: 'getDescription', tag: 'operation', summary: 'This description' },
    z.looseObject({ openapi: z.string() }),
  ),
};

const DESCRIPTION = `What the pages of the console show and do, for programs.

Points in time are ISO 8601 in UTC; amounts are decimals. A list gives a page of rows with \`next\`:
for deliveries it is the \`after\` of the next page, for pushes the \`before\`; null ends it.
A session that may not see names and addresses of customers gets \`•••\` in their place; a token is
one. Each change names its reason and is written to the audit.`;

export function consoleDocument() {
  return createDocument({
    openapi: '3.1.0',
    info: {
      title: 'Selvedge, console',
      version: '0.1.0',
      license: { name: 'MIT', identifier: 'MIT' },
      contact: { name: 'Selvedge' },
      description: DESCRIPTION,
    },
    servers: [{ url: 'http://127.0.0.1:8793', description: 'setting `console`, as shipped' }],
    tags: [
      { name: 'review', description: 'Deliveries, and what people decide about them' },
      {
        name: 'outbox',
        description: 'Pushes on their way to the service, and documents of the ERP',
      },
      { name: 'operation', description: 'Health, and pauses' },
      { name: 'stock', description: 'Styles by color and size, now and before' },
      { name: 'reports', description: 'Named questions to the mirror, as tables and files' },
      { name: 'rules', description: 'Rules in force, rules on trial, and the arming of rejects' },
      { name: 'pulls', description: 'Streams, their runs, and what a run held back' },
      { name: 'events', description: 'What the relay sent, and its replay' },
      { name: 'system', description: 'Host, doctor, settings, audit, and who is signed in' },
      { name: 'session', description: 'Its end' },
    ],
    paths: {
      ...OPERATION_PATHS,
      ...REVIEW_PATHS,
      ...OUTBOX_PATHS,
      ...RULE_PATHS,
      ...PULL_PATHS,
      ...GOODS_PATHS,
      ...SESSION_PATHS,
      ...actPaths(ACTS),
      ...listPaths(LISTS),
    },
    components: {
      securitySchemes: {
        token: {
          type: 'http',
          scheme: 'bearer',
          description: 'A token of `selvedge console token <name>`.',
        },
        cookie: {
          type: 'apiKey',
          in: 'cookie',
          name: '__Host-selvedge',
          description:
            'The session of a person, set by signing in; without https its name is `selvedge`.',
        },
      },
    },
  });
}
