/**
 * The dispatcher makes the attempts that are due, a bounded number at a time, and records their
 * outcomes.
 *
 * The queue in the store is the truth: the dispatcher only looks at it when a message was
 * published, when an attempt ended, and when the next one is due. An attempt leaves the queue
 * together with the record of its outcome, so that a restart in between sends it again and loses
 * nothing.
 */

import type { Clock, Timer } from '../../../lib/clock.ts';
import { toError } from '../../../lib/errors.ts';
import type { Logger } from '../../../lib/log.ts';
import { createId, type Random } from '../../../lib/random.ts';
import type { Endpoint, Job, Message } from '../model.ts';
import type { Outcome, RelayStore } from '../store/store.ts';
import { FAILING_MS_MAX, retryDelayMs } from './schedule.ts';
import type { Answer, Sender } from './sender.ts';
import { createSecret, signedHeaders } from './signature.ts';

/**
 * Maximum number of open attempts to one endpoint, so that a slow one does not delay the others.
 */
const IN_FLIGHT_PER_ENDPOINT_MAX = 8;

/**
 * Age in seconds of a time stamp that a fault made stale: far beyond the five minutes that a
 * receiver tolerates.
 */
const STALE_SECONDS = 3_600;

const USER_AGENT = 'Svix-Webhooks/1.0 (selvedge reference relay)';

export interface DispatcherDeps {
  readonly store: RelayStore;
  readonly sender: Sender;
  /** Clock of the relay's own time, for schedule and history. */
  readonly clock: Clock;
  /** Clock of real time, with which a receiver compares the signed time stamp. */
  readonly wallClock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly disable: (endpoint: Endpoint, reason: string) => void;
}

export interface Dispatcher {
  /** Makes the dispatcher look at the queue again, soon. */
  wake(): void;
  /** Resolves when no attempt is in progress and none is due. */
  idle(): Promise<void>;
  /** Stops the dispatcher; attempts in progress stay queued. */
  close(): Promise<void>;
}

function requestHeaders(deps: DispatcherDeps, job: Job, message: Message): Record<string, string> {
  const keys = deps.store.liveKeys(job.endpointId, deps.clock.now()).map(({ secret }) => secret);
  const secrets = job.fault === 'wrong_signature' ? [createSecret(deps.random)] : keys;
  const age = job.fault === 'stale_timestamp' ? STALE_SECONDS : 0;
  const seconds = Math.floor(deps.wallClock.now() / 1_000) - age;
  const signed = signedHeaders(secrets, message.id, seconds, message.body);
  return { 'content-type': 'application/json', 'user-agent': USER_AGENT, ...signed };
}

/** Reason for which an answer ends all sending to its endpoint; undefined: it does not. */
function refusalOf(answer: Answer): string | undefined {
  if (answer.status === 410) return 'the receiver answered 410 Gone';
  if (answer.control === 'disable') return 'the receiver asked to be disabled';
  return undefined;
}

/**
 * Derives the outcome of an attempt from its answer. Only a scheduled attempt changes more than the
 * history.
 */
function outcomeOf(
  deps: DispatcherDeps,
  endpoint: Endpoint,
  job: Job,
  answer: Answer,
  at: number,
): Outcome {
  const succeeded = answer.status >= 200 && answer.status < 300;
  const attempt = {
    id: `atmpt_${createId(at, deps.random)}`,
    messageId: job.messageId,
    endpointId: job.endpointId,
    url: endpoint.url,
    status: succeeded ? 'success' : 'failed',
    responseStatus: answer.status,
    response: answer.body,
    durationMs: answer.durationMs,
    trigger: job.kind === 'manual' ? 'manual' : 'scheduled',
    at,
  } as const;
  const base = { attempt, job, retry: null, failingSince: endpoint.failingSince };
  if (succeeded) return { ...base, status: 'success', failingSince: null };
  if (job.kind !== 'scheduled') return { ...base, status: null };
  if (endpoint.disabledReason !== null) return { ...base, status: 'failed' };
  const now = deps.clock.now();
  const failed = { ...answer, number: job.number, responseStatus: answer.status };
  const delay = answer.control === 'abort-message' ? undefined : retryDelayMs(failed, deps.random);
  if (delay === undefined) {
    return { ...base, status: 'failed', failingSince: endpoint.failingSince ?? now };
  }
  const retry = { ...job, number: job.number + 1, dueAt: now + delay, fault: null };
  return { ...base, status: 'pending', retry };
}

