/**
 * Authenticates requests. A session is a {@link Sender} that adds the credential to each request: a
 * static key, or a token from a log-in. One log-in serves all waiting requests; it passes the gate,
 * which spaces log-ins (also over restarts, as the store remembers the last). A 401 means that the
 * token died early: one log-in, one retry, then the caller gets the error; for a stream, the caller
 * gets it at once. Refused credentials are remembered for a while, so that a wrong secret does not
 * hammer the service. Failures here are always RetryLaterError, because the caller's own request
 * was not sent, and a wrong secret must never look like a refused order.
 */
import type { Clock } from '../lib/clock.ts';
import { LoginAgainError, RefusedError, RetryLaterError, toError } from '../lib/errors.ts';
import { isJsonObject } from '../lib/json.ts';
import type { Scrubber, Secret } from '../lib/secret.ts';
import { isNotFound, NO_SUCH_PAGE, NOT_FOUND_BARE } from './http/answer.ts';
import { type HttpRequest, isSafe } from './http/request.ts';
import type { Answer, JsonAnswer, Sender, StreamAnswer } from './transport.ts';
import { dataOf } from './v1/envelope.ts';

/** Stores the time of the last log-in; the store's version survives a restart. */
export interface LoginSpacing {
  /** Epoch ms of the last log-in; undefined: none so far. */
  lastLoginAt(): number | undefined;
  /** Stores the time of a log-in; resolves when it is durable, and only then the log-in is sent. */
  recordLogin(at: number): Promise<void> | void;
}

export interface LoginGate {
  /**
   * Resolves when the next log-in may be sent, and records it. First come, first served. Throws
   * RetryLaterError `session.login_held` when the service asked for minutes of waiting.
   */
  pass(): Promise<void>;
  /** Notes that the service asked for this many milliseconds without a log-in. */
  hold(ms: number): void;
}

/** Milliseconds that a log-in waits at most; beyond, it fails and its callers retry later. */
const LOGIN_WAIT_MS_MAX = 60_000;

/**
 * Creates the gate for log-ins with one system key, shared by all its sessions. `stop` ends the
 * waiting when the process ends, because a log-in belongs to no single caller.
 */
export function createLoginGate(
  clock: Clock,
  spacing: LoginSpacing,
  spacingMs: number,
  stop?: AbortSignal,
): LoginGate {
  let queue: Promise<void> = Promise.resolve();
  let heldUntil = 0;
  const heldMs = (): number => heldUntil - clock.monotonic();
  const wait = async (ms: number): Promise<void> => {
    try {
      await clock.sleep(ms, stop);
    } catch (cause) {
      throw new RetryLaterError('session.stopped', 'the log-in was called off', { cause });
    }
  };
  const passNext = async (): Promise<void> => {
    const last = spacing.lastLoginAt();
    const sinceLast = last === undefined ? spacingMs : clock.now() - last;
    // The wait is at most one spacing, in case the clock was set back.
    const waitMs = Math.min(Math.max(spacingMs - sinceLast, 0), spacingMs);
    if (waitMs > 0) await wait(waitMs);
    for (let ms = heldMs(); ms > 0; ms = heldMs()) {
      if (ms > LOGIN_WAIT_MS_MAX) {
        const message = 'the service asked to wait with the log-in';
        throw new RetryLaterError('session.login_held', message, { retryAfterMs: ms });
      }
      await wait(ms);
    }
    await spacing.recordLogin(clock.now());
  };
  return {
    pass() {
      const turn = queue.then(passNext);
      queue = turn.catch(() => undefined);
      return turn;
    },
    hold(ms) {
      heldUntil = Math.max(heldUntil, clock.monotonic() + ms);
    },
  };
}

/** Form of the token in its header: alone, or after "Bearer" (RFC 6750). */
type TokenScheme = 'plain' | 'bearer';

interface KeyCredential {
  readonly kind: 'key';
  readonly header: string;
  readonly scheme?: TokenScheme | undefined;
  readonly key: Secret;
}

export interface LoginCredential {
  readonly kind: 'login';
  readonly url: string;
  /** Name of the header that carries the token. */
  readonly header: string;
  readonly scheme?: TokenScheme | undefined;
  /** Name of the member that carries the client id in the log-in body. */
  readonly idMember: string;
  readonly secretMember: string;
  readonly clientId: string;
  readonly clientSecret: Secret;
  /** JSON pointers to the token in the answer, tried in order. */
  readonly tokenPointers: readonly string[];
}

export type Credential = KeyCredential | LoginCredential;

/** Result of a log-in; `refused`: the service answered without a token. */
export type LoginResult = 'done' | 'refused' | 'failed';

export interface SessionDeps {
  readonly transport: Sender;
  readonly clock: Clock;
  readonly scrubber: Scrubber;
  readonly gate: LoginGate;
  /** Called after each log-in. */
  readonly onLogin?: (result: LoginResult) => void;
  readonly decimals?: Sender['decimals'];
}

