/**
 * Routes of the control API for knobs, faults, the relay's misbehaviour, tokens and the journal of
 * requests.
 */
import { z } from 'zod';
import { ConfigError } from '../../lib/errors.ts';
import { isJsonObject } from '../../lib/json.ts';
import type { Edge } from '../edge/edge.ts';
import type { KeyRing } from '../keys.ts';
import { faultSchema } from './fault-knobs.ts';
import type { KnobStore } from './knob-store.ts';
import type { Knobs } from './knobs.ts';
import { ControlError, type ControlRoute, read } from './route.ts';

export interface EdgeRouteDeps {
  readonly knobs: KnobStore;
  readonly edge: Edge;
  readonly keys: KeyRing;
}

const whole = z
  .string()
  .regex(/^\d{1,9}$/)
  .transform(Number);
const journalQuery = z.strictObject({
  method: z.string().optional(),
  path: z.string().optional(),
  keyId: z.string().optional(),
  status: whole.optional(),
  mistakes: z.enum(['true', 'false']).optional(),
  after: whole.optional(),
  limit: whole.optional(),
});

/** Groups of knobs that are read only once, when the world is made. */
const FIXED = ['world', 'keys'];

function changed(knobs: KnobStore, change: Record<string, unknown>): Knobs {
  const fixed = Object.keys(change).find((name) => FIXED.includes(name));
  if (fixed !== undefined) {
    throw new ControlError(409, `${fixed}: is read at the start; start again to change it`);
  }
  try {
    return knobs.patch(change);
  } catch (error) {
    if (error instanceof ConfigError) throw new ControlError(422, error.message);
    throw error;
  }
}

function knobRoutes(deps: EdgeRouteDeps): ControlRoute[] {
  return [
    {
      method: 'GET',
      path: '/knobs',
      summary: 'Every knob as it holds now',
      run: () => deps.knobs.current(),
    },
    {
      method: 'PATCH',
      path: '/knobs',
      summary: 'Change knobs (JSON merge patch: null takes a value back)',
      run({ body }) {
        if (!isJsonObject(body)) throw new ControlError(422, 'The body is no object of knobs');
        return changed(deps.knobs, body);
      },
    },
  ];
}

function faultRoutes({ knobs }: EdgeRouteDeps): ControlRoute[] {
  const set = (faults: readonly unknown[]) => ({ faults: changed(knobs, { faults }).faults });
  return [
    {
      method: 'POST',
      path: '/faults',
      summary: 'Add a fault: {kind, path, method, moment, probability, seed, count, …}',
      run: ({ body }) => set([...knobs.current().faults, read(faultSchema, body)]),
    },
    {
      method: 'DELETE',
      path: '/faults',
      summary: 'Take every fault away',
      run: () => set([]),
    },
    {
      method: 'POST',
      path: '/relay/drop',
      summary: 'From now on every message is lost before it is sent',
      run: () => changed(knobs, { webhooks: { lost: 1 } }).webhooks,
    },
    {
      method: 'POST',
      path: '/relay/resume',
      summary: 'Messages are lost no longer; those that were stay lost until replayed',
      run: () => changed(knobs, { webhooks: { lost: null } }).webhooks,
    },
  ];
}

function journalRoutes({ edge, keys }: EdgeRouteDeps): ControlRoute[] {
  return [
    {
      method: 'GET',
      path: '/journal',
      summary: 'Requests: ?method&path=/api/v1/*&keyId&status&mistakes=true&after&limit',
      run({ query }) {
        const { mistakes, ...filter } = read(journalQuery, query);
        const wanted = mistakes === undefined ? {} : { mistakes: mistakes === 'true' };
        return { requests: edge.journal.list({ ...filter, ...wanted }) };
      },
    },
    {
      method: 'DELETE',
      path: '/journal',
      summary: 'Forget every request so far',
      run() {
        edge.journal.clear();
        return { requests: [] };
      },
    },
    {
      method: 'POST',
      path: '/tokens/expire',
      summary: 'Every token is worthless from now on',
      run() {
        keys.revokeAll();
        return {};
      },
    },
    {
      method: 'GET',
      path: '/keys',
      summary: 'The keys of this service with their secrets',
      run: () => keys.credentials(),
    },
  ];
}

export function edgeRoutes(deps: EdgeRouteDeps): ControlRoute[] {
  return [...knobRoutes(deps), ...faultRoutes(deps), ...journalRoutes(deps)];
}
