/**
 * Who we are to the service. A session is a {@link Sender} that puts the credential on each
 * request: a static key, or a token that it gets by logging in.
 *
 * One log-in serves all waiters; it passes the gate, which keeps log-ins apart (also across
 * restarts, the last one is remembered by the store). A 401 means that the token died early: one
 * log-in, one repetition, then the caller is told; where a stream says it in its body, the caller
 * is told at once. Refused credentials are remembered for a while, so that a wrong secret does not
 * hammer the service.
 *
 * What goes wrong here is always RetryLaterError: the caller's own request was not carried out,
 * and a wrong secret must never look like an order that the service refused.
 */
import type { Clock } from '../lib/clock.ts';
import { LoginAgainError, RefusedError, RetryLaterError, toError } from '../lib/errors.ts';
import { isJsonObject } from '../lib/json.ts';
import type { Scrubber, Secret } from '../lib/secret.ts';
import { isNotFound, NO_SUCH_PAGE, NOT_FOUND_BARE } from './http/answer.ts';
import { type HttpRequest, isSafe } from './http/request.ts';
import type { Answer, JsonAnswer, Sender, StreamAnswer } from './transport.ts';
import { dataOf } from './v1/envelope.ts';

/** Where the time of the last log-in is kept; the store's version survives a restart. */
export interface LoginSpacing {
  /** Epoch ms, or undefined when there was none. */
  lastLoginAt(): number | undefined;
  /** Resolves when the time is durable: only then is the log-in sent. */
  recordLogin(at: number): Promise<void> | void;
}

export interface LoginGate {
  /**
   * Resolves when the next log-in may be sent, and records it. First come, first served. Throws
   * RetryLaterError `session.login_held` when the service asked for a wait of minutes.
   */
  pass(): Promise<void>;
  /** The service asked for patience. */
  hold(ms: number): void;
}

/** A log-in that has to wait longer than this gives up; its waiters try again later. */
const LOGIN_WAIT_MS_MAX = 60_000;

function held(ms: number): RetryLaterError {
  return new RetryLaterError('session.login_held', 'the service asked to wait with the log-in', {
    retryAfterMs: ms,
  });
}

/**
 * One gate per system key: every session that logs in with it must share it. `stop` ends the
 * waiting when the process ends; a log-in belongs to no single caller whose signal could do it.
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
    // A clock that was set back must not lock us out: never more than one spacing.
    const waitMs = Math.min(Math.max(spacingMs - sinceLast, 0), spacingMs);
    if (waitMs > 0) await wait(waitMs);
    for (let ms = heldMs(); ms > 0; ms = heldMs()) {
      if (ms > LOGIN_WAIT_MS_MAX) throw held(ms);
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

/** How a token stands in its header: alone, or behind the word "Bearer" (RFC 6750). */
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
  /** The header that carries the token. */
  readonly header: string;
  readonly scheme?: TokenScheme | undefined;
  /** Names of the members of the log-in body. */
  readonly idMember: string;
  readonly secretMember: string;
  readonly clientId: string;
  readonly clientSecret: Secret;
  /** Where the token may stand in the answer, as JSON pointers, tried in order. */
  readonly tokenPointers: readonly string[];
}

export type Credential = KeyCredential | LoginCredential;

/** `refused`: the service was there and gave no token. */
export type LoginResult = 'done' | 'refused' | 'failed';

export interface SessionDeps {
  readonly transport: Sender;
  readonly clock: Clock;
  readonly scrubber: Scrubber;
  readonly gate: LoginGate;
  /** Told of each log-in. */
  readonly onLogin?: (result: LoginResult) => void;
}

/** After this many log-ins that failed for the moment the waiters are told. */
const LOGIN_ATTEMPTS_MAX = 3;
/** Refused credentials are not tried again before this. */
const REFUSED_MS = 60_000;

function memberAt(value: unknown, pointer: string): unknown {
  let at = value;
  for (const name of pointer.split('/').slice(1)) at = isJsonObject(at) ? at[name] : undefined;
  return at;
}

/** Without an envelope it stands where its data would. */
function tokenIn(json: unknown, pointers: readonly string[]): string | undefined {
  const bare = pointers.map((pointer) => pointer.replace(/^\/data(?=\/)/, ''));
  for (const pointer of [...pointers, ...bare]) {
    const token = memberAt(json, pointer);
    if (typeof token === 'string' && token !== '') return token;
  }
  return undefined;
}

