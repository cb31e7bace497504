/**
 * Routes of the HTTP intake channel, for programs of the ERP: `/api/orders`,
 * `/api/pending-refunds`, `/api/documents`, and `/api/outcomes` of deliveries.
 * Each program has a token of its own from the configuration, which gives access to nothing else
 * here. A submitted document is answered with its receipt:
 *
 *   202 taken   200 submitted before   409 reference or key of another document   422 mistakes
 *
 * A request that is wrong itself is answered with `{code, message, nextStep}`: 400 (no JSON, a
 * wrong header), 401, 404, 413 (too large), 415 (not application/json).
 */
import { timingSafeEqual } from 'node:crypto';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Clock } from '../lib/clock.ts';
import { RetryLaterError, SelvedgeError } from '../lib/errors.ts';
import { requestProblem } from '../lib/http-server.ts';
import { isJsonObject, sha256 } from '../lib/json.ts';
import type { Secret } from '../lib/secret.ts';
import { DOCUMENT_KINDS } from '../outbox/documents.ts';
import { onFile } from '../outbox/enqueue.ts';
import {
  DOCUMENT_BYTES_MAX,
  type Envelope,
  parsePayload,
  readEnvelope,
} from '../outbox/intake/envelope.ts';
import { type Intake, invalid, type SubmitResult } from '../outbox/intake/intake.ts';
import { outcomesAfter } from '../outbox/intake/outcomes.ts';
import { readReceipt, refusalReceipt } from '../outbox/intake/receipt.ts';
import type { Store } from '../store/store.ts';
import type { RouteGroup } from './api.ts';
import { findQuery, idParams, keyHeader, outcomesQuery } from './openapi/schemas.ts';

export interface IntakeRouteDeps {
  readonly store: Store;
  readonly intake: Intake;
  readonly clock: Clock;
  readonly clients: readonly { readonly name: string; readonly token: Secret }[];
}

const NOT_JSON = 'the body is not declared as JSON: send "Content-Type: application/json"';

const KINDS: Readonly<Record<string, string>> = {
  '/api/orders': 'order',
  '/api/pending-refunds': 'pending_refund',
};

const REFUSED_WITH = { invalid: 422, conflict: 409, key_reused: 409 } as const;

function clientOf({ clients }: IntakeRouteDeps, { headers }: FastifyRequest): string | undefined {
  // HTTP ignores the case of an authentication scheme's name.
  const written = (headers.authorization ?? '').replace(/^bearer +/i, 'Bearer ');
  const given = Buffer.from(sha256(written));
  const known = clients.filter(({ token }) =>
    timingSafeEqual(given, Buffer.from(sha256(`Bearer ${token.reveal()}`))),
  );
  return known[0]?.name;
}

const NEXT_STEPS = {
  bad_key: 'send the request again with another Idempotency-Key, or without one',
  bad_request: 'correct the request and send it again; nothing was taken',
  failed: 'send the same request again; the log of the daemon says more',
  later: 'send the same request again later: it is never taken twice',
  no_room: 'send the same request again later; this one took nothing',
  no_token: 'send "Authorization: Bearer" with the token that intake.clients names for you',
  unknown: 'check the number or the reference; submit again what was never taken',
} as const;

function refuse(
  reply: FastifyReply,
  status: number,
  code: keyof typeof NEXT_STEPS,
  message: string,
): FastifyReply {
  const nextStep = NEXT_STEPS[code];
  return reply.code(status).send({ code: `intake.${code}`, message, nextStep });
}

async function answer(
  deps: IntakeRouteDeps,
  reply: FastifyReply,
  kind: string | null,
  handed: SubmitResult,
): Promise<FastifyReply> {
  if (!handed.ok) {
    const receipt = refusalReceipt(kind, handed, deps.clock.now());
    const code = `intake.${handed.code}`;
    return reply.code(REFUSED_WITH[handed.code]).send({ code, ...receipt });
  }
  const receipt = await readReceipt(deps.store.db, handed.documentId);
  return reply
    .code(handed.repeated ? 200 : 202)
    .header('location', `/api/documents/${handed.documentId}`)
    .send(receipt);
}

