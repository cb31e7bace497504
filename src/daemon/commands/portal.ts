/** Opens the relay's portal for a person; the audit says who, and the link is kept nowhere. */
import type { PortalLink } from '../../client/portal-link.ts';
import { RefusedError } from '../../lib/errors.ts';
import { type Actor, writeAudit } from '../../store/audit.ts';
import { isNoAddress } from '../../sync/account-traits.ts';
import type { CallerDeps } from './call.ts';

export async function openPortal(
  { store, service, clock }: CallerDeps,
  who: Actor,
): Promise<PortalLink> {
  const { value: link } = await service.v1.webhookPortal().catch((error: unknown) => {
    if (!isNoAddress(error)) throw error;
    const { code, message } = error;
    const hint = 'events came with level 1.3.0 of the interface: what has the account?';
    throw new RefusedError(code, message, { cause: error, hint });
  });
  const act = { action: 'portal.open', subject: 'portal', detail: { expiresAt: link.expiresAt } };
  await writeAudit(store.db, { ...who, ...act }, clock.now());
  return link;
}
