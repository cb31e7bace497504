/**
 * The edge of the service: journal, rate limits, injected faults and strict mode. It handles
 * requests and answers, and knows nothing of orders or styles.
 *
 * A request passes in this order: journal entry, strict mode, rate limit, faults of the moment
 * "before", then the route. Its answer passes: faults of the moment "after", faults of the body,
 * and the status is written to the journal before the client can have seen it.
 */
import { Readable } from 'node:stream';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Clock } from '../../lib/clock.ts';
import { isJsonObject } from '../../lib/json.ts';
import type { Fault } from '../control/fault-knobs.ts';
import type { CurrentKnobs } from '../control/knobs.ts';
import { createRewriting, isOfAccount, speak } from '../dialect/answers.ts';
import { encode, respellHeaders, wholeBody } from '../dialect/encoding.ts';
import { type EdgeAnswer, errorAnswer, gatewayAnswer } from './answers.ts';
import { spoil } from './bodies.ts';
import { deviate, deviates, readBearer, readTokenFrom } from './deviations.ts';
import { createFaultTable, type FaultTable, type Strike } from './faults.ts';
import { createJournal, type Journal, type JournalEntry } from './journal.ts';
import { judgeBody, judgeRequest, judgeStatus } from './strict.ts';

export interface EdgeDeps {
  readonly clock: Clock;
  readonly knobs: CurrentKnobs;
  /** Name of the key that the request was sent with; undefined: no known one. */
  readonly keyOf: (request: FastifyRequest) => string | undefined;
}

export interface Edge {
  readonly journal: Journal;
  readonly faults: FaultTable;
  /** Notes a client's violation of the contract that was found elsewhere; in strict mode only. */
  mistake(method: string, path: string, status: number, what: string): void;
  /** Adds the edge to the server, in front of every route; to be called before routes are added. */
  install(app: FastifyInstance): void;
  /** Returns to the start: an empty journal, full buckets, faults that have not struck yet. */
  restart(): void;
}

interface SpeakingDeps extends EdgeDeps {
  /** Tells whether bodies must be rewritten into a dialect. */
  readonly rewrites: () => boolean;
}

interface Passage {
  readonly entry: JournalEntry;
  readonly arrivedAt: number;
  readonly strikes: readonly Strike[];
}

const WHOLE_KINDS = new Set(
  'latency tooMany serverError maintenance unauthorized reset'.split(' '),
);

function isOfBody({ kind }: Fault): boolean {
  return !WHOLE_KINDS.has(kind);
}

/**
 * Name of a fault in the journal, with its moment: whether the request took effect matters most.
 */
function nameOf(fault: Fault): string {
  const { kind, moment } = fault;
  return moment === 'after' && !isOfBody(fault) ? `${kind} after` : kind;
}

function splitUrl(url: string): { readonly path: string; readonly query: string } {
  const mark = url.indexOf('?');
  return mark < 0
    ? { path: url, query: '' }
    : { path: url.slice(0, mark), query: url.slice(mark + 1) };
}

/** Number of relationships that a V2 request wants to have included. */
function includesIn(path: string, query: string): number {
  if (!path.startsWith('/api/v2/')) return 0;
  const include = new URLSearchParams(query).get('include') ?? '';
  return include.split(',').filter((name) => name !== '').length;
}

function cutConnection(request: FastifyRequest, reply: FastifyReply): void {
  reply.hijack();
  request.raw.socket.resetAndDestroy();
}

function announce(reply: FastifyReply, { status, contentType, retryAfter }: EdgeAnswer): void {
  if (retryAfter !== undefined && retryAfter !== null) {
    reply.header('retry-after', String(retryAfter));
  }
  reply.code(status).type(contentType).removeHeader('content-length');
}

function send(reply: FastifyReply, answer: EdgeAnswer): void {
  announce(reply, answer);
  // The body is sent as bytes, because the server adds a charset to a text, which JSON:API forbids.
  void reply.send(Buffer.from(answer.body));
}

const MAINTENANCE = 'Down for maintenance';

function tooMany(path: string, retryAfter: number | null): EdgeAnswer {
  return { ...errorAnswer(path, 429, 'Too many requests'), retryAfter };
}

/** The answer that a fault gives in place of the route's, if the fault is of that kind. */
function replacement(path: string, fault: Fault, now: number): EdgeAnswer | undefined {
  const { kind, body, retryAfter, status } = fault;
  const page = body === 'usual' ? 'html' : body;
  if (kind === 'serverError') return gatewayAnswer(status, page);
  if (kind === 'maintenance') return gatewayAnswer(200, page, MAINTENANCE);
  if (kind === 'tooMany') {
    const until = retryAfterOf(fault, now);
    return body === 'usual'
      ? { ...tooMany(path, retryAfter), retryAfter: until }
      : { ...gatewayAnswer(429, body), retryAfter: until };
  }
  if (kind !== 'unauthorized') return undefined;
  return body === 'usual'
    ? errorAnswer(path, 401, 'The token is not valid')
    : gatewayAnswer(401, body);
}

