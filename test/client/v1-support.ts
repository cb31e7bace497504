/** A V1 client with a log-in session against a reference service, and a reader of whole pulls. */

import { createLoginGate, createSession } from '../../src/client/session.ts';
import type { Sender } from '../../src/client/transport.ts';
import { createV1Client, type V1Client } from '../../src/client/v1/client.ts';
import type { Variant } from '../../src/client/v1/schemas.ts';
import { variantsOf } from '../../src/client/v1/variant-rows.ts';
import {
  type PullEnd,
  type RowBatch,
  VARIANT_LIST_DEFAULTS,
  type VariantListOptions,
  type VariantPull,
} from '../../src/client/v1/variants.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { createScrubber, Secret } from '../../src/lib/secret.ts';
import type { Rig } from '../reference/support.ts';

/** The rig must not space log-ins. */
export function loggedIn(
  rig: Rig,
  transport: Sender,
  version: 'v1' | 'v2' = 'v1',
  keyName = 'plain',
): Sender {
  const held = rig.reference.credentials[keyName];
  const clock = systemClock();
  const base = version === 'v1' ? rig.reference.v1Url : rig.reference.v2Url;
  const credential = {
    kind: 'login',
    url: `${base}/auth/login`,
    header: 'X-Service-Authorization',
    idMember: version === 'v1' ? 'clientID' : 'clientId',
    secretMember: 'clientSecret',
    clientId: held?.clientId ?? '',
    clientSecret: new Secret('client secret', held?.clientSecret ?? ''),
    tokenPointers: ['/data/token'],
  } as const;
  const gate = createLoginGate(clock, { lastLoginAt: () => undefined, recordLogin() {} }, 0);
  return createSession(credential, { transport, clock, scrubber: createScrubber(), gate });
}

export function v1Client(
  rig: Rig,
  transport: Sender,
  variants: Partial<VariantListOptions> = {},
  keyName = 'plain',
): V1Client {
  const options = {
    baseUrl: rig.reference.v1Url,
    variants: { ...VARIANT_LIST_DEFAULTS, ...variants },
    seasonParameter: 'seasonName',
    idempotencyHeader: undefined,
  };
  return createV1Client(options, { sender: loggedIn(rig, transport, 'v1', keyName) });
}

export interface WholePull {
  readonly batches: RowBatch[];
  readonly variants: Variant[];
  readonly end: PullEnd;
}

export async function readAll(pull: VariantPull): Promise<WholePull> {
  const batches: RowBatch[] = [];
  for await (const batch of pull.batches) batches.push(batch);
  return { batches, variants: batches.flatMap(variantsIn), end: pull.end() };
}

function variantsIn(batch: RowBatch): Variant[] {
  return batch.chunks.flatMap(({ start, end }) => [
    ...variantsOf(batch.bytes.subarray(start, end)).rows,
  ]);
}
