/**
 * V1, the sales and purchase side: one method for each endpoint of docs/wire.md, "V1 endpoints",
 * that the daemon calls.
 *
 * Reads go out as `read` (single things) or `pull` (lists), writes as `push`. Every answer is
 * checked; rows of lists that do not fit are put aside and the others given. Errors are those of
 * the transport and the session; a write whose answer cannot be understood is InDoubtError.
 * A read-only credential may stand in for the catalog (variants, brands, freight, seasons).
 */

import type { CallOptions, Read } from '../calls.ts';
import { type PortalLink, portalLinkSchema } from '../portal-link.ts';
import type { Sender } from '../transport.ts';
import { post, type V1Options, type V1Wire } from './calls.ts';
import { type CatalogMethods, catalogMethods } from './catalog.ts';
import { CONTRACT, createInterpreter } from './dialect.ts';
import { ask } from './envelope.ts';
import { type OrderMethods, orderMethods } from './orders.ts';
import { type RefundMethods, refundMethods } from './refunds.ts';

export interface V1Deps {
  readonly sender: Sender;
  /** For the catalog, when it has a credential of its own. */
  readonly catalogSender?: Sender | undefined;
}

export interface V1Client extends CatalogMethods, OrderMethods, RefundMethods {
  /** A new link each time; it is a secret and works once. */
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
      // Each call makes a new link and changes nothing else: never in doubt.
      ask(sender, { ...post(wire, '/webhook-portal', {}, call), safe: true }, portalLinkSchema),
  };
}