function retryAfterOf({ retryAfter, retryAfterAs }: Fault, now: number): number | string | null {
  if (retryAfter === null || retryAfterAs === 'seconds') return retryAfter;
  return new Date(now + retryAfter * 1_000).toUTCString();
}

type Body = string | Buffer | Readable;

function isBody(payload: unknown): payload is Body {
  return typeof payload === 'string' || Buffer.isBuffer(payload) || payload instanceof Readable;
}

/** Rewrites the body into the account's dialect; a long list is read as a whole for that. */
async function rewritten(
  deps: SpeakingDeps,
  { entry }: Passage,
  reply: FastifyReply,
  payload: Body,
): Promise<Body> {
  if (!isOfAccount(entry.path)) return payload;
  const { v1, dialect } = deps.knobs();
  const { method, path } = entry;
  const contentType = String(reply.getHeader('content-type') ?? '');
  const body = (await wholeBody(payload)).toString();
  const draft = { method, path, status: reply.statusCode, contentType, body };
  const spoken = speak(draft, { level: v1.level, dialect });
  reply.code(spoken.status).removeHeader('content-length');
  if (spoken.contentType === '') reply.removeHeader('content-type');
  else reply.header('content-type', spoken.contentType);
  return Buffer.from(spoken.body);
}

/** Applies deviations, and faults after the request's effect, to an answer. */
async function seeOut(
  deps: SpeakingDeps,
  passage: Passage,
  reply: FastifyReply,
  payload: Body,
): Promise<Body> {
  const { deviations, dialect } = deps.knobs();
  let out = payload;
  if (!(payload instanceof Readable) && deviates(deviations)) {
    out = deviate(deviations, passage.entry, reply, payload);
  }
  if (deps.rewrites()) out = await rewritten(deps, passage, reply, out);
  if (isOfAccount(passage.entry.path)) {
    const cacheControl = String(reply.request.headers['cache-control'] ?? '');
    const { method, path } = passage.entry;
    respellHeaders(reply, dialect, { method, path, cacheControl, now: deps.clock.now() });
  }
  for (const strike of passage.strikes) {
    const { fault } = strike;
    if (isOfBody(fault)) {
      const spoiled = spoil(out, strike, deps.clock);
      out = spoiled.payload;
      reply.removeHeader('content-length');
      for (const [name, value] of Object.entries(spoiled.headers)) reply.header(name, value);
    } else if (fault.moment === 'after') {
      if (fault.kind === 'latency') await deps.clock.sleep(fault.delay);
      const answer = replacement(passage.entry.path, fault, deps.clock.now());
      if (!answer) continue;
      if (out instanceof Readable) out.destroy();
      announce(reply, answer);
      out = answer.body;
    }
  }
  return isOfAccount(passage.entry.path) ? encode(out, dialect, reply) : out;
}

