/** A link into the relay's portal: kept nowhere; the audit says who asked for it. */
import type { PortalLink } from '../../client/portal-link.ts';
import type { Asker } from '../../console/asker.ts';
import type { CallerDeps } from './call.ts';

export async function openPortal(
  { store, service, clock }: CallerDeps,
  { actor, reason }: Asker,
): Promise<PortalLink> {
  const { value: link } = await service.v1.webhookPortal();
  const detail = JSON.stringify({ expiresAt: link.expiresAt });
  const about = { action: 'portal.open', subject: 'portal', detail };
  await store.db
    .insertInto('audit')
    .values({ at: clock.now(), actor, reason, ...about })
    .execute();
  return link;
}
