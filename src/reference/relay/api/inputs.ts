/** Input schemas of the management API. Members of Svix that the relay does not use are ignored. */
import { z } from 'zod';
import type { JsonObject } from '../../../lib/json.ts';
import { PAGE_LIMIT_MAX } from '../model.ts';

const moment = z.iso.datetime({ offset: true }).transform((text) => Date.parse(text));
const list = z.string().transform((text) => text.split(',').filter((name) => name !== ''));
const eventTypes = z.array(z.string()).nullable();

export const pageQuery = z.object({
  limit: z.coerce.number().int().min(1).max(PAGE_LIMIT_MAX).optional(),
  iterator: z.string().min(1).optional(),
});

const contentQuery = pageQuery.extend({
  before: moment.optional(),
  after: moment.optional(),
  event_types: list.optional(),
  with_content: z.stringbool().default(true),
});

const statuses = {
  0: 'success',
  1: 'pending',
  2: 'failed',
} as const;

export const messageQuery = contentQuery.transform(({ event_types, ...query }) => ({
  ...query,
  eventTypes: event_types,
}));

export const endpointMessageQuery = contentQuery
  .extend({ status: z.enum(['0', '1', '2']).optional() })
  .transform(({ event_types, status, ...query }) => ({
    ...query,
    eventTypes: event_types,
    status: status && statuses[status],
  }));

export const attemptQuery = contentQuery
  .extend({
    status: z.enum(['0', '2']).optional(),
    status_code_class: z.coerce.number().int().optional(),
    endpoint_id: z.string().optional(),
    with_msg: z.stringbool().default(false),
  })
  .transform(({ event_types, status, status_code_class, ...query }) => ({
    ...query,
    eventTypes: event_types,
    status: status && statuses[status],
    statusClass: status_code_class,
  }));

export const applicationBody = z.object({
  name: z.string().min(1),
  uid: z.string().nullish(),
});

export const endpointBody = z.object({
  url: z.string(),
  description: z.string().optional(),
  eventTypes: eventTypes.optional(),
  secret: z
    .string()
    .nullish()
    .transform((secret) => secret ?? undefined),
  disabled: z.boolean().optional(),
});

export const endpointPatch = endpointBody.omit({ secret: true }).partial();

const GRACE_SECONDS_MAX = 7 * 86_400;

export const rotateBody = z
  .object({
    key: z.string().nullish(),
    gracePeriodSeconds: z.number().int().min(0).max(GRACE_SECONDS_MAX).nullish(),
  })
  .transform(({ key, gracePeriodSeconds }) => ({
    secret: key ?? undefined,
    ...(typeof gracePeriodSeconds === 'number' && { graceMs: gracePeriodSeconds * 1_000 }),
  }));

export const windowBody = z.object({
  since: moment,
  until: moment.nullish().transform((until) => until ?? undefined),
});

export const exampleBody = z.object({ eventType: z.string() });

const payload: z.ZodType<JsonObject> = z.record(z.string(), z.json());

export const messageBody = z.object({
  eventType: z.string().regex(/^[a-zA-Z0-9\-_.]{1,256}$/),
  payload,
  eventId: z
    .string()
    .max(256)
    .nullish()
    .transform((id) => id ?? undefined),
});
