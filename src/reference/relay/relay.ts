/**
 * The relay between the service and the endpoints of its customers: a stand-in for Svix, as the
 * wire contract describes it in "Events: relay and portal".
 *
 * Reads: what the world publishes, what the owner of endpoints enters (portal, management API).
 * Writes: HTTP requests to the endpoints, and its own SQLite state (queue, history), which
 * survives a restart. Promises at-least-once, no order, the same id and bytes on every attempt.
 *
 * Goes wrong when: an endpoint fails (retried by a fixed schedule, then disabled), the state
 * cannot be written (the attempt is not repeated until the next start, and logged), or faults are
 * switched on, which is misbehaviour on purpose.
 */

import type { Clock } from '../../lib/clock.ts';
import type { Logger } from '../../lib/log.ts';
import type { Random } from '../../lib/random.ts';
import type { WebhookFaults } from '../control/fault-knobs.ts';
import { createDispatcher, type Dispatcher } from './delivery/dispatcher.ts';
import { createSender } from './delivery/sender.ts';
import { createTargetGuard } from './delivery/target.ts';
import { createEndpointDesk, type EndpointDesk } from './endpoints.ts';
import { createFaultPlanner } from './faults.ts';
import { createMessageDesk, type MessageDesk } from './messages.ts';
import type { Attempt, Message, Page } from './model.ts';
import type { AttemptFilter, MessageFilter } from './store/history.ts';
import { RelayStore } from './store/store.ts';

export interface RelayOptions {
  /** The relay's own time; a faster clock shortens the retry schedule, not the timeouts. */
  readonly clock: Clock;
  /** Real time for signatures and deadlines; tests step it. */
  readonly wallClock: Clock;
  /** Ids, jitter and new secrets come from here: give a seeded one only to a trial. */
  readonly random: Random;
  readonly log: Logger;
  /** A SQLite file of the relay's own; in memory when absent. */
  readonly statePath?: string | undefined;
  readonly faults: WebhookFaults;
}

export interface Relay extends EndpointDesk, MessageDesk {
  /** The relay's own time, which may run faster than the wall's. */
  now(): number;
  messages(filter?: MessageFilter): Page<Message>;
  attempts(filter?: AttemptFilter): Page<Attempt>;
  /** The attempt, or undefined. */
  attempt(id: string): Attempt | undefined;
  /** From now on messages are published with these faults. */
  setFaults(faults: WebhookFaults): void;
  /** Resolves when nothing is in flight and nothing is due. */
  idle(): Promise<void>;
  /** Closes the relay; queued deliveries stay queued in the state file. */
  close(): Promise<void>;
}

export function createRelay(options: RelayOptions): Relay {
  const { clock, random, log, wallClock } = options;
  const store = new RelayStore(options.statePath);
  const guard = createTargetGuard();
  const faults = createFaultPlanner(options.faults);
  const endpoints = createEndpointDesk({ store, guard, clock, random });
  const dispatcher: Dispatcher = createDispatcher({
    store,
    clock,
    wallClock,
    random,
    log,
    sender: createSender(guard, wallClock),
    disable(endpoint, reason) {
      log.warn({ endpoint: endpoint.id, reason }, 'endpoint disabled');
      endpoints.disable(endpoint.id, reason);
    },
  });
  const { wake, idle } = dispatcher;
  const messages = createMessageDesk({
    store,
    faults,
    clock,
    random,
    wake,
    endpoint: endpoints.endpoint,
  });
  wake();
  return {
    ...endpoints,
    ...messages,
    now: clock.now,
    messages: (filter) => store.history.messages(filter),
    attempts: (filter) => store.history.attempts(filter),
    attempt: (id) => store.history.attempt(id),
    setFaults: faults.set,
    idle,
    async close() {
      await dispatcher.close();
      store.close();
    },
  };
}
