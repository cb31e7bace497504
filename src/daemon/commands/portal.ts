/** A link into the relay's portal: kept nowhere; the audit says who asked for it. */
import type { PortalLink } from '../../client/portal-link.ts';
import { type Asker, writeAudit } from '../../store/audit.ts';
import type { CallerDeps } from './call.ts';

export async function openPortal(
  { store, service, clock }: CallerDeps,
  asker: Asker,
): Promise<PortalLink> {
  const { value: link } = await service.v1.webhookPortal();
  const act = { action: 'portal.open', subject: 'portal', detail: { expiresAt: link.expiresAt } };
  await writeAudit(store.db, { ...asker, ...act }, clock.now());
  return link;
}
