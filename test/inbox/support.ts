/** A whole inbox on a real port over a real database, and a relay's hand to sign with. */
import { createHmac, randomBytes } from 'node:crypto';
import { connect } from 'node:net';
import { onTestFinished, vi } from 'vitest';
import {
  type AccessRules,
  createAccess,
  createVerifier,
  type SigningSecret,
} from '../../src/inbox/access.ts';
import { createEventStore, type EventStore } from '../../src/inbox/event-store.ts';
import {
  createListener,
  LISTENER_LIMITS,
  type Listener,
  type ListenerLimits,
} from '../../src/inbox/listener.ts';
import { createMeter, type Meter } from '../../src/inbox/meter.ts';
import { type Clock, systemClock } from '../../src/lib/clock.ts';
import { silentLogger } from '../../src/lib/log.ts';
import { Secret } from '../../src/lib/secret.ts';
import type { SqliteStore } from '../../src/store/store.ts';
import { temporaryStore } from '../support/store.ts';

export const KEY = `whsec_${Buffer.alloc(24, 7).toString('base64')}`;

export function secret(name: string, value: string, notAfter?: number): SigningSecret {
  return { name, secret: new Secret(name, value), notAfter };
}

export interface SignOptions {
  readonly id?: string;
  /** Epoch milliseconds. */
  readonly at?: number;
  readonly key?: string;
  readonly family?: 'svix' | 'webhook';
}

/** The headers of one attempt, as the relay makes them. */
export function sign(body: string | Buffer, options: SignOptions = {}): Record<string, string> {
  const { key = KEY, family = 'svix', at = systemClock().now() } = options;
  const id = options.id ?? `msg_${randomBytes(12).toString('hex')}`;
  const timestamp = String(Math.floor(at / 1_000));
  const signature = createHmac('sha256', Buffer.from(key.replace('whsec_', ''), 'base64'))
    .update(`${id}.${timestamp}.`)
    .update(body)
    .digest('base64');
  return {
    'content-type': 'application/json',
    [`${family}-id`]: id,
    [`${family}-timestamp`]: timestamp,
    [`${family}-signature`]: `v1,${signature}`,
  };
}

export function deliveryCreated(orderId: number): string {
  return JSON.stringify({
    type: 'sales_order.delivery_created',
    data: { salesOrderDelivery: { orderDeliveryId: orderId * 10, orderId, status: 'pending' } },
  });
}

export interface Inbox {
  readonly url: string;
  readonly port: number;
  readonly store: SqliteStore;
  readonly meter: Meter;
  readonly listener: Listener;
  readonly eventStore: EventStore;
  /** How often the refetcher would have been nudged. */
  nudges(): number;
  post(body: string | Buffer, headers?: Record<string, string>): Promise<Response>;
}

export interface InboxOptions {
  readonly access?: Partial<AccessRules>;
  readonly secrets?: readonly SigningSecret[];
  readonly clock?: Clock;
  readonly limits?: Partial<ListenerLimits>;
  readonly writable?: () => boolean;
  readonly store?: SqliteStore;
  readonly eventStore?: EventStore;
}

export async function startInbox(options: InboxOptions = {}): Promise<Inbox> {
  const clock = options.clock ?? systemClock();
  const log = silentLogger();
  const store = options.store ?? (await temporaryStore(clock));
  const meter = createMeter(clock, log);
  let nudges = 0;
  const onAccepted = (): void => {
    nudges += 1;
  };
  const eventStore = options.eventStore ?? createEventStore({ store, clock, meter, onAccepted });
  const listener = createListener(
    {
      access: createAccess({ path: '/events', ...options.access }),
      verifier: createVerifier(options.secrets ?? [secret('current', KEY)]),
      eventStore,
      meter,
      clock,
      log,
      writable: options.writable ?? (() => true),
    },
    { ...LISTENER_LIMITS, ...options.limits },
  );
  const { url } = await listener.start({ host: '127.0.0.1', port: 0 });
  onTestFinished(() => listener.close(0));
  const events = `${url}/events`;
  return {
    url: events,
    port: Number(new URL(events).port),
    store,
    meter,
    listener,
    eventStore,
    nudges: () => nudges,
    post: (body, headers = sign(body, { at: clock.now() })) =>
      fetch(events, { method: 'POST', body, headers, redirect: 'manual' }),
  };
}

/** Sends bytes as they are and gives everything that came back until the connection ended. */
export function talk(port: number, bytes: string | Buffer, options: { end?: boolean } = {}) {
  return new Promise<string>((resolve) => {
    let received = '';
    const socket = connect(port, '127.0.0.1', () => {
      socket.write(bytes);
      if (options.end) socket.end();
    });
    socket.setEncoding('latin1');
    socket.on('data', (chunk) => {
      received += chunk;
    });
    socket.on('error', () => undefined);
    socket.on('close', () => resolve(received));
  });
}

/** Waits until `check` passes; a busy machine gets its time. */
export async function eventually(check: () => void | Promise<void>): Promise<void> {
  await vi.waitFor(check, { timeout: 240_000, interval: 5 });
}
