/** Records of the management API as Svix has them (names on the wire, camelCase). */

import { z } from 'zod';
import type { Json } from '../../../lib/json.ts';
import { isoTime } from '../../../lib/units.ts';
import type { EventType } from '../event-types.ts';
import type { Attempt, Delivery, DeliveryStatus, Endpoint, Message, Page } from '../model.ts';

/**
 * Svix' codes of delivery statuses: 0 success, 1 pending, 2 fail (3, sending, counts as pending
 * here).
 */
const STATUS_CODES = { success: 0, pending: 1, failed: 2 } as const;
const STATUS_TEXTS = { success: 'success', pending: 'pending', failed: 'fail' } as const;
const TRIGGER_CODES = { scheduled: 0, manual: 1 } as const;

/** Timestamp of all entries in the event catalogue, which never changes. */
const CATALOGUE_SINCE = '2026-01-01T00:00:00.000Z';

const jsonSchema: z.ZodType<Json> = z.json();

function statusOf(status: DeliveryStatus): { status: number; statusText: string } {
  return { status: STATUS_CODES[status], statusText: STATUS_TEXTS[status] };
}

/** The only customer of this relay, an application in Svix' words. */
export const CUSTOMER = {
  id: 'app_reference',
  uid: 'reference',
  name: 'Reference service',
  throttleRate: null,
  metadata: {},
  createdAt: CATALOGUE_SINCE,
  updatedAt: CATALOGUE_SINCE,
};

export function endpointOut(endpoint: Endpoint) {
  return {
    id: endpoint.id,
    uid: null,
    url: endpoint.url,
    version: 1,
    description: endpoint.description,
    eventTypes: endpoint.eventTypes,
    filterTypes: endpoint.eventTypes,
    channels: null,
    throttleRate: null,
    rateLimit: null,
    disabled: endpoint.disabledReason !== null,
    metadata: {},
    createdAt: isoTime(endpoint.createdAt),
    updatedAt: isoTime(endpoint.updatedAt),
  };
}

export function messageOut(message: Message, withContent: boolean) {
  return {
    id: message.id,
    eventId: message.eventId,
    eventType: message.eventType,
    payload: withContent ? jsonSchema.parse(JSON.parse(message.body.toString('utf8'))) : {},
    channels: null,
    tags: null,
    timestamp: isoTime(message.createdAt),
    deliverAt: null,
  };
}

export function attemptOut(attempt: Attempt, withContent: boolean) {
  return {
    id: attempt.id,
    msgId: attempt.messageId,
    endpointId: attempt.endpointId,
    url: attempt.url,
    response: withContent ? attempt.response : '',
    responseStatusCode: attempt.responseStatus,
    responseDurationMs: attempt.durationMs,
    ...statusOf(attempt.status),
    triggerType: TRIGGER_CODES[attempt.trigger],
    timestamp: isoTime(attempt.at),
  };
}

export function deliveryOut({ status, nextAttemptAt }: Delivery) {
  return {
    ...statusOf(status),
    nextAttempt: nextAttemptAt === null ? null : isoTime(nextAttemptAt),
  };
}

export function eventTypeOut({ name, description }: EventType) {
  return {
    name,
    description,
    archived: false,
    deprecated: false,
    schemas: null,
    groupName: name.includes('.') ? name.slice(0, name.lastIndexOf('.')) : null,
    featureFlag: null,
    featureFlags: null,
    createdAt: CATALOGUE_SINCE,
    updatedAt: CATALOGUE_SINCE,
  };
}

export function pageOut<T, U>(page: Page<T>, shape: (row: T) => U) {
  return { ...page, data: page.data.map(shape) };
}

/** Cuts one page out of a list that is in memory as a whole. */
export function pageOfList<T>(
  rows: readonly T[],
  idOf: (row: T) => string,
  query: { readonly limit?: number | undefined; readonly iterator?: string | undefined },
): Page<T> {
  const limit = query.limit ?? rows.length;
  const backwards = query.iterator?.startsWith('-') ?? false;
  const at = rows.findIndex((row) => idOf(row) === query.iterator?.replace(/^-/, ''));
  const from = backwards ? Math.max(0, at - limit) : at + 1;
  const data = rows.slice(from, backwards ? at : from + limit);
  const [first, last] = [data[0], data.at(-1)];
  return {
    data,
    iterator: last === undefined ? (query.iterator ?? null) : idOf(last),
    prevIterator: first === undefined ? null : `-${idOf(first)}`,
    done: backwards ? from === 0 : from + limit >= rows.length,
  };
}
