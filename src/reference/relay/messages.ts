/** Publishing, and sending again what did not arrive. */
import { createId, type Random } from '../../lib/chance.ts';
import type { Clock } from '../../lib/clock.ts';
import { ConflictError, RefusedError } from '../../lib/errors.ts';
import type { JsonObject } from '../../lib/json.ts';
import { EVENT_TYPES, PING } from './event-types.ts';
import type { FaultPlanner } from './faults.ts';
import type { Delivery, Endpoint, Message } from './model.ts';
import type { RelayStore } from './store/store.ts';

const PAYLOAD_BYTES_MAX = 350_000;

/** How long the sender's own event id is remembered. */
const EVENT_ID_MS = 24 * 3_600_000;

/** How long a message can be looked at and sent again. */
const RETENTION_MS = 90 * 24 * 3_600_000;

/** Older ones are forgotten earlier: a fast world makes many. */
const MESSAGES_MAX = 50_000;

/** How often old messages are looked for, in time and in messages. */
const FORGET_EVERY_MS = 3_600_000;
const FORGET_EVERY_MESSAGES = 5_000;

/** How far back a recovery may reach. */
const RECOVER_MS_MAX = 14 * 24 * 3_600_000 + 5 * 60_000;

interface MessageInput {
  readonly eventType: string;
  readonly payload: JsonObject;
  /** The sender's own id; a repetition within a day is a ConflictError. */
  readonly eventId?: string | undefined;
}

export interface MessageDesk {
  /** The world's door: an event in the shape of the wire contract. */
  publish(type: string, data: JsonObject, references?: JsonObject): void;
  send(input: MessageInput): Message;
  /** A `ping` to one endpoint, whatever types it chose. */
  ping(endpointId: string): Message;
  /** The example of any known type, to one endpoint. */
  sendExample(endpointId: string, eventType: string): Message;
  message(id: string): Message;
  /** The same id and bytes once more; a failure is not retried. */
  resend(messageId: string, endpointId: string): void;
  /** Sends again what failed since then (at most 14 days); gives the number of messages. */
  recover(endpointId: string, since: number, until?: number): number;
  /** Sends what was never attempted at this endpoint since then; gives the number. */
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

function isSubscribed(endpoint: Endpoint, eventType: string): boolean {
  if (endpoint.disabledReason !== null) return false;
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
    body,
    createdAt: now,
  };
  store.insertMessage(message);
  return message;
}

function fanOut(deps: MessageDeps, message: Message): void {
  for (const endpoint of deps.store.endpoints()) {
    if (!isSubscribed(endpoint, message.eventType)) continue;
    const plan = deps.faults.next();
    if (plan.lost) continue;
    const job = {
      messageId: message.id,
      endpointId: endpoint.id,
      number: 0,
      kind: 'scheduled',
      dueAt: message.createdAt + plan.delayMs,
      fault: plan.fault,
    } as const;
    deps.store.enqueue(job);
    if (plan.duplicated) deps.store.enqueue({ ...job, kind: 'duplicate', fault: null });
  }
}

/** Manual attempts for every message that `find` names within the window. */
function again(
  deps: MessageDeps,
  endpointId: string,
  [since, until]: readonly [number, number],
  find: RelayStore['failedSince'],
): number {
  const { store, clock } = deps;
  const now = clock.now();
  if (now - since > RECOVER_MS_MAX) {
    throw new RefusedError('relay.recover_window', 'a recovery reaches back 14 days at most');
  }
  const endpoint = deps.endpoint(endpointId);
  const ids = store.atomically(() => {
    const found = find.call(store, endpoint, since, until);
    for (const messageId of found) {
      store.enqueue({ messageId, endpointId, number: 0, kind: 'manual', dueAt: now, fault: null });
    }
    return found;
  });
  deps.wake();
  return ids.length;
}

/** Called before each message; keeps the history within its limits. */
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
  const sendTo = (endpointId: string, eventType: string, data: JsonObject): Message => {
    const target = deps.endpoint(endpointId);
    const sent = store.atomically(() => {
      const recorded = record(deps, { eventType, payload: { type: eventType, data } });
      const job = { messageId: recorded.id, endpointId: target.id, number: 0 };
      store.enqueue({ ...job, kind: 'scheduled', dueAt: recorded.createdAt, fault: null });
      return recorded;
    });
    wake();
    return sent;
  };
  const now = (): number => clock.now() + 1;
  return {
    message,
    send,
    publish(type, data, references) {
      send({ eventType: type, payload: { type, data, ...(references && { references }) } });
    },
    ping: (endpointId) => sendTo(endpointId, PING, { ping: true }),
    sendExample(endpointId, eventType) {
      const known = EVENT_TYPES.find(({ name }) => name === eventType);
      if (!known) throw new RefusedError('relay.event_type_unknown', 'there is no such event type');
      return sendTo(endpointId, eventType, known.example);
    },
    resend(messageId, endpointId) {
      const job = { messageId: message(messageId).id, endpointId: deps.endpoint(endpointId).id };
      store.enqueue({ ...job, number: 0, kind: 'manual', dueAt: clock.now(), fault: null });
      wake();
    },
    recover: (endpointId, since, until = now()) =>
      again(deps, endpointId, [since, until], store.failedSince),
    replayMissing: (endpointId, since, until = now()) =>
      again(deps, endpointId, [since, until], store.missingSince),
    deliveriesOf: (messageId) => store.history.deliveriesOf(message(messageId).id),
  };
}