/** Number of attempts to log in, when it fails temporarily, before the callers get the error. */
const LOGIN_ATTEMPTS_MAX = 3;
/**
 * Milliseconds for which refused credentials are not tried again: less than a minute, so that they
 * are tried within one.
 */
const REFUSED_MS = 55_000;

function memberAt(value: unknown, pointer: string): unknown {
  let at = value;
  for (const name of pointer.split('/').slice(1)) at = isJsonObject(at) ? at[name] : undefined;
  return at;
}

/** Finds the token in a log-in answer, also where the answer has no envelope around its data. */
function tokenIn(json: unknown, pointers: readonly string[]): string | undefined {
  const bare = pointers.map((pointer) => pointer.replace(/^\/data(?=\/)/, ''));
  for (const pointer of [...pointers, ...bare]) {
    const token = memberAt(json, pointer);
    if (typeof token === 'string' && token !== '') return token;
  }
  return undefined;
}

async function logIn(credential: LoginCredential, deps: SessionDeps): Promise<string> {
  // The secret is read outside of the `try`, because a missing one is no refusal by the service.
  const json = {
    [credential.idMember]: credential.clientId,
    [credential.secretMember]: credential.clientSecret.reveal(),
  };
  for (let attempt = 1; ; attempt += 1) {
    await deps.gate.pass();
    try {
      const { url } = credential;
      const about = { priority: 'push', safe: true, hasOwnLimit: true } as const;
      const request = { method: 'POST', url, ...about, json } as const;
      const answer = await deps.transport.request(request);
      const token = tokenIn(answer.json, credential.tokenPointers);
      if (token !== undefined) return token;
      // A failure reported inside a 2xx is thrown here; without one, the pointer to the token is
      // wrong.
      dataOf(deps.transport, request, answer.json, answer.headers);
      throw new RefusedError('session.no_token', 'the log-in was answered without a token', {
        hint: `looked at ${credential.tokenPointers.join(', ')}: set its pointer in the config`,
      });
    } catch (error) {
      if (!(error instanceof RetryLaterError)) throw refusedLogin(toError(error));
      const waitMs = error.retryAfterMs ?? 0;
      deps.gate.hold(waitMs);
      if (waitMs > LOGIN_WAIT_MS_MAX || attempt >= LOGIN_ATTEMPTS_MAX) throw error;
    }
  }
}

const NO_ADDRESS = new Set([NO_SUCH_PAGE, NOT_FOUND_BARE, 'service.bad_method']);

/** Builds the error for a refused log-in, with what the operator should check. */
function refusedLogin(cause: Error): RetryLaterError {
  const refusal = cause instanceof RefusedError ? cause : undefined;
  // The service knows no such client, or there is no log-in at that base URL.
  const isLost = isNotFound(cause) || NO_ADDRESS.has(refusal?.code ?? '');
  const which = isLost ? 'the base URL, the client id' : 'the client id';
  return new RetryLaterError('session.login_refused', `the log-in failed: ${cause.message}`, {
    cause,
    hint: refusal?.hint ?? `check ${which} and the client secret in the configuration`,
    retryAfterMs: REFUSED_MS,
  });
}

/** Error for a request while refused credentials are not tried; it names the time that is left. */
function refusedStill(refusal: RetryLaterError, leftMs: number): RetryLaterError {
  const { code, message, hint, cause } = refusal;
  const about = { cause, retryAfterMs: leftMs, ...(hint === undefined ? {} : { hint }) };
  return new RetryLaterError(code, message, about);
}

function tokenRefused(cause: LoginAgainError): RetryLaterError {
  return new RetryLaterError('session.token_refused', cause.message, { cause });
}

/** Ends one caller's wait for a log-in when it aborts; the log-in continues for the others. */
function whileWanted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (!signal) return work;
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(signal.reason);
    if (signal.aborted) onAbort();
    signal.addEventListener('abort', onAbort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  });
}

interface TokenSource {
  /** Gives the current token, and logs in when there is none. */
  current(signal: AbortSignal | undefined): Promise<string>;
  /** Gives the token held now; undefined: it died, and requests wait for the log-in. */
  held(): string | undefined;
  /** Drops a token that the service refused. Returns an error when no other can be had. */
  drop(token: string, cause: LoginAgainError): Error | undefined;
  /** Notes that the service took a token. */
  taken?(): void;
}

function staticKey(
  credential: KeyCredential,
  { onLogin }: Pick<SessionDeps, 'onLogin'>,
): TokenSource {
  let isRefused = false;
  return {
    current: async () => credential.key.reveal(),
    held: () => credential.key.reveal(),
    taken() {
      if (isRefused) onLogin?.('done');
      isRefused = false;
    },
    drop(_token, cause) {
      isRefused = true;
      onLogin?.('refused');
      return new RetryLaterError('session.key_refused', `the key was refused: ${cause.message}`, {
        cause,
        retryAfterMs: REFUSED_MS,
        hint: `check the key that is sent as ${credential.header}`,
      });
    },
  };
}

