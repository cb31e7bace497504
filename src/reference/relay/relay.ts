/**
 * The relay between the service and the endpoints of its customers: a stand-in for Svix, as the
 * wire contract describes it in "Events: relay and portal".
 *
 * Reads: events that the world publishes, and what the owner of endpoints enters (portal,
 * management API). Writes: HTTP requests to the endpoints, and its own SQLite state (queue,
 * history), which survives a restart. Promises at-least-once delivery, no order, and the same id
 * and bytes on every attempt.
 *
 * What can go wrong: an endpoint fails (attempts are repeated by a fixed schedule, then the
 * endpoint is disabled), the state cannot be written (which is logged, and the attempt is not
 * repeated until the next start), or faults are switched on, on purpose.
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
  /** Clock of the relay's own time; a faster one shortens the retry schedule, not the timeouts. */
  readonly clock: Clock;
  /** Clock of real time for signatures and deadlines; tests step it. */
  readonly wallClock: Clock;
  /** Source of ids, jitter and new secrets; only a trial should pass a seeded one. */
  readonly random: Random;
  readonly log: Logger;
  /** Path of the relay's own SQLite file; absent: its state is in memory. */
  readonly statePath?: string | undefined;
  readonly faults: WebhookFaults;
}

export interface Relay extends EndpointDesk, MessageDesk {
  /** Time of the relay's own clock, which may run faster than real time. */
  now(): number;
  messages(filter?: MessageFilter): Page<Message>;
  attempts(filter?: AttemptFilter): Page<Attempt>;
  /** Gives an attempt by its id; undefined: there is none. */
  attempt(id: string): Attempt | undefined;
  /** Sets the faults with which messages are published from now on. */
  setFaults(faults: WebhookFaults): void;
  /** Resolves when no attempt is in progress and none is due. */
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
