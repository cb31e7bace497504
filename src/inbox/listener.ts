/**
 * The listener for events: one path, one method, signed JSON. It verifies, stores the event and
 * answers; it calls nobody and decides nothing. Answers are constant texts, because the relay shows
 * them in its portal; the reason goes to the log and counters. Status codes for the relay: 204 when
 * the event is durable, whatever its body is, because everything signed is stored. 401 for a forged
 * or stale signature, 400 for malformed headers, 403/404/405/413/415/431 for anything that is no
 * event. 503 with `Retry-After` when the event cannot be stored now, so that the relay keeps it.
 * Never 410 (it would disable the endpoint) and never a redirect.
 */

import type { IncomingMessage, Server } from 'node:http';
import { Server as NetServer, type Socket } from 'node:net';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Clock } from '../lib/clock.ts';
import { RetryLaterError } from '../lib/errors.ts';
import { createHttpServer, listenOn, urlOf } from '../lib/http-server.ts';
import type { Logger } from '../lib/log.ts';
import { type Access, isSigned, PROBE_PATH, type Verifier } from './access.ts';
import type { EventStore } from './event-store.ts';
import type { Meter } from './meter.ts';

// `drainServer` stops an HTTP server without losing a request. `http.Server.close()` would also
// destroy accepted connections without a request yet, so only the listening socket is closed first;
// the listener answers later requests with `Connection: close`.

/** Milliseconds that a fresh connection has to send its request while the server stops. */
const GRACE_MS = 1_000;

/** Stops a server; resolves when its last connection has ended, or at the deadline. */
async function drainServer(server: Server, deadlineMs: number, clock: Clock): Promise<void> {
  if (!server.listening) return;
  const closed = new Promise<void>((resolve) => server.once('close', resolve));
  NetServer.prototype.close.call(server);
  const idle = clock.after(Math.min(GRACE_MS, deadlineMs), () => server.closeIdleConnections());
  const force = clock.after(deadlineMs, () => server.closeAllConnections());
  await closed;
  idle.cancel();
  force.cancel();
}

export interface ListenerLimits {
  readonly bodyBytesMax: number;
  readonly headersMax: number;
  readonly connectionsMax: number;
  readonly requestsPerSocketMax: number;
  /** Most body bytes of all requests together that are being received or stored. */
  readonly inFlightBytesMax: number;
  /** Milliseconds until the headers must have come; `requestMs`: until the body must. */
  readonly headersMs: number;
  readonly requestMs: number;
  /**
   * Milliseconds that an idle connection stays open: 65 s behind a reverse proxy, whose own limit
   * it must outlast, else short.
   */
  readonly keepAliveMs: number;
  /** Seconds after which the relay may try again, sent as `Retry-After` of a 503. */
  readonly retryAfterSeconds: number;
}

export const LISTENER_LIMITS: ListenerLimits = {
  // A delivery of 5,000 lines, as many as the intake takes, is one event of about 1 MiB.
  bodyBytesMax: 2_097_152,
  headersMax: 64,
  connectionsMax: 256,
  requestsPerSocketMax: 1_000,
  inFlightBytesMax: 33_554_432,
  headersMs: 5_000,
  requestMs: 10_000,
  keepAliveMs: 65_000,
  retryAfterSeconds: 30,
};

export interface ListenerDeps {
  /** Second factors, which decide which requests are examined at all. */
  readonly access: Access;
  readonly verifier: Verifier;
  readonly eventStore: EventStore;
  readonly meter: Meter;
  readonly clock: Clock;
  readonly log: Logger;
  /** Whether events can be stored; false e.g. while the disk is nearly full. */
  readonly writable: () => boolean;
}

/** Address to listen on, or a socket opened by the service manager. */
type ListenAt = { readonly host: string; readonly port: number } | { readonly fd: number };

export interface Listener {
  /** Starts to listen and returns the base URL; an inherited Unix socket has none. */
  start(at: ListenAt): Promise<{ readonly url: string | undefined }>;
  /** Answers all requests in progress, then stops; cuts connections at the deadline. */
  close(deadlineMs: number): Promise<void>;
}

