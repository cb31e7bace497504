/** Actions of an endpoint's owner. Refusals are `RefusedError`s with a code. */
import type { Clock } from '../../lib/clock.ts';
import { RefusedError } from '../../lib/errors.ts';
import { createId, type Random } from '../../lib/random.ts';
import { createSecret, isSecret } from './delivery/signature.ts';
import type { TargetGuard } from './delivery/target.ts';
import type { Endpoint } from './model.ts';
import type { RelayStore } from './store/store.ts';

/**
 * Milliseconds for which the former key still signs after a rotation, so that a receiver can change
 * over.
 */
const ROTATION_GRACE_MS = 24 * 3_600_000;

const ENDPOINTS_MAX = 50;
const LIVE_KEYS_MAX = 10;
const EVENT_TYPES_MAX = 100;
const EVENT_TYPE = /^[a-zA-Z0-9\-_.]{1,256}$/;
const DESCRIPTION_CHARS_MAX = 1_000;

interface EndpointInput {
  readonly url: string;
  readonly description?: string | undefined;
  /** Event types that the endpoint receives; null, empty or absent: every type. */
  readonly eventTypes?: readonly string[] | null | undefined;
  /** Secret `whsec_…` that the owner chose; absent: a new one is made. */
  readonly secret?: string | undefined;
  readonly disabled?: boolean | undefined;
  /** Index of the account whose events the endpoint receives; absent: those of all. */
  readonly account?: number | undefined;
}

/** Change of an endpoint; absent members stay as they are. */
type EndpointPatch = Omit<EndpointInput, 'account' | 'secret' | 'url'> & {
  readonly url?: string | undefined;
};

export interface EndpointDesk {
  createEndpoint(input: EndpointInput): Endpoint;
  updateEndpoint(id: string, patch: EndpointPatch): Endpoint;
  deleteEndpoint(id: string): void;
  /** Gives an endpoint; throws a RefusedError `relay.endpoint_unknown`. */
  endpoint(id: string): Endpoint;
  /** All endpoints in the order of their creation. */
  listEndpoints(): Endpoint[];
  enable(id: string): Endpoint;
  /** Disables an endpoint. Its waiting deliveries fail; a recovery sends them again. */
  disable(id: string, reason?: string): Endpoint;
  /** Current signing secret of an endpoint. */
  secret(id: string): string;
  /** Every secret that signs now, the current one first. */
  liveSecrets(
    id: string,
  ): readonly { readonly secret: string; readonly expiresAt: number | null }[];
  /** Makes a new current secret; the former one still signs for `graceMs`. */
  rotateSecret(id: string, options?: { secret?: string | undefined; graceMs?: number }): string;
}

export interface EndpointDeps {
  readonly store: RelayStore;
  readonly guard: TargetGuard;
  readonly clock: Clock;
  readonly random: Random;
}

function typesOf(input: readonly string[] | null | undefined): readonly string[] | null {
  if (!input || input.length === 0) return null;
  const wrong = input.find((name) => !EVENT_TYPE.test(name));
  if (wrong !== undefined || input.length > EVENT_TYPES_MAX) {
    throw new RefusedError('relay.event_types_invalid', 'these are no event types', {
      hint: 'a type has letters, digits, "-", "_" and ".", e.g. sales_order.order_created',
    });
  }
  return [...new Set(input)];
}

function descriptionOf(text: string): string {
  if (text.length <= DESCRIPTION_CHARS_MAX) return text;
  throw new RefusedError('relay.description_too_long', 'the description is too long', {
    hint: `at most ${DESCRIPTION_CHARS_MAX} characters`,
  });
}

function secretOf(own: string | undefined, random: Random): string {
  if (own === undefined) return createSecret(random);
  if (isSecret(own)) return own;
  throw new RefusedError('relay.secret_invalid', 'this is no signing secret', {
    hint: '"whsec_" followed by the base64 of 24 to 75 bytes',
  });
}

function patched(deps: EndpointDeps, endpoint: Endpoint, patch: EndpointPatch): Endpoint {
  const { url, description, eventTypes, disabled } = patch;
  if (url !== undefined) deps.guard.check(url);
  const reason = disabled ? (endpoint.disabledReason ?? 'switched off by its owner') : null;
  return {
    ...endpoint,
    url: url ?? endpoint.url,
    description: description === undefined ? endpoint.description : descriptionOf(description),
    eventTypes: eventTypes === undefined ? endpoint.eventTypes : typesOf(eventTypes),
    disabledReason: disabled === undefined ? endpoint.disabledReason : reason,
    // Enabling an endpoint again forgets its failures.
    failingSince: disabled === false ? null : endpoint.failingSince,
    updatedAt: deps.clock.now(),
  };
}

function create(deps: EndpointDeps, input: EndpointInput): Endpoint {
  const { store, clock, random } = deps;
  deps.guard.check(input.url);
  const now = clock.now();
  const endpoint: Endpoint = {
    id: `ep_${createId(now, random)}`,
    url: input.url,
    description: descriptionOf(input.description ?? ''),
    eventTypes: typesOf(input.eventTypes),
    disabledReason: input.disabled ? 'switched off by its owner' : null,
    failingSince: null,
    account: input.account ?? null,
    createdAt: now,
    updatedAt: now,
  };
  const secret = secretOf(input.secret, random);
  store.atomically(() => {
    if (store.endpoints().length >= ENDPOINTS_MAX) {
      throw new RefusedError('relay.endpoints_max', `there are ${ENDPOINTS_MAX} endpoints already`);
    }
    store.insertEndpoint(endpoint);
    store.addKey(endpoint.id, secret, now);
  });
  return endpoint;
}

export function createEndpointDesk(deps: EndpointDeps): EndpointDesk {
  const { store, clock, random } = deps;
  const endpoint = (id: string): Endpoint => {
    const found = store.endpoint(id);
    if (!found) throw new RefusedError('relay.endpoint_unknown', 'there is no such endpoint');
    return found;
  };
  const save = (changed: Endpoint): Endpoint => {
    store.atomically(() => {
      store.updateEndpoint(changed);
      if (changed.disabledReason !== null) store.failPending(changed.id);
    });
    return changed;
  };
  const liveSecrets: EndpointDesk['liveSecrets'] = (id) =>
    store.liveKeys(endpoint(id).id, clock.now());
  return {
    endpoint,
    liveSecrets,
    createEndpoint: (input) => create(deps, input),
    updateEndpoint: (id, patch) => save(patched(deps, endpoint(id), patch)),
    deleteEndpoint: (id) => store.atomically(() => store.deleteEndpoint(endpoint(id).id)),
    listEndpoints: () => store.endpoints(),
    enable: (id) => save(patched(deps, endpoint(id), { disabled: false })),
    disable: (id, reason = 'switched off by its owner') =>
      save({ ...endpoint(id), disabledReason: reason, updatedAt: clock.now() }),
    secret: (id) => liveSecrets(id)[0]?.secret ?? '',
    rotateSecret(id, { secret: own, graceMs = ROTATION_GRACE_MS } = {}) {
      const secret = secretOf(own, random);
      if (liveSecrets(id).length > LIVE_KEYS_MAX) {
        throw new RefusedError('relay.secrets_max', 'too many former secrets still sign', {
          hint: 'wait until one of them expires, or rotate without grace',
        });
      }
      store.atomically(() => store.addKey(id, secret, clock.now() + graceMs));
      return secret;
    },
  };
}
