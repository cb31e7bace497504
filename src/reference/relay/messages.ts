/** Publishes messages, and sends those again that did not arrive. */

import type { Clock } from '../../lib/clock.ts';
import { ConflictError, RefusedError } from '../../lib/errors.ts';
import type { JsonObject } from '../../lib/json.ts';
import { createId, type Random } from '../../lib/random.ts';
import type { EventSink } from '../world/events.ts';
import { EVENT_TYPES } from './event-types.ts';
import type { FaultPlanner } from './faults.ts';
import type { Delivery, Endpoint, Message, NewJob } from './model.ts';
import type { RelayStore } from './store/store.ts';

const PAYLOAD_BYTES_MAX = 350_000;

/** Milliseconds for which the sender's own event id is remembered. */
const EVENT_ID_MS = 24 * 3_600_000;

/** Milliseconds for which a message can be looked at and sent again. */
const RETENTION_MS = 90 * 24 * 3_600_000;

/** Maximum number of messages that are kept, because a fast world makes many. */
const MESSAGES_MAX = 50_000;

/** Milliseconds, and number of messages, between two searches for old messages. */
const FORGET_EVERY_MS = 3_600_000;
const FORGET_EVERY_MESSAGES = 5_000;

/** Longest time back that a recovery may reach, in milliseconds. */
const RECOVER_MS_MAX = 14 * 24 * 3_600_000 + 5 * 60_000;

interface MessageInput {
  readonly eventType: string;
  readonly payload: JsonObject;
  /** Sender's own id of the event; a repetition within a day is a ConflictError. */
  readonly eventId?: string | undefined;
  /** Index of the account that the event is about; absent: it is for all. */
  readonly account?: number | undefined;
}

/** Messages of the relay; the world publishes its events here too. */
export interface MessageDesk extends EventSink {
  send(input: MessageInput): Message;
  /** Sends the example of any known event type to one endpoint, whatever types that one chose. */
  sendExample(endpointId: string, eventType: string): Message;
  message(id: string): Message;
  /** Sends the same id and bytes once more; a failure is not retried. */
  resend(messageId: string, endpointId: string): void;
  /** Sends messages again that failed since then (at most 14 days back); returns their number. */
  recover(endpointId: string, since: number, until?: number): number;
  /** Sends messages that were never attempted at this endpoint since then; returns their number. */
  replayMissing(endpointId: string, since: number, until?: number): number;
  deliveriesOf(messageId: string): readonly Delivery[];
}

export interface MessageDeps {
  readonly store: RelayStore;
  readonly faults: FaultPlanner;
  readonly clock: Clock;
  readonly random: Random;
  readonly endpoint: (id: string) => Endpoint;
  readonly wake: () => void;
}

function isSubscribed(endpoint: Endpoint, { eventType, account }: Message): boolean {
  if (endpoint.disabledReason !== null) return false;
  if (endpoint.account !== null && account !== null && endpoint.account !== account) return false;
  return endpoint.eventTypes === null || endpoint.eventTypes.includes(eventType);
}

function record(deps: MessageDeps, input: MessageInput): Message {
  const { store, clock } = deps;
  const body = Buffer.from(JSON.stringify(input.payload));
  if (body.length > PAYLOAD_BYTES_MAX) {
    throw new RefusedError('relay.payload_too_large', 'the payload is too large', {
      hint: `at most ${PAYLOAD_BYTES_MAX} bytes`,
    });
  }
  const now = clock.now();
  if (input.eventId !== undefined && store.hasEventId(input.eventId, now - EVENT_ID_MS)) {
    throw new ConflictError('relay.event_id_used', 'a message with this event id was sent today');
  }
  const message: Message = {
    id: `msg_${createId(now, deps.random)}`,
    eventType: input.eventType,
    eventId: input.eventId ?? null,
    account: input.account ?? null,
    body,
    createdAt: now,
  };
  store.insertMessage(message);
  return message;
}