async function submit(
  deps: IntakeRouteDeps,
  request: FastifyRequest,
  reply: FastifyReply,
  envelope: Envelope,
): Promise<FastifyReply> {
  const client = clientOf(deps, request) ?? '';
  const key = keyHeader.safeParse(request.headers['idempotency-key']);
  if (!key.success) {
    const message = 'Idempotency-Key must be 1 to 200 visible characters';
    return refuse(reply, 400, 'bad_key', message);
  }
  const idempotencyKey = key.data === undefined ? undefined : { client, key: key.data };
  const receivedAt = deps.clock.now();
  const delivered = {
    ...envelope,
    channel: 'http' as const,
    source: client,
    receivedAt,
    idempotencyKey,
  };
  let handed: SubmitResult | undefined;
  try {
    [handed] = await deps.intake.submit([delivered]);
  } catch (error) {
    // A full disk is not an error to log here: the log reports it once, and not at each request.
    if (!(error instanceof RetryLaterError)) throw error;
    return refuse(reply, 503, error.code === 'intake.no_room' ? 'no_room' : 'later', error.message);
  }
  return handed
    ? answer(deps, reply, envelope.kind, handed)
    : refuse(reply, 500, 'failed', 'see the log of the daemon');
}

const OUTCOMES_MAX = 500;

/**
 * Installs the route for outcomes of deliveries. A program names the last outcome id that it has,
 * and gets those that follow.
 */
function installOutcomes(app: FastifyInstance, { store }: IntakeRouteDeps): void {
  app.get('/api/outcomes', async (request, reply) => {
    const query = outcomesQuery.safeParse(request.query);
    if (!query.success) {
      const message = 'ask with ?after=…, the outcomeId of the last one that you have; 0 at first';
      return refuse(reply, 400, 'bad_request', message);
    }
    const after = Number(query.data.after);
    return reply.send({ outcomes: await outcomesAfter(store.db, after, OUTCOMES_MAX) });
  });
}

function installReading(app: FastifyInstance, deps: IntakeRouteDeps): void {
  const { db } = deps.store;
  const none = 'nothing like it was submitted';
  app.get('/api/documents/:id', async (request, reply) => {
    const params = idParams.safeParse(request.params);
    const receipt = params.success && (await readReceipt(db, Number(params.data.id)));
    return receipt ? reply.send(receipt) : refuse(reply, 404, 'unknown', none);
  });
  app.get('/api/documents', async (request, reply) => {
    const query = findQuery.safeParse(request.query);
    if (!query.success) {
      const message = `ask with ?kind=…&reference=…; kind is one of ${DOCUMENT_KINDS.join(', ')}`;
      return refuse(reply, 400, 'bad_request', message);
    }
    const found = await onFile(db, query.data.kind, query.data.reference);
    const receipt = found && (await readReceipt(db, found.outboxId));
    return receipt ? reply.send(receipt) : refuse(reply, 404, 'unknown', none);
  });
}

function jsonOf(text: string): unknown {
  const read = parsePayload(text);
  if ('payload' in read) return read.payload;
  const message = read.problems.map(({ path, message: told }) => `${path || 'the body'} ${told}`);
  throw Object.assign(new Error(message.join('; ')), { statusCode: 400 });
}

/** Answers an error of the request with 4xx and its text, any other with 503. */
function onError(error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const status = isJsonObject(error) ? Number(error.statusCode) : 500;
  const isOurs = error instanceof SelvedgeError || !(status >= 400 && status < 500);
  if (!isOurs) {
    const message = error instanceof Error ? requestProblem(error, request) : '';
    return refuse(reply, status, 'bad_request', status === 415 ? NOT_JSON : message);
  }
  // The document may have been taken although its receipt could not be read.
  return refuse(reply, 503, 'later', 'it is not known whether anything was taken');
}

export function intakeRoutes(deps: IntakeRouteDeps): RouteGroup {
  const options = { bodyLimit: DOCUMENT_BYTES_MAX };
  return {
    access: 'open',
    install(app) {
      app.setErrorHandler(onError);
      // Removes Fastify's parsers: that for text/plain would take such bodies, and that for JSON
      // does not say where a body is no JSON.
      app.removeAllContentTypeParsers();
      app.addContentTypeParser<string>(
        'application/json',
        { parseAs: 'string' },
        async (_: FastifyRequest, body: string) => jsonOf(body),
      );
      app.addHook('onRequest', async (request, reply) => {
        if (clientOf(deps, request) !== undefined) return undefined;
        const message = 'no token of intake.clients came with it';
        return refuse(reply.header('www-authenticate', 'Bearer'), 401, 'no_token', message);
      });
      for (const [path, kind] of Object.entries(KINDS)) {
        app.post(path, options, (request, reply) =>
          submit(deps, request, reply, { kind, reference: undefined, payload: request.body }),
        );
      }
      app.post('/api/documents', options, (request, reply) => {
        const read = readEnvelope(request.body);
        if ('problems' in read) {
          return answer(deps, reply, null, invalid(undefined, read.problems));
        }
        return submit(deps, request, reply, read.envelope);
      });
      installReading(app, deps);
      installOutcomes(app, deps);
    },
  };
}