async function logIn(credential: LoginCredential, deps: SessionDeps): Promise<string> {
  // A secret that is not there is no refusal by the service: that error goes out as it is.
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
      // Refused under a 2xx: no pointer of ours is wrong.
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

/** What a log-in that the service will not have is told as, with where to look. */
export function refusedLogin(cause: Error): RetryLaterError {
  const refusal = cause instanceof RefusedError ? cause : undefined;
  // No such client, or no log-in at all where the base URL leads.
  const isLost = isNotFound(cause) || NO_ADDRESS.has(refusal?.code ?? '');
  const which = isLost ? 'the base URL, the client id' : 'the client id';
  return new RetryLaterError('session.login_refused', `the log-in failed: ${cause.message}`, {
    cause,
    hint: refusal?.hint ?? `check ${which} and the client secret in the configuration`,
    retryAfterMs: REFUSED_MS,
  });
}

function tokenRefused(cause: LoginAgainError): RetryLaterError {
  return new RetryLaterError('session.token_refused', cause.message, { cause });
}

/** The caller's wait ends when it gives up; the log-in goes on for the others. */
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
  /** The token to use now; logs in when there is none. */
  current(signal: AbortSignal | undefined): Promise<string>;
  /** The one that is there; undefined: it has died, and who wants one waits for the log-in. */
  held(): string | undefined;
  /** This token was refused. Gives an error when there is no other one to be had. */
  drop(token: string, cause: LoginAgainError): Error | undefined;
}

function staticKey(credential: KeyCredential): TokenSource {
  return {
    current: async () => credential.key.reveal(),
    held: () => credential.key.reveal(),
    drop: (_token, cause) =>
      new RetryLaterError('session.key_refused', `the key was refused: ${cause.message}`, {
        cause,
        retryAfterMs: REFUSED_MS,
        hint: `check the key that is sent as ${credential.header}`,
      }),
  };
}

function loggedIn(credential: LoginCredential, deps: SessionDeps): TokenSource {
  const { clock } = deps;
  let token: string | undefined;
  let pending: Promise<string> | undefined;
  let refusal: { readonly until: number; readonly error: Error } | undefined;

  const fresh = async (): Promise<string> => {
    try {
      if (refusal && clock.monotonic() < refusal.until) throw refusal.error;
      refusal = undefined;
      token = await logIn(credential, deps);
      deps.onLogin?.('done');
      deps.scrubber.register(token, 'token');
      return token;
    } catch (error) {
      const isRefused = error instanceof RetryLaterError && error.code === 'session.login_refused';
      if (error !== refusal?.error) deps.onLogin?.(isRefused ? 'refused' : 'failed');
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

/** The token died while the request stood in the queue: nothing was sent. */
class TokenGone extends Error {
  override readonly name = 'TokenGone';
}

const BEARER = /^bearer\s/i;

/** The value of the header; some services hand a token out with the word before it. */
function inHeader(token: string, { scheme }: Credential): string {
  return scheme === 'bearer' && !BEARER.test(token) ? `Bearer ${token}` : token;
}

export function createSession(credential: Credential, deps: SessionDeps): Sender {
  const { transport, clock } = deps;
  const tokens = credential.kind === 'key' ? staticKey(credential) : loggedIn(credential, deps);

  const withToken = async <T>(
    request: HttpRequest,
    attempt: (request: HttpRequest, sent: () => string) => Promise<T>,
  ): Promise<T> => {
    for (let refusals = 0; ; ) {
      let token = await tokenFor(request);
      // Asked for when the turn has come: while it queues, the token may die.
      const headersAtStart = (): Readonly<Record<string, string>> => {
        const held = tokens.held();
        if (held === undefined) throw new TokenGone('the token has died meanwhile');
        token = held;
        return { [credential.header]: inHeader(held, credential) };
      };
      try {
        return await attempt({ ...request, headersAtStart }, () => token);
      } catch (error) {
        if (error instanceof TokenGone) continue;
        if (!(error instanceof LoginAgainError)) throw error;
        const final = tokens.drop(token, error);
        if (final) throw final;
        refusals += 1;
        if (refusals > 1) throw tokenRefused(error);
        request.tally?.retried();
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
      request.tally?.waited(clock.monotonic() - since);
    }
  };
  return {
    scrub: transport.scrub,
    note: transport.note,
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