const ANSWERS: Readonly<Record<number, string>> = {
  400: '{"error":"bad request"}',
  401: '{"error":"unauthorized"}',
  403: '{"error":"forbidden"}',
  404: '{"error":"not found"}',
  405: '{"error":"method not allowed"}',
  408: '{"error":"timeout"}',
  413: '{"error":"too large"}',
  415: '{"error":"unsupported media type"}',
  431: '{"error":"too many headers"}',
  503: '{"error":"unavailable"}',
};

interface Refusal {
  readonly status: number;
  readonly reason: string;
  /** Name of the key that signed the request, if the signature is valid. */
  readonly secretName?: string | undefined;
}

const NO_BODY = Buffer.alloc(0);

/** Refusal that the request's head alone decides, before its body is read. */
function refusalOf(
  { headers, raw }: FastifyRequest,
  access: Access,
  limits: ListenerLimits,
): Refusal | undefined {
  if (!access.isPath(raw.url)) return { status: 404, reason: 'path' };
  const lacks = access.lacks(raw);
  if (lacks) return { status: lacks === 'address' ? 403 : 401, reason: lacks };
  if (raw.method !== 'POST') return { status: 405, reason: 'method' };
  if (raw.rawHeaders.length > limits.headersMax * 2) return { status: 431, reason: 'headers' };
  if (headers['content-encoding'] !== undefined) return { status: 415, reason: 'encoding' };
  if (!/^application\/json\s*(?:;|$)/i.test(headers['content-type'] ?? '')) {
    return { status: 415, reason: 'media type' };
  }
  if (Number(headers['content-length'] ?? 0) > limits.bodyBytesMax) {
    return { status: 413, reason: 'too large' };
  }
  return undefined;
}

/** Replaces fastify's answers to bytes that are not HTTP, and to `Expect` before a large body. */
function guardSocket(server: Server, limits: ListenerLimits, meter: Meter): void {
  server.maxRequestsPerSocket = limits.requestsPerSocketMax;
  server.removeAllListeners('clientError');
  server.on('clientError', (error: Error & { code?: string }, socket: Socket) => {
    const status =
      { HPE_HEADER_OVERFLOW: 431, ERR_HTTP_REQUEST_TIMEOUT: 408 }[error.code ?? ''] ?? 400;
    meter.refused(status === 408 ? 'too slow' : 'no http');
    if (socket.writable && error.code !== 'ECONNRESET') {
      socket.write(
        `HTTP/1.1 ${status} ${status}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`,
      );
    }
    socket.destroySoon();
  });
  server.on('checkContinue', (request, response) => {
    const tooLarge = Number(request.headers['content-length'] ?? 0) > limits.bodyBytesMax;
    if (!tooLarge) response.writeContinue();
    server.emit('request', request, response);
  });
}

interface BodyBudget {
  /** Reserves memory for the request's body until its answer, or refuses the request. */
  take(reply: FastifyReply): Refusal | undefined;
  /** Reads the body, and reserves more memory as more of it arrives than was reserved. */
  read(request: IncomingMessage): Promise<Buffer>;
}

/**
 * Bytes that a body may have without their arrival: a larger one is reserved as it arrives, so that
 * a few senders who announce large bodies and send nothing do not shut others out.
 */
const RESERVED_BYTES = 262_144;

function refusedBody(statusCode: number, message: string): Error {
  return Object.assign(new Error(message), { statusCode });
}

function createBodyBudget(limits: ListenerLimits): BodyBudget {
  let held = 0;
  const reserved = new WeakMap<IncomingMessage, number>();
  const reserve = (request: IncomingMessage, bytes: number): boolean => {
    const before = reserved.get(request) ?? 0;
    if (bytes <= before) return true;
    if (held + bytes - before > limits.inFlightBytesMax) return false;
    held += bytes - before;
    reserved.set(request, bytes);
    return true;
  };
  return {
    take({ request: { raw }, raw: response }) {
      const declared = Number(raw.headers['content-length'] ?? limits.bodyBytesMax);
      if (!reserve(raw, Math.min(declared, RESERVED_BYTES))) {
        return { status: 503, reason: 'bodies' };
      }
      response.once('close', () => {
        held -= reserved.get(raw) ?? 0;
        reserved.delete(raw);
      });
      return undefined;
    },
    read(request) {
      // An iterator would close the connection before the answer, when it is left early.
      return new Promise((resolve, reject) => {
        const parts: Buffer[] = [];
        let bytes = 0;
        const fail = (error: Error): void => {
          request.off('data', add).pause();
          reject(error);
        };
        const add = (part: Buffer): void => {
          bytes += part.length;
          parts.push(part);
          if (bytes > limits.bodyBytesMax) fail(refusedBody(413, 'the body is too large'));
          else if (!reserve(request, bytes)) fail(refusedBody(503, 'too many bodies at once'));
        };
        request.on('data', add).once('error', fail);
        request.once('end', () => resolve(Buffer.concat(parts, bytes)));
      });
    },
  };
}

