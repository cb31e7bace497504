/**
 * V1, the sales and purchase API: one method per endpoint of docs/wire.md, "V1 endpoints", that the
 * daemon calls. Reads use priority `read` (single resources) or `pull` (lists), writes `push`.
 * Every answer is checked; rejected rows of lists are set aside. Errors are those of transport and
 * session; a write with an unreadable answer is InDoubtError. A read-only credential may serve the
 * catalog (variants, brands, freight, seasons).
 */

import type { CallOptions, Read } from '../calls.ts';
import { type PortalLink, portalLinkSchema } from '../portal-link.ts';
import type { Sender } from '../transport.ts';
import { post, type V1Options, type V1Wire } from './calls.ts';
import { type CatalogMethods, catalogMethods } from './catalog.ts';
import { ask } from './envelope.ts';
import { type OrderMethods, orderMethods } from './orders.ts';
import { type RefundMethods, refundMethods } from './refunds.ts';
import { CONTRACT, createInterpreter } from './schemas.ts';

export interface V1Deps {
  readonly sender: Sender;
  /** Sender for the catalog (variants, brands, freight, seasons) when it has its own credential. */
  readonly catalogSender?: Sender | undefined;
}

export interface V1Client extends CatalogMethods, OrderMethods, RefundMethods {
  /** Gives a new link into the webhook portal each time; the link is a secret and works once. */
  webhookPortal(call?: CallOptions): Promise<Read<PortalLink>>;
}

export function createV1Client(options: V1Options, deps: V1Deps): V1Client {
  const { sender } = deps;
  const interpreter = createInterpreter(options.dialect ?? CONTRACT);
  const wire: V1Wire = { options, sender, catalog: deps.catalogSender ?? sender, interpreter };
  return {
    ...catalogMethods(wire),
    ...orderMethods(wire),
    ...refundMethods(wire),
    webhookPortal: (call) =>
      // The POST is safe to repeat, because it only makes another link.
      ask(
        sender,
        { ...post(wire, '/webhook-portal', undefined, call), safe: true },
        portalLinkSchema,
      ),
  };
}
