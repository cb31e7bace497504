/**
 * The OpenAPI description of the local API, for programs of the ERP and of the machine: made from
 * the schemas that requests are checked by. Routes that only the command line uses are left out,
 * because they change with each version.
 */
import { z } from 'zod';
import { createDocument, type ZodOpenApiOperationObject } from 'zod-openapi';
import {
  anyDocument,
  bothShapes,
  errorSchema,
  findQuery,
  healthSchema,
  idParams,
  keyHeader,
  outcomesQuery,
  outcomesSchema,
  receiptSchema,
  refusalSchema,
} from './schemas.ts';

const JSON_TYPE = 'application/json';

function answer(description: string, schema: z.ZodType) {
  return { description, content: { [JSON_TYPE]: { schema } } };
}

const SUBMIT_ANSWERS = {
  200: answer('The same document was submitted before: its receipt now', receiptSchema),
  202: answer('Taken', receiptSchema),
  400: answer('No JSON, a member that is there twice, or a wrong header', errorSchema),
  401: answer('No token of `intake.clients`', errorSchema),
  408: {
    description: 'The request was too slow and took nothing; the body is empty',
    content: { 'text/plain': { schema: z.string() } },
  },
  409: answer('The reference, or the Idempotency-Key, is of another document', refusalSchema),
  413: answer('Larger than 1 MiB', errorSchema),
  415: answer('Not `application/json`', errorSchema),
  422: answer('Mistakes in the document, each with its place', refusalSchema),
  503: answer('Send it again later: it is never taken twice', errorSchema),
};

const READ_ERRORS = {
  400: answer('A parameter is wrong', errorSchema),
  401: answer('No token of `intake.clients`', errorSchema),
};

const SECURED = { security: [{ token: [] }], tags: ['ERP'] };

function submit(operationId: string, summary: string, schema: z.ZodType) {
  return {
    operationId,
    summary,
    description: 'A document is taken once, however often it is sent; `reference` tells it.',
    ...SECURED,
    requestParams: { header: z.object({ 'Idempotency-Key': keyHeader }) },
    requestBody: { required: true, content: { [JSON_TYPE]: { schema } } },
    responses: SUBMIT_ANSWERS,
  } satisfies ZodOpenApiOperationObject;
}

function health(operationId: string, summary: string, name: string) {
  return {
    operationId,
    summary,
    description: 'Needs no token, and says nothing of the business.',
    security: [],
    tags: ['health'],
    responses: {
      200: answer('Yes', healthSchema(name)),
      503: answer('No; `why` says why', healthSchema(name)),
    },
  } satisfies ZodOpenApiOperationObject;
}

const ERP_PATHS = {
  '/api/orders': {
    post: submit('submitOrder', 'Submit an order, with its reference in it', bothShapes('order')),
  },
  '/api/pending-refunds': {
    post: submit(
      'submitPendingRefund',
      'Submit a pending refund, with its reference in it',
      bothShapes('pending_refund'),
    ),
  },
  '/api/documents': {
    post: submit('submitDocument', 'Submit a document of any kind; `kind` is needed', anyDocument),
    get: {
      operationId: 'findDocument',
      summary: 'The receipt by kind and reference',
      description: 'For a program that lost the answer to its request.',
      ...SECURED,
      requestParams: { query: findQuery },
      responses: {
        200: answer('The receipt now', receiptSchema),
        404: answer('There is no such document', errorSchema),
        ...READ_ERRORS,
      },
    },
  },
  '/api/documents/{id}': {
    get: {
      operationId: 'getDocument',
      summary: 'The receipt of a document',
      description: 'Ask until `final` is true.',
      ...SECURED,
      requestParams: { path: idParams },
      responses: {
        200: answer('The receipt now', receiptSchema),
        401: READ_ERRORS[401],
        404: answer('There is no such document', errorSchema),
      },
    },
  },
  '/api/outcomes': {
    get: {
      operationId: 'listOutcomes',
      summary: 'What became of deliveries: up to 500, the oldest first, numbered above `after`',
      description: 'Keep the highest `outcomeId`, and ask with it next time.',
      ...SECURED,
      requestParams: { query: outcomesQuery },
      responses: { 200: answer('None: there is nothing new', outcomesSchema), ...READ_ERRORS },
    },
  },
};

export function localApiDocument() {
  return createDocument({
    openapi: '3.1.0',
    info: {
      title: 'Selvedge, local API',
      version: '0.1.0',
      license: { name: 'MIT', identifier: 'MIT' },
      contact: { name: 'Selvedge' },
      description: 'For programs on the same machine: the HTTP channel of the ERP, and health.',
    },
    servers: [{ url: 'http://127.0.0.1:8791', description: 'setting `local`, as shipped' }],
    tags: [
      { name: 'ERP', description: 'Documents, their receipts, and what became of deliveries' },
      { name: 'health', description: 'For whatever watches the daemon' },
    ],
    paths: {
      ...ERP_PATHS,
      '/healthz': { get: health('isHealthy', 'Whether the process works', 'healthy') },
      '/readyz': { get: health('isReady', 'Whether events can be taken', 'ready') },
    },
    components: {
      securitySchemes: {
        token: { type: 'http', scheme: 'bearer', description: 'A token of `intake.clients`.' },
      },
    },
  });
}
