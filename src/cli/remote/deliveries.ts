/** Reads a delivery over a URL. */
import { z } from 'zod';
import type { DeliveryView } from '../../console/read/delivery.ts';
import type { Counterfactual } from '../../rules/analysis/counterfactuals.ts';
import type { RemoteConsole } from './console.ts';
import { shaped } from './shapes.ts';

/**
 * A delivery as the console shows it, with the changes that would have let it pass, by decision.
 */
export interface RemoteDelivery extends DeliveryView {
  readonly counterfactuals: Readonly<Record<string, readonly Counterfactual[]>>;
}

const outcome = z.looseObject({ kind: z.string(), code: z.string(), rules: z.array(z.string()) });
const remoteDelivery = shaped<RemoteDelivery>(
  z.looseObject({
    card: z.looseObject({
      orderDeliveryId: z.int(),
      order: z.looseObject({ orderId: z.int() }),
      customer: z.looseObject({}),
      lines: z.array(z.looseObject({})),
      holds: z.array(z.looseObject({ rule: z.string(), since: z.number() })),
      rejects: z.array(z.looseObject({ rule: z.string(), dueAt: z.number() })),
      decisions: z.array(
        z.looseObject({
          decisionId: z.int(),
          at: z.number(),
          evaluation: z.looseObject({
            live: outcome,
            shadow: outcome,
            rules: z.array(z.looseObject({ id: z.string(), clauses: z.array(z.looseObject({})) })),
          }),
        }),
      ),
    }),
    latestDecisionId: z.int().nullable(),
    contentHash: z.string(),
    counterfactuals: z.record(z.string(), z.array(z.looseObject({}))),
  }),
);

/** Reads a delivery by its id or number. */
export function readRemoteDelivery(
  remote: RemoteConsole,
  delivery: string,
): Promise<RemoteDelivery> {
  return remote.get(`/deliveries/${encodeURIComponent(delivery)}.json`, remoteDelivery);
}
