/**
 * The local API: what the command line asks of a running daemon, because nobody else may write
 * the database. It listens on this machine only, answers only to names of this machine, and wants
 * the token that stands in `local.json` of the data folder, which only the daemon's user can read.
 *
 * JSON both ways. What cannot be done is 409 with `{code, message, hint}`, a body of the wrong form
 * 400, 413 or 415. Each group of routes stands in a file of its own and says who may ask.
 */
import { timingSafeEqual } from 'node:crypto';
import { rmSync, writeFileSync } from 'node:fs';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { untilAborted } from '../lib/clock.ts';
import { guardBrowser } from '../lib/http-server/browser-guard.ts';
import { watchPaths } from '../lib/http-server/methods.ts';
import { createHttpServer, listenOn, requestProblem } from '../lib/http-server.ts';
import { sha256 } from '../lib/json.ts';
import type { Logger } from '../lib/log.ts';
import type { Random } from '../lib/random.ts';
import { noSuchRoute, refusalOf, sendNoRoute, sendProblem } from '../surface/problem.ts';
import { localFile } from './ask.ts';

/** Routes that belong together, with the access that they need. */
export interface RouteGroup {
  /**
   * Access to the routes: `operator`: with the token of `local.json`; `open`: without, or the group
   * checks access itself.
   */
  readonly access: 'open' | 'operator';
  /** Routes that are also answered under a name of `local.hostNames`; left out: none. */
  readonly underOtherNames?: readonly string[];
  install(app: FastifyInstance): void;
}

export interface LocalApiDeps {
  readonly groups: readonly RouteGroup[];
  readonly random: Random;
  readonly log: Logger;
  readonly onListening: () => void;
}

export interface LocalApiOptions {
  readonly host: string;
  readonly port: number;
  readonly dataDir: string;
  /** Host names beyond those of this machine under which health and metrics are answered, too. */
  readonly hostNames: readonly string[];
}

const TOKEN_BYTES = 32;

function isToken(header: string | undefined, token: string): boolean {
  const [given, own] = [header ?? '', `Bearer ${token}`].map((text) => Buffer.from(sha256(text)));
  return given !== undefined && own !== undefined && timingSafeEqual(given, own);
}

function installGroup(app: FastifyInstance, group: RouteGroup, token: string): void {
  app.register(async (scope) => {
    if (group.access === 'operator') {
      scope.addHook('onRequest', async (request, reply) => {
        if (isToken(request.headers.authorization, token)) return undefined;
        const message = 'the token is missing';
        return sendProblem(reply, { status: 401, code: 'local.no_token', message });
      });
    }
    group.install(scope);
  });
}

/**
 * Answer to a body that Fastify refuses (no JSON, too large, or of another type), without a word of
 * the body; undefined: another error.
 */
function bodyRefusal(
  error: unknown,
  request: FastifyRequest,
): { status: number; message: string } | undefined {
  if (!(error instanceof Error) || !('code' in error) || !('statusCode' in error)) return undefined;
  const isOfBody = String(error.code).startsWith('FST_ERR_CTP_');
  const status = Number(error.statusCode);
  return isOfBody && status < 500 ? { status, message: requestProblem(error, request) } : undefined;
}

/** Next step for a program of the ERP that asks at the wrong place. */
const DOCUMENTS_AT =
  'documents are submitted by POST /api/orders, /api/pending-refunds or /api/documents, and ' +
  'their receipts read by GET /api/documents/<id>; all paths are in /openapi.json';

function createApp(
  { log, groups }: LocalApiDeps,
  names: readonly string[],
  token: string,
): FastifyInstance {
  const app = createHttpServer(log);
  const routes = groups.flatMap(({ underOtherNames = [] }) => underOtherNames);
  guardBrowser(app, {
    log,
    hasCookies: false,
    others: { names, routes },
    hint: `under a name of local.hostNames there are only ${routes.join(', ')}`,
  });
  // Fastify's own answer would repeat the path that was asked for.
  const paths = watchPaths(app);
  app.setNotFoundHandler((request, reply) =>
    sendNoRoute(
      reply,
      noSuchRoute(paths, request, { code: 'local.not_found', what: 'path', more: DOCUMENTS_AT }),
    ),
  );
  app.setErrorHandler((error, request, reply) => {
    const ours = refusalOf(error);
    if (ours) return sendProblem(reply, ours);
    if (error instanceof z.ZodError) {
      const message = z.prettifyError(error);
      return sendProblem(reply, { status: 400, code: 'request.invalid', message });
    }
    const refusal = bodyRefusal(error, request);
    if (refusal) return sendProblem(reply, { ...refusal, code: 'request.invalid' });
    const message = 'see the log of the daemon';
    return sendProblem(reply, { status: 500, code: 'local.failed', message });
  });
  for (const group of groups) installGroup(app, group, token);
  return app;
}

/** Creates the worker of the local API, which listens until the signal aborts. */
export function createLocalApi(deps: LocalApiDeps, options: LocalApiOptions) {
  const { host, port, dataDir, hostNames } = options;
  return {
    name: 'local',
    async run(signal: AbortSignal): Promise<void> {
      const token = deps.random.bytes(TOKEN_BYTES).toString('base64url');
      const app = createApp(deps, hostNames, token);
      try {
        const { url } = await listenOn(app, host, port, 'local.port');
        const file = localFile(dataDir);
        rmSync(file, { force: true });
        writeFileSync(file, JSON.stringify({ url, token }), { mode: 0o600, flag: 'wx' });
        deps.log.info({ url }, 'local API listens');
        deps.onListening();
        await untilAborted(signal);
        rmSync(file, { force: true });
      } finally {
        await app.close();
      }
    },
  };
}