/** Applies faults before the request takes effect; true: the request ends here. */
async function strikeBefore(
  deps: EdgeDeps,
  passage: Passage,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<boolean> {
  for (const { fault } of passage.strikes) {
    if (fault.moment === 'after' || isOfBody(fault)) continue;
    if (fault.kind === 'latency') await deps.clock.sleep(fault.delay);
    if (fault.kind === 'reset') {
      cutConnection(request, reply);
      return true;
    }
    const answer = replacement(passage.entry.path, fault, deps.clock.now());
    if (!answer) continue;
    send(reply, answer);
    return true;
  }
  return false;
}

/** Notes the reference of the request's body, also when its answer never arrives. */
function identify(entry: JournalEntry, { body }: FastifyRequest): void {
  if (isJsonObject(body) && typeof body.reference === 'string') entry.reference = body.reference;
}

function close(deps: EdgeDeps, passage: Passage, status: number): void {
  const { entry } = passage;
  entry.status = status;
  entry.durationMs = Math.round(deps.clock.monotonic() - passage.arrivedAt);
  const injected = passage.strikes.some(({ fault }) => replacement(entry.path, fault, 0));
  if (deps.knobs().strict && !injected) judgeStatus(entry, status);
}

/** Prepares an answer to be sent, or cuts its connection instead. */
async function leave(
  deps: SpeakingDeps,
  passage: Passage,
  request: FastifyRequest,
  reply: FastifyReply,
  payload: unknown,
): Promise<unknown> {
  identify(passage.entry, request);
  const out = isBody(payload) ? await seeOut(deps, passage, reply, payload) : payload;
  const cut = passage.strikes.some(({ fault: f }) => f.kind === 'reset' && f.moment === 'after');
  if (cut) cutConnection(request, reply);
  else close(deps, passage, reply.statusCode);
  return out;
}

export function createEdge(edgeDeps: EdgeDeps): Edge {
  const deps = { ...edgeDeps, rewrites: createRewriting(edgeDeps.knobs) };
  const journal = createJournal(deps.clock, () => deps.knobs().journal.size);
  const faults = createFaultTable(deps.clock, deps.knobs().faults);
  const rates = createRateLimit(deps.clock);
  const passages = new WeakMap<FastifyRequest, Passage>();

  /** Handles a request before its route; true: the request ends here. */
  const enter = async (request: FastifyRequest, reply: FastifyReply): Promise<boolean> => {
    const { path, query } = splitUrl(request.url);
    const { deviations, dialect } = deps.knobs();
    if (deviations.tokenHeader !== null) readTokenFrom(deviations.tokenHeader, request);
    if (dialect.bearer) readBearer(request);
    const entry = journal.open(request.method, path, query);
    const key = deps.keyOf(request);
    entry.keyId = key ?? null;
    const { perSecond, includeCost } = deps.knobs().rates;
    const cost = 1 + includeCost * includesIn(path, query);
    const wait = rates.take(key ?? request.ip, perSecond, cost);
    const breach = deps.knobs().strict ? judgeRequest(entry, deps.knobs().v1.level) : undefined;
    const refused = breach ?? (wait > 0 ? tooMany(path, wait) : undefined);
    const passage: Passage = {
      entry,
      arrivedAt: deps.clock.monotonic(),
      strikes: refused ? [] : faults.strikes(request.method, path),
    };
    entry.faults.push(...passage.strikes.map(({ fault }) => nameOf(fault)));
    passages.set(request, passage);
    if (!refused) return strikeBefore(deps, passage, request, reply);
    send(reply, refused);
    return true;
  };

  return {
    journal,
    faults,
    mistake(method, path, status, what) {
      if (!deps.knobs().strict) return;
      const entry = journal.open(method, path, '');
      Object.assign(entry, { status, durationMs: 0, mistakes: [what] });
    },
    restart() {
      journal.clear();
      faults.restart();
      rates.clear();
    },
    install(app) {
      // The hook has a callback and is not async: when it has answered, the chain of hooks must not
      // continue.
      app.addHook('onRequest', (request, reply, done) => {
        enter(request, reply).then((ended) => {
          if (!ended) done();
        }, done);
      });
      app.addHook('preHandler', (request, reply, done) => {
        const passage = passages.get(request);
        const strict = passage !== undefined && deps.knobs().strict;
        const refused = strict ? judgeBody(passage.entry, request.body) : undefined;
        if (refused) send(reply, refused);
        else done();
      });
      app.addHook('onSend', async (request, reply, payload) => {
        const passage = passages.get(request);
        return passage ? leave(deps, passage, request, reply, payload) : payload;
      });
    },
  };
}

// Rate limit of requests per second and key: a bucket that fills evenly and holds one second's
// worth.

interface RateLimit {
  /**
   * Takes a request of the key, which may cost as much as several. Returns 0 when it may pass, else
   * the seconds to wait (at least 1).
   */
  take(key: string, perSecond: number, cost?: number): number;
  clear(): void;
}

/**
 * Maximum number of keys with a bucket; more are strangers who try names, and the oldest bucket
 * makes room.
 */
const BUCKETS_MAX = 1_000;

export function createRateLimit(clock: Clock): RateLimit {
  const buckets = new Map<string, { tokens: number; at: number }>();
  return {
    clear: () => buckets.clear(),
    take(key, perSecond, cost = 1) {
      if (perSecond === 0) return 0;
      const holds = Math.max(1, perSecond);
      const now = clock.monotonic();
      const bucket = buckets.get(key) ?? { tokens: holds, at: now };
      const tokens = Math.min(holds, bucket.tokens + ((now - bucket.at) / 1_000) * perSecond);
      // A request that costs more than the bucket holds passes when the bucket is full.
      const price = Math.min(cost, holds);
      const passes = tokens >= price;
      buckets.set(key, { tokens: passes ? tokens - price : tokens, at: now });
      const oldest = buckets.size > BUCKETS_MAX ? buckets.keys().next() : undefined;
      if (oldest && !oldest.done) buckets.delete(oldest.value);
      return passes ? 0 : Math.max(1, Math.ceil((price - tokens) / perSecond));
    },
  };
}
