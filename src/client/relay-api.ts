/**
 * The relay's management API, as far as a self-test needs it: ask for an event, and look at what
 * became of it. Paths and shapes are Svix'. It is no part of the way that events take; an account
 * without access to it loses nothing but the self-test.
 */
import { Agent, request } from 'undici';
import { z } from 'zod';
import { RefusedError, RetryLaterError, toError } from '../lib/errors.ts';
import { tryParseJson } from '../lib/json.ts';
import type { Secret } from '../lib/secret.ts';

export interface RelayApiOptions {
  /** Such as `https://api.example.com/api/v1`. */
  readonly apiUrl: string;
  readonly token: Secret;
  /** Id or uid; null: the only one that there is. */
  readonly application: string | null;
  /** Id; null: the only one that there is. */
  readonly endpoint: string | null;
}

interface RelayAttempt {
  /** What our side answered; 0 when there was no answer. */
  readonly status: number;
  readonly url: string;
}

export interface RelayApi {
  /** Has the relay send an example of this type to us; gives the id that it will carry. */
  sendExample(type: string): Promise<{ readonly eventId: string; readonly endpoint: string }>;
  /** The latest attempt at an event, as the relay saw it. */
  lastAttempt(eventId: string): Promise<RelayAttempt | undefined>;
}

const TIMEOUT_MS = 15_000;
const BODY_BYTES_MAX = 1_048_576;

const applications = z.object({ data: z.array(z.object({ id: z.string() })) });
const endpoints = z.object({
  data: z.array(z.object({ id: z.string(), url: z.string(), disabled: z.boolean().nullish() })),
});
const message = z.object({ id: z.string() });
const attempts = z.object({
  data: z.array(z.object({ url: z.string(), responseStatusCode: z.number() })),
});

/** Checks certificates whatever the environment says of NODE_TLS_REJECT_UNAUTHORIZED. */
const VERIFYING = new Agent({ connect: { rejectUnauthorized: true } });

const HINT = 'check relay.apiUrl, relay.token, relay.application and relay.endpoint';

async function call<T>(
  { apiUrl, token }: RelayApiOptions,
  path: string,
  shape: z.ZodType<T>,
  body?: object,
): Promise<T> {
  const answer = await request(`${apiUrl}${path}`, {
    dispatcher: VERIFYING,
    method: body ? 'POST' : 'GET',
    headers: { authorization: `Bearer ${token.reveal()}`, 'content-type': 'application/json' },
    ...(body ? { body: JSON.stringify(body) } : {}),
    headersTimeout: TIMEOUT_MS,
    bodyTimeout: TIMEOUT_MS,
  }).catch((error: unknown) => {
    const text = `the relay does not answer: ${toError(error).message}`;
    throw new RetryLaterError('relay.unreachable', text, { hint: HINT });
  });
  const { statusCode } = answer;
  const declared = Number(answer.headers['content-length'] ?? 0);
  if (statusCode >= 300 || declared > BODY_BYTES_MAX) {
    await answer.body.dump();
    throw new RefusedError('relay.refused', `the relay answers ${statusCode} to ${path}`, {
      hint: HINT,
    });
  }
  const parsed = shape.safeParse(tryParseJson(await answer.body.text()));
  if (parsed.success) return parsed.data;
  throw new RefusedError('relay.odd_answer', `the relay's answer to ${path} is of another form`);
}

/** The one that is named, or the only one. */
function onlyOne(what: string, named: string | null, ids: readonly string[]): string {
  const [first] = ids;
  if (named !== null) return named;
  if (first !== undefined && ids.length === 1) return first;
  const message = ids.length === 0 ? `the relay has no ${what}` : `the relay has several ${what}s`;
  const hint = ids.length === 0 ? 'selvedge portal open' : `set relay.${what}: ${ids.join(', ')}`;
  throw new RefusedError(`relay.which_${what}`, message, { hint });
}

export function createRelayApi(options: RelayApiOptions): RelayApi {
  const application = async (): Promise<string> => {
    const { data } =
      options.application === null ? await call(options, '/app', applications) : { data: [] };
    const ids = data.map(({ id }) => id);
    return encodeURIComponent(onlyOne('application', options.application, ids));
  };
  return {
    async sendExample(type) {
      const app = `/app/${await application()}`;
      const { data } = await call(options, `${app}/endpoint`, endpoints);
      const ids = data.map(({ id }) => id);
      const endpoint = onlyOne('endpoint', options.endpoint, ids);
      if (data.find(({ id }) => id === endpoint)?.disabled === true) {
        throw new RefusedError('relay.disabled', `the relay has disabled endpoint ${endpoint}`, {
          hint: 'enable it again and recover what failed: selvedge portal open',
        });
      }
      const path = `${app}/endpoint/${encodeURIComponent(endpoint)}/send-example`;
      const { id } = await call(options, path, message, { eventType: type });
      return { eventId: id, endpoint };
    },
    async lastAttempt(eventId) {
      const app = `/app/${await application()}`;
      const { data } = await call(
        options,
        `${app}/attempt/msg/${encodeURIComponent(eventId)}`,
        attempts,
      );
      const [last] = data;
      return last && { status: last.responseStatusCode, url: last.url };
    },
  };
}
