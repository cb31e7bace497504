/**
 * Keys and tokens of the service. A key logs in with its id and secret, and gets a token that ends
 * by age or by revocation. On V1 a static API key may replace a token; a read token gives access to
 * catalog data only. Log-ins are limited per client id, whether they succeed or not.
 */

import type { Clock } from '../lib/clock.ts';
import type { Random } from '../lib/random.ts';
import type { CurrentKnobs, Knobs } from './control/knobs.ts';
import { accountAt } from './world/accounts.ts';

/** Name of the header with the token of a log-in, on V1 and V2. */
export const TOKEN_HEADER = 'x-service-authorization';

export interface Key {
  readonly name: string;
  /** Whether a b2b key sees its account's prices. */
  readonly detailedPricing: boolean;
  readonly readOnly: boolean;
  readonly webhooks: boolean;
  /** Index of the account that a b2b key orders for; undefined: no b2b key. */
  readonly account: number | undefined;
}

export interface Credentials {
  readonly clientId: string;
  readonly clientSecret: string;
  /** API key; only keys that may write have one. */
  readonly apiKey?: string;
  /** Read token; only read-only keys have one. */
  readonly readToken?: string;
}

type LoginAnswer =
  | { readonly kind: 'token'; readonly token: string; readonly expiresAt: number }
  | { readonly kind: 'refused' }
  | { readonly kind: 'tooFast'; readonly retryAfterMs: number };

export interface KeyRing {
  credentials(): Readonly<Record<string, Credentials>>;
  login(clientId: string, clientSecret: string): LoginAnswer;
  byToken(token: string): Key | undefined;
  byApiKey(apiKey: string): Key | undefined;
  byReadToken(readToken: string): Key | undefined;
  /** Makes every token invalid from now on. */
  revokeAll(): void;
}

export interface KeyRingDeps {
  readonly knobs: CurrentKnobs;
  readonly clock: Clock;
  /** Source of the secrets: not the world's seed, unless a test wants that. */
  readonly secrets: Random;
}

const SECRET_BYTES = 24;
const TOKENS_MAX = 10_000;
const CLIENTS_MAX = 1_000;

interface Holder {
  readonly key: Key;
  readonly credentials: Credentials;
}

/**
 * Account of the b2b key with this number. One that sees its prices gets the next account with a
 * discount, so that there is one to see.
 */
function accountOf(number: number, isPriced: boolean, { seed, accounts }: Knobs['world']): number {
  const all = Array.from({ length: accounts }, (_, step) => (number + step) % accounts);
  const priced = all.find((index) => accountAt(seed, index).discountPercentage > 0);
  return (isPriced ? priced : undefined) ?? number % accounts;
}

function createHolders({ knobs, secrets }: KeyRingDeps): Holder[] {
  const text = (): string => secrets.bytes(SECRET_BYTES).toString('base64url');
  return knobs().keys.map((knob, index) => ({
    key: {
      name: knob.name,
      detailedPricing: knob.kind === 'b2b' && knob.detailedPricing,
      readOnly: knob.readOnly,
      webhooks: knob.webhooks,
      account:
        knob.kind === 'b2b' ? accountOf(index, knob.detailedPricing, knobs().world) : undefined,
    },
    credentials: {
      clientId: knob.clientId ?? `client-${knob.name}`,
      clientSecret: knob.clientSecret ?? text(),
      ...(knob.readOnly ? { readToken: text() } : { apiKey: text() }),
    },
  }));
}

export function createKeyRing(deps: KeyRingDeps): KeyRing {
  const { clock, knobs, secrets } = deps;
  const holders = createHolders(deps);
  const tokens = new Map<string, { readonly key: Key; readonly expiresAt: number }>();
  const lastLogin = new Map<string, number>();

  const find = (test: (held: Credentials) => boolean): Key | undefined =>
    holders.find(({ credentials }) => test(credentials))?.key;

  const bounded = <T>(map: Map<string, T>, max: number): void => {
    const oldest = map.keys().next();
    if (map.size > max && !oldest.done) map.delete(oldest.value);
  };

  return {
    credentials: () =>
      Object.fromEntries(holders.map(({ key, credentials }) => [key.name, credentials])),
    login(clientId, clientSecret) {
      const { loginSpacing, tokenLifetime } = knobs().auth;
      const now = clock.now();
      const wait = (lastLogin.get(clientId) ?? Number.NEGATIVE_INFINITY) + loginSpacing - now;
      if (wait > 0) return { kind: 'tooFast', retryAfterMs: wait };
      lastLogin.set(clientId, now);
      bounded(lastLogin, CLIENTS_MAX);
      const key = find((c) => c.clientId === clientId && c.clientSecret === clientSecret);
      if (!key) return { kind: 'refused' };
      const token = secrets.bytes(SECRET_BYTES).toString('base64url');
      const expiresAt = now + tokenLifetime;
      tokens.set(token, { key, expiresAt });
      bounded(tokens, TOKENS_MAX);
      return { kind: 'token', token, expiresAt };
    },
    byToken(token) {
      const held = tokens.get(token);
      if (!held || held.expiresAt > clock.now()) return held?.key;
      tokens.delete(token);
      return undefined;
    },
    byApiKey: (apiKey) => find((c) => c.apiKey === apiKey),
    byReadToken: (readToken) => find((c) => c.readToken === readToken),
    revokeAll: () => tokens.clear(),
  };
}