/** Makes a job for the queue from an attempt that is no retry. */
function attemptOf(
  messageId: string,
  endpointId: string,
  kind: NewJob['kind'],
  dueAt: number,
): NewJob {
  return { messageId, endpointId, number: 0, kind, dueAt, fault: null };
}

function fanOut(deps: MessageDeps, message: Message): void {
  for (const endpoint of deps.store.endpoints()) {
    if (!isSubscribed(endpoint, message)) continue;
    const plan = deps.faults.next();
    if (plan.lost) continue;
    const dueAt = message.createdAt + plan.delayMs;
    const job = attemptOf(message.id, endpoint.id, 'scheduled', dueAt);
    deps.store.enqueue({ ...job, fault: plan.fault });
    if (plan.duplicated) deps.store.enqueue({ ...job, kind: 'duplicate' });
  }
}

/** Queues manual attempts for every message that `find` names; the window begins at `since`. */
function again(
  deps: MessageDeps,
  endpointId: string,
  since: number,
  find: (endpoint: Endpoint) => readonly string[],
): number {
  const { store, clock } = deps;
  const now = clock.now();
  if (now - since > RECOVER_MS_MAX) {
    throw new RefusedError('relay.recover_window', 'a recovery reaches back 14 days at most');
  }
  const endpoint = deps.endpoint(endpointId);
  const ids = store.atomically(() => {
    const found = find(endpoint);
    for (const id of found) store.enqueue(attemptOf(id, endpointId, 'manual', now));
    return found;
  });
  deps.wake();
  return ids.length;
}

/** Keeps the history within its limits; the returned function is called before each message. */
function createForgetter({ store, clock }: MessageDeps): () => void {
  let dueAt = Number.NEGATIVE_INFINITY;
  let sinceThen = 0;
  return () => {
    sinceThen += 1;
    if (clock.now() < dueAt && sinceThen < FORGET_EVERY_MESSAGES) return;
    dueAt = clock.now() + FORGET_EVERY_MS;
    sinceThen = 0;
    store.forgetMessages(clock.now() - RETENTION_MS, MESSAGES_MAX);
  };
}

export function createMessageDesk(deps: MessageDeps): MessageDesk {
  const { store, clock, wake } = deps;
  const message = (id: string): Message => {
    const found = store.message(id);
    if (!found) throw new RefusedError('relay.message_unknown', 'there is no such message');
    return found;
  };
  const forgetOld = createForgetter(deps);
  const send = (input: MessageInput): Message => {
    const sent = store.atomically(() => {
      forgetOld();
      const recorded = record(deps, input);
      fanOut(deps, recorded);
      return recorded;
    });
    wake();
    return sent;
  };
  const now = (): number => clock.now() + 1;
  return {
    message,
    send,
    publish(type, data, references, account) {
      const payload = { type, data, ...(references && { references }) };
      send({ eventType: type, payload, account });
    },
    sendExample(endpointId, eventType) {
      const known = EVENT_TYPES.find(({ name }) => name === eventType);
      if (!known) throw new RefusedError('relay.event_type_unknown', 'there is no such event type');
      const { id } = deps.endpoint(endpointId);
      const sent = store.atomically(() => {
        const recorded = record(deps, {
          eventType,
          payload: { type: eventType, data: known.example },
        });
        store.enqueue(attemptOf(recorded.id, id, 'scheduled', recorded.createdAt));
        return recorded;
      });
      wake();
      return sent;
    },
    resend(messageId, endpointId) {
      const [{ id }, to] = [message(messageId), deps.endpoint(endpointId)];
      store.enqueue(attemptOf(id, to.id, 'manual', clock.now()));
      wake();
    },
    recover: (endpointId, since, until = now()) =>
      again(deps, endpointId, since, (to) => store.failedSince(to, since, until)),
    replayMissing: (endpointId, since, until = now()) =>
      again(deps, endpointId, since, (to) => store.missingSince(to, since, until)),
    deliveriesOf: (messageId) => store.history.deliveriesOf(message(messageId).id),
  };
}
