/**
 * The only way to create an HTTP server: fastify with deliberate limits and one error handler. A
 * server never answers with an internal error's text.
 */
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { type AddressInfo, createServer, type Server } from 'node:net';
import Fastify, { type FastifyInstance, type FastifyRequest } from 'fastify';
import { systemClock } from './clock.ts';
import { BugError, ConfigError, toError } from './errors.ts';
import { isJsonObject } from './json.ts';
import type { Logger } from './log.ts';

/**
 * Keeps at most `connectionsMax` connections to a server. Beyond that, the connection closes that
 * has gone longest without a whole request, so that slow or silent senders cannot shut the others
 * out; the newest closes only when every request has arrived and waits for its answer.
 */
function limitConnections(server: Server, connectionsMax: number): void {
  // Connections are in the order of their last answer, or of their start if they have had none.
  const open = new Map<Socket, IncomingMessage | undefined>();
  const oldestWithoutRequest = (): Socket | undefined => {
    for (const [socket, request] of open) if (!request?.complete) return socket;
    return undefined;
  };
  server.on('connection', (socket: Socket) => {
    const closed = open.size < connectionsMax ? undefined : (oldestWithoutRequest() ?? socket);
    if (closed !== socket) {
      open.set(socket, undefined);
      socket.once('close', () => open.delete(socket));
    }
    if (closed === undefined) return;
    open.delete(closed);
    closed.destroy();
  });
  server.on('request', (request, response) => {
    const { socket } = request;
    open.set(socket, request);
    response.once('close', () => {
      // A pipelined request may have taken this one's place.
      if (open.get(socket) !== request) return;
      open.delete(socket);
      if (!socket.destroyed) open.set(socket, undefined);
    });
  });
}

export interface HttpServerLimits {
  readonly bodyBytesMax: number;
  readonly connectionsMax: number;
  /** Milliseconds from the connection to the end of the request's headers. */
  readonly headersMs: number;
  /** Milliseconds from the connection to the end of the request's body. */
  readonly requestMs: number;
  readonly keepAliveMs: number;
}

const HTTP_SERVER_LIMITS: HttpServerLimits = {
  bodyBytesMax: 1_048_576,
  connectionsMax: 256,
  headersMs: 5_000,
  requestMs: 10_000,
  keepAliveMs: 65_000,
};

/**
 * Maximum bytes of a request's headers, with the cookies of a proxy that signs people in, which are
 * 8 KB and more; Node itself answers larger ones with 431.
 */
const HEADER_BYTES_MAX = 32_768;
const REQUESTS_PER_SOCKET_MAX = 100_000;
/** Maximum milliseconds that a closing server waits for its clients. */
const CLOSE_MS_MAX = 5_000;
/**
 * Milliseconds between Node's checks of the limits above; its default of 30 s would let a slow
 * sender exceed them by that much.
 */
const CONNECTIONS_CHECK_MS = 1_000;

function refuseSchema(): never {
  throw new BugError('bug.route_schema', 'a route has a schema for fastify: zod checks ours');
}

/**
 * Compilers of fastify's schemas, which no route of ours has. Its own would be loaded with each
 * server: 130 modules, and with their checks six MiB.
 */
const NO_COMPILERS = {
  buildValidator: () => refuseSchema,
  buildSerializer: () => refuseSchema,
};

/**
 * Makes a fastify instance with bounded bodies, headers, times and connections. The caller adds
 * routes and its own error shape (`setErrorHandler`), then calls {@link listenOn}.
 */