function loggedIn(credential: LoginCredential, deps: SessionDeps): TokenSource {
  const { clock } = deps;
  let token: string | undefined;
  let pending: Promise<string> | undefined;
  let refusal: { readonly until: number; readonly error: RetryLaterError } | undefined;

  const fresh = async (): Promise<string> => {
    try {
      if (refusal && clock.monotonic() < refusal.until) {
        throw refusedStill(refusal.error, refusal.until - clock.monotonic());
      }
      refusal = undefined;
      token = await logIn(credential, deps);
      deps.onLogin?.('done');
      deps.scrubber.register(token, 'token');
      return token;
    } catch (error) {
      const isRefused = error instanceof RetryLaterError && error.code === 'session.login_refused';
      if (!refusal) deps.onLogin?.(isRefused ? 'refused' : 'failed');
      if (isRefused) refusal ??= { until: clock.monotonic() + REFUSED_MS, error };
      throw error;
    }
  };
  return {
    async current(signal) {
      if (token !== undefined) return token;
      pending ??= fresh().finally(() => {
        pending = undefined;
      });
      return whileWanted(pending, signal);
    },
    held: () => token,
    drop(refused) {
      if (token === refused) token = undefined;
      return undefined;
    },
  };
}

/** Error for a request whose token died while it was queued: nothing was sent. */
class TokenGone extends Error {
  override readonly name = 'TokenGone';
}

const BEARER = /^bearer\s/i;

/** Value of the token's header; some services include "Bearer" in the token itself. */
function inHeader(token: string, { scheme }: Credential): string {
  return scheme === 'bearer' && !BEARER.test(token) ? `Bearer ${token}` : token;
}

export function createSession(credential: Credential, deps: SessionDeps): Sender {
  const { transport, clock } = deps;
  const tokens =
    credential.kind === 'key' ? staticKey(credential, deps) : loggedIn(credential, deps);

  const withToken = async <T>(
    request: HttpRequest,
    attempt: (request: HttpRequest, sent: () => string) => Promise<T>,
  ): Promise<T> => {
    for (let refusals = 0; ; ) {
      let token = await tokenFor(request);
      // The token is read when the request gets its slot, because it may die while the request
      // waits.
      const headersAtStart = (): Readonly<Record<string, string>> => {
        const held = tokens.held();
        if (held === undefined) throw new TokenGone('the token has died meanwhile');
        token = held;
        return { [credential.header]: inHeader(held, credential) };
      };
      try {
        const answer = await attempt({ ...request, headersAtStart }, () => token);
        tokens.taken?.();
        return answer;
      } catch (error) {
        if (error instanceof TokenGone) continue;
        if (!(error instanceof LoginAgainError)) throw error;
        const final = tokens.drop(token, error);
        if (final) throw final;
        refusals += 1;
        if (refusals > 1) throw tokenRefused(error);
        request.usage?.retried();
      }
    }
  };
  const tokenFor = async (request: HttpRequest): Promise<string> => {
    const since = clock.monotonic();
    try {
      return await tokens.current(request.signal);
    } catch (error) {
      if (isSafe(request) || error instanceof RetryLaterError) throw error;
      throw new RetryLaterError('transport.not_sent', toError(error).message, { cause: error });
    } finally {
      request.usage?.waited(clock.monotonic() - since);
    }
  };
  return {
    scrub: transport.scrub,
    note: transport.note,
    decimals: deps.decimals,
    request: (request): Promise<JsonAnswer> =>
      withToken(request, (ready) => transport.request(ready)),
    send: <T>(request: HttpRequest, decode: (body: Buffer) => T): Promise<Answer<T>> =>
      withToken(request, (ready) => transport.send(ready, decode)),
    stream: (request): Promise<StreamAnswer> =>
      withToken(request, async (ready, sent) => {
        const answer = await transport.stream(ready);
        const token = sent();
        return { ...answer, refused: (cause) => tokens.drop(token, cause) ?? tokenRefused(cause) };
      }),
  };
}

/** Wraps a sender: nothing is sent while `hold` gives a reason, of which the error is made. */
export function heldBy(
  sender: Sender,
  hold: (() => string | undefined) | undefined,
  errorOf: (why: string) => Error,
): Sender {
  const check = (): void => {
    const why = hold?.();
    if (why !== undefined) throw errorOf(why);
  };
  return {
    scrub: sender.scrub,
    note: sender.note,
    decimals: sender.decimals,
    async request(request) {
      check();
      return sender.request(request);
    },
    async send(request, decode) {
      check();
      return sender.send(request, decode);
    },
    async stream(request) {
      check();
      return sender.stream(request);
    },
  };
}