/** Makes one attempt; `stopped` tells whether the relay was closed meanwhile. */
async function attempt(deps: DispatcherDeps, job: Job, stopped: () => boolean): Promise<void> {
  const { store, clock, log } = deps;
  const endpoint = store.endpoint(job.endpointId);
  const message = store.message(job.messageId);
  if (!endpoint || !message) return store.drop(job);
  const at = clock.now();
  const answer = await deps.sender.send(
    endpoint.url,
    requestHeaders(deps, job, message),
    message.body,
  );
  if (stopped()) return;
  const current = store.endpoint(job.endpointId);
  if (!current) return store.drop(job);
  const outcome = outcomeOf(deps, current, job, answer, at);
  store.finish(outcome);
  log.debug(
    { message: message.id, endpoint: endpoint.id, status: answer.status, number: job.number },
    'attempt',
  );
  const refusal = refusalOf(answer);
  if (refusal) deps.disable(current, refusal);
  // The limit is checked when a message is given up, like at Svix, and not by a timer of its own.
  const givenUp = outcome.status === 'failed' && current.failingSince !== null;
  if (givenUp && clock.now() - (current.failingSince ?? 0) > FAILING_MS_MAX) {
    deps.disable(current, 'every message failed for 120 hours');
  }
}

export function createDispatcher(deps: DispatcherDeps): Dispatcher {
  const { store, clock, log } = deps;
  const inFlight = new Map<number, Promise<void>>();
  const stuck = new Set<number>();
  const perEndpoint = new Map<string, number>();
  let timer: Timer | undefined;
  let awake = false;
  let closed = false;
  const waiters: (() => void)[] = [];

  const start = (job: Job): void => {
    perEndpoint.set(job.endpointId, (perEndpoint.get(job.endpointId) ?? 0) + 1);
    const done = attempt(deps, job, () => closed)
      .catch((thrown: unknown) => {
        // An attempt whose outcome cannot be written must not be repeated over and over.
        stuck.add(job.seq);
        log.error({ err: toError(thrown), message: job.messageId }, 'attempt not recorded');
      })
      .then(() => {
        inFlight.delete(job.seq);
        perEndpoint.set(job.endpointId, (perEndpoint.get(job.endpointId) ?? 1) - 1);
        look();
      });
    inFlight.set(job.seq, done);
  };

  const startDue = (now: number): void => {
    for (const endpointId of store.endpointsWithJobsDue(now)) {
      // Attempts in progress are still queued, so twice the maximum always has enough new ones.
      for (const job of store.dueJobs(endpointId, now, 2 * IN_FLIGHT_PER_ENDPOINT_MAX)) {
        if ((perEndpoint.get(endpointId) ?? 0) >= IN_FLIGHT_PER_ENDPOINT_MAX) break;
        if (!inFlight.has(job.seq) && !stuck.has(job.seq)) start(job);
      }
    }
  };

  const look = (): void => {
    awake = false;
    timer?.cancel();
    if (closed) return;
    const now = clock.now();
    startDue(now);
    const next = store.nextDueAfter(now);
    if (next !== undefined) timer = clock.after(next - now, look);
    if (inFlight.size > 0) return;
    for (const resolve of waiters.splice(0)) resolve();
  };

  return {
    wake() {
      if (awake || closed) return;
      awake = true;
      queueMicrotask(look);
    },
    idle() {
      return new Promise((resolve) => {
        waiters.push(resolve);
        look();
      });
    },
    async close() {
      closed = true;
      timer?.cancel();
      await deps.sender.close();
      await Promise.all(inFlight.values());
      for (const resolve of waiters.splice(0)) resolve();
    },
  };
}