export function createHttpServer(
  log: Logger,
  limits: HttpServerLimits = HTTP_SERVER_LIMITS,
): FastifyInstance {
  const app = Fastify({
    schemaController: { compilersFactory: NO_COMPILERS },
    bodyLimit: limits.bodyBytesMax,
    // Fastify sets this limit and the next on the server itself, overriding `http` below.
    requestTimeout: limits.requestMs,
    // A keep-alive time of 0 would keep idle connections open forever.
    keepAliveTimeout: Math.max(limits.keepAliveMs, 1),
    forceCloseConnections: false,
    return503OnClosing: false,
    // Fastify's own answer to an undecodable URL would repeat the URL.
    frameworkErrors(_error, _request, reply) {
      reply.raw.writeHead(400, { 'cache-control': 'no-store' }).end();
    },
    http: {
      maxHeaderSize: HEADER_BYTES_MAX,
      headersTimeout: limits.headersMs,
      connectionsCheckingInterval: CONNECTIONS_CHECK_MS,
    },
  });
  limitConnections(app.server, limits.connectionsMax);
  app.server.maxRequestsPerSocket = REQUESTS_PER_SOCKET_MAX;
  // A closing server cuts connections after a while, because an incomplete request or a slow answer
  // would keep it open forever.
  app.addHook('preClose', async () => {
    const force = systemClock().after(CLOSE_MS_MAX, () => app.server.closeAllConnections());
    app.server.once('close', () => force.cancel());
  });
  // Failures are logged after the caller's handler, because the answer's status tells whose fault
  // one was.
  const failures = new WeakMap<FastifyRequest, Error>();
  app.addHook('onError', async (request, _reply, error) => {
    failures.set(request, error);
  });
  // A later hook would not run for a client that has hung up and gets no answer.
  app.addHook('onSend', async (request, { statusCode }) => {
    const err = failures.get(request);
    if (err === undefined || statusCode < 500) return;
    log.error({ err, method: request.method, path: request.routeOptions.url }, 'http');
  });
  return app;
}

interface AddressError {
  readonly why: string;
  readonly hint: (setting: string) => string;
}

/** Reasons why an address cannot be listened on, by Node's error code. */
const ADDRESS_ERRORS: Readonly<Record<string, AddressError>> = {
  EADDRINUSE: {
    why: 'another program listens there',
    hint: (setting) => `end the other program, or change ${setting}`,
  },
  EADDRNOTAVAIL: {
    why: 'this machine has no such address',
    hint: (setting) => `change ${setting.replace(/port$/, 'host')}`,
  },
  EACCES: {
    why: 'this user may not use that port',
    hint: (setting) => `change ${setting}`,
  },
};

function cannotListen(host: string, port: number, setting: string, thrown: unknown): Error {
  const code = isJsonObject(thrown) ? String(thrown.code) : '';
  const known = ADDRESS_ERRORS[code];
  if (known === undefined) return toError(thrown);
  const message = `cannot listen on ${host} port ${port}: ${known.why} (${code})`;
  // Another program may end, and a network may come up late at boot, so both codes but EACCES pass
  // by themselves.
  const name = code === 'EACCES' ? 'http.address' : 'http.address_taken';
  return new ConfigError(name, message, { hint: known.hint(setting), cause: thrown });
}

/**
 * Starts listening and returns the base URL; port 0 means any free port. An unavailable address is
 * a ConfigError that names `setting`.
 */
export async function listenOn(
  app: FastifyInstance,
  host: string,
  port: number,
  setting = 'the port',
): Promise<{ readonly url: string; readonly port: number }> {
  try {
    await app.listen({ host, port });
  } catch (thrown) {
    throw cannotListen(host, port, setting, thrown);
  }
  const address: AddressInfo | string | null = app.server.address();
  if (address === null || typeof address === 'string') {
    throw new TypeError('the server does not listen on a TCP port');
  }
  return { url: urlOf(address), port: address.port };
}

/**
 * Holds a free address until disposed of; throws like `listenOn` when it is taken. Connections are
 * rejected meanwhile, because the disposal would wait for them.
 */
export async function holdAddress(host: string, port: number, setting: string): Promise<Server> {
  const server = createServer((socket) => socket.destroy()).listen({ host, port });
  try {
    await once(server, 'listening');
    return server;
  } catch (thrown) {
    throw cannotListen(host, port, setting, thrown);
  }
}

/** Base URL of a server that listens on this address. */
export function urlOf({ family, address, port }: AddressInfo): string {
  return `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`;
}

/** Describes an invalid request; the framework's own message lacks the limit. */
export function requestProblem(error: Error, { routeOptions }: FastifyRequest): string {
  const isTooLarge = 'code' in error && error.code === 'FST_ERR_CTP_BODY_TOO_LARGE';
  return isTooLarge ? `the body is larger than ${routeOptions.bodyLimit} bytes` : error.message;
}