/** A fastify server that passes bodies unparsed, and answers every failure with a constant. */
function createApp(
  { log, meter }: ListenerDeps,
  limits: ListenerLimits,
  budget: BodyBudget,
  refuse: (reply: FastifyReply, refusal: Refusal) => void,
): FastifyInstance {
  const app = createHttpServer(log, limits);
  guardSocket(app.server, limits, meter);
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', (_request: FastifyRequest, body: IncomingMessage) =>
    budget.read(body),
  );
  app.setErrorHandler((error: Error & { statusCode?: number }, _request, reply) => {
    const status = error.statusCode ?? 503;
    // The rest of a body that was not read would be taken for the next request.
    reply.header('connection', 'close');
    refuse(reply, { status: ANSWERS[status] ? status : 503, reason: `error ${status}` });
  });
  return app;
}

export function createListener(
  deps: ListenerDeps,
  limits: ListenerLimits = LISTENER_LIMITS,
): Listener {
  const { access, verifier, eventStore, meter, clock } = deps;
  const budget = createBodyBudget(limits);
  let stopping = false;

  const refuse = (reply: FastifyReply, { status, reason, secretName }: Refusal): void => {
    const from = access.senderOf(reply.request.raw);
    const isProbe = reason === 'path' && reply.request.raw.url === PROBE_PATH;
    if (!isProbe) meter.refused(reason, { from, ...(secretName ? { secretName } : {}) });
    // A 503 is told by its own reason, and the event comes again.
    if (status !== 503 && isSigned(reply.request.headers)) meter.eventRefused(reason);
    if (status === 405) reply.header('allow', 'POST');
    // Ends the connection, because the unread rest of the body would be taken for the next request.
    if (status === 413) reply.header('connection', 'close');
    if (status === 503) meter.unavailable(reason);
    if (status === 503) reply.header('retry-after', String(limits.retryAfterSeconds));
    reply.code(status).type('application/json').send(ANSWERS[status]);
  };

  const receive = async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    const body = Buffer.isBuffer(request.body) ? request.body : NO_BODY;
    const verification = verifier.verify(request.headers, body, clock.now());
    if (verification.secretName && verification.sentAt) meter.signed(verification.sentAt);
    if (!verification.ok) {
      const { reason, secretName } = verification;
      refuse(reply, { status: reason === 'malformed' ? 400 : 401, reason, secretName });
      return;
    }
    try {
      await eventStore.accept({ ...verification, body });
      reply.code(204).send();
    } catch (error) {
      if (!(error instanceof RetryLaterError)) throw error;
      refuse(reply, { status: 503, reason: error.code });
    }
  };

  const app = createApp(deps, limits, budget, refuse);
  app.addHook('onRequest', (request, reply, done) => {
    const writable = deps.writable() ? undefined : { status: 503, reason: 'unwritable' };
    const refusal = refusalOf(request, access, limits) ?? writable ?? budget.take(reply);
    if (refusal) refuse(reply, refusal);
    else done();
  });
  app.addHook('onSend', (_request, reply, payload, done) => {
    reply.header('cache-control', 'no-store');
    if (stopping) reply.header('connection', 'close');
    done(null, payload);
  });
  app.post('*', receive);

  return {
    async start(at) {
      if (!('fd' in at)) return listenOn(app, at.host, at.port, 'listener.port');
      await app.ready();
      await new Promise<void>((resolve, reject) => {
        app.server.once('error', reject);
        app.server.listen({ fd: at.fd }, resolve);
      });
      const address = app.server.address();
      if (address === null || typeof address === 'string') return { url: undefined };
      return { url: urlOf(address) };
    },
    async close(deadlineMs) {
      stopping = true;
      await drainServer(app.server, deadlineMs, clock);
      await app.close();
    },
  };
}
