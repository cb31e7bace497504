/**
 * Makes an attempt over HTTP: POSTs the bytes, waits for the answer, keeps its first part. The
 * sender never throws for anything that a receiver can do, and follows no redirects.
 */
import type { Dispatcher } from 'undici';
import type { Clock } from '../../../lib/clock.ts';
import { toError } from '../../../lib/errors.ts';
import { Agent, requestBy } from '../../../lib/http-client/undici.ts';
import { parseRetryAfter } from './schedule.ts';
import type { TargetGuard } from './target.ts';

/** Milliseconds that an attempt may take, from the connection to the end of the answer. */
const ATTEMPT_MS_MAX = 15_000;

/** Bytes of an answer that are kept and shown in the portal. */
const RESPONSE_BYTES_MAX = 20_000;

const CONNECTIONS_PER_ORIGIN_MAX = 16;
const KEEP_ALIVE_MS = 4_000;

export interface Answer {
  /** HTTP status of the answer; 0: there was no answer. */
  readonly status: number;
  readonly body: string;
  readonly durationMs: number;
  readonly timedOut: boolean;
  readonly retryAfterMs: number | undefined;
  /** Request of the receiver in the header `webhook-delivery`. */
  readonly control: string | undefined;
}

export interface Sender {
  send(url: string, headers: Readonly<Record<string, string>>, body: Buffer): Promise<Answer>;
  /** Ends open attempts; they return as unanswered. */
  close(): Promise<void>;
}

function headerOf(response: Dispatcher.ResponseData, name: string): string | undefined {
  const value = response.headers[name];
  return typeof value === 'string' ? value : value?.[0];
}

async function firstBytes(body: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of body) {
    chunks.push(chunk);
    size += chunk.length;
    if (size >= RESPONSE_BYTES_MAX) break;
  }
  return Buffer.concat(chunks).subarray(0, RESPONSE_BYTES_MAX).toString('utf8');
}

/**
 * Creates a sender. `wallClock` is real time, even when the relay's own clock runs faster, because
 * networks do not.
 */
export function createSender(guard: TargetGuard, wallClock: Clock): Sender {
  const agent = new Agent({
    connections: CONNECTIONS_PER_ORIGIN_MAX,
    keepAliveTimeout: KEEP_ALIVE_MS,
    // The attempt's own deadline is the only one; undici's timeouts would end the attempt first or
    // not at all.
    headersTimeout: 0,
    bodyTimeout: 0,
    connect: { lookup: guard.lookup },
  });
  return {
    async send(url, headers, body) {
      const startedAt = wallClock.monotonic();
      const deadline = new AbortController();
      const timer = wallClock.after(ATTEMPT_MS_MAX, () => deadline.abort());
      const outcome = (part: Partial<Answer> & Pick<Answer, 'status' | 'body'>): Answer => ({
        timedOut: false,
        retryAfterMs: undefined,
        control: undefined,
        durationMs: Math.round(wallClock.monotonic() - startedAt),
        ...part,
      });
      try {
        const response = await requestBy(agent, guard.check(url), {
          method: 'POST',
          headers,
          body,
          signal: deadline.signal,
        });
        return outcome({
          status: response.statusCode,
          body: await firstBytes(response.body),
          retryAfterMs: parseRetryAfter(headerOf(response, 'retry-after'), wallClock.now()),
          control: headerOf(response, 'webhook-delivery'),
        });
      } catch (thrown) {
        const timedOut = deadline.signal.aborted;
        const reason = timedOut ? 'no answer in time' : toError(thrown).message;
        return outcome({ status: 0, body: reason, timedOut });
      } finally {
        timer.cancel();
      }
    },
    async close() {
      await agent.destroy();
    },
  };
}
