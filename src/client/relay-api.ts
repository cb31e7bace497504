/**
 * The relay's management API, as far as the self-test needs it: send an example event, and read its
 * last attempt. Paths and shapes are Svix'. Events do not depend on it; without access only the
 * self-test is lost.
 */
import { z } from 'zod';
import type { Clock } from '../lib/clock.ts';
import { RefusedError, RetryLaterError } from '../lib/errors.ts';
import { tryParseJson } from '../lib/json.ts';
import type { Secret } from '../lib/secret.ts';
import { connectHint } from './http/answer.ts';
import { textOf } from './http/charset.ts';
import { ExchangeFailure, exchange } from './http/exchange.ts';
import { createPools, type Pools, proxyFor } from './http/pools.ts';
import type { Route } from './http/tunnel.ts';

export interface RelayApiOptions extends Route {
  /** Such as `https://api.example.com/api/v1`. */
  readonly apiUrl: string;
  readonly token: Secret;
  /** Id or uid; null: the only one. */
  readonly application: string | null;
  /** Id; null: the only one. */
  readonly endpoint: string | null;
}

interface RelayAttempt {
  /** Status of our answer; 0: none. */
  readonly status: number;
  readonly url: string;
}

export interface RelayApi {
  /** Makes the relay send an example of this type to us; returns the id it will carry. */
  sendExample(type: string): Promise<{ readonly eventId: string; readonly endpoint: string }>;
  /** Latest attempt at an event, as seen by the relay. */
  lastAttempt(eventId: string): Promise<RelayAttempt | undefined>;
}

const DEADLINES = { connectMs: 5_000, firstByteMs: 15_000, idleMs: 15_000, totalMs: 30_000 };
const BODY_BYTES_MAX = 1_048_576;

const applications = z.object({ data: z.array(z.object({ id: z.string() })) });
const endpoints = z.object({
  data: z.array(z.object({ id: z.string(), url: z.string(), disabled: z.boolean().nullish() })),
});
const message = z.object({ id: z.string() });
const attempts = z.object({
  data: z.array(z.object({ url: z.string(), responseStatusCode: z.number() })),
});

const HINT = 'check relay.apiUrl, relay.token, relay.application and relay.endpoint';

interface Relay extends RelayApiOptions {
  readonly clock: Clock;
  readonly pools: Pools;
}

/** Status and body; a body beyond the limit is cut off. */
async function answerOf(relay: Relay, path: string, body?: object) {
  const { apiUrl, token, clock, pools } = relay;
  const url = new URL(`${apiUrl}${path}`);
  const method = body ? 'POST' : 'GET';
  const headers = { authorization: `Bearer ${token.reveal()}`, 'content-type': 'application/json' };
  try {
    const request = {
      method,
      path: url.pathname,
      headers,
      body: body ? JSON.stringify(body) : null,
    };
    const answer = await exchange(pools.of(url.origin, true), request, {
      deadlines: DEADLINES,
      bodyBytesMax: Number.POSITIVE_INFINITY,
      clock,
      signal: undefined,
      onBytes: () => undefined,
    });
    return { status: answer.status, body: await answer.whole(BODY_BYTES_MAX) };
  } catch (error) {
    if (!(error instanceof ExchangeFailure)) throw error;
    const text = `the relay does not answer: ${error.message}`;
    throw new RetryLaterError('relay.unreachable', text, {
      hint: connectHint(error, proxyFor(url.origin, relay)?.url) ?? HINT,
    });
  }
}

async function call<T>(relay: Relay, path: string, shape: z.ZodType<T>, json?: object): Promise<T> {
  const { status, body } = await answerOf(relay, path, json);
  if (status >= 300) {
    throw new RefusedError('relay.refused', `the relay answers ${status} to ${path}`, {
      hint: HINT,
    });
  }
  const parsed = shape.safeParse(tryParseJson(textOf(body)));
  if (parsed.success) return parsed.data;
  throw new RefusedError('relay.odd_answer', `the relay's answer to ${path} is of another form`);
}

/** The named id, or the only one. */
function onlyOne(what: string, named: string | null, ids: readonly string[]): string {
  const [first] = ids;
  if (named !== null) return named;
  if (first !== undefined && ids.length === 1) return first;
  const message = ids.length === 0 ? `the relay has no ${what}` : `the relay has several ${what}s`;
  const hint = ids.length === 0 ? 'selvedge portal open' : `set relay.${what}: ${ids.join(', ')}`;
  throw new RefusedError(`relay.which_${what}`, message, { hint });
}

export function createRelayApi(options: RelayApiOptions, clock: Clock): RelayApi {
  const { connectMs } = DEADLINES;
  // Omits the client certificate, which is for the service only.
  const { caText, proxy } = options;
  const pools = createPools({ connectionsMax: 1, connectMs, caText, proxy });
  const relay: Relay = { ...options, clock, pools };
  const application = async (): Promise<string> => {
    const { data } =
      options.application === null ? await call(relay, '/app', applications) : { data: [] };
    const ids = data.map(({ id }) => id);
    return encodeURIComponent(onlyOne('application', options.application, ids));
  };
  return {
    async sendExample(type) {
      const app = `/app/${await application()}`;
      const { data } = await call(relay, `${app}/endpoint`, endpoints);
      const ids = data.map(({ id }) => id);
      const endpoint = onlyOne('endpoint', options.endpoint, ids);
      if (data.find(({ id }) => id === endpoint)?.disabled === true) {
        throw new RefusedError('relay.disabled', `the relay has disabled endpoint ${endpoint}`, {
          hint: 'enable it again and recover what failed: selvedge portal open',
        });
      }
      const path = `${app}/endpoint/${encodeURIComponent(endpoint)}/send-example`;
      const { id } = await call(relay, path, message, { eventType: type });
      return { eventId: id, endpoint };
    },
    async lastAttempt(eventId) {
      const app = `/app/${await application()}`;
      const { data } = await call(
        relay,
        `${app}/attempt/msg/${encodeURIComponent(eventId)}`,
        attempts,
      );
      const [last] = data;
      return last && { status: last.responseStatusCode, url: last.url };
    },
  };
}
