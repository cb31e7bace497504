/** A link into the relay's webhook portal works once and opens everything, so it is a secret. */
import { z } from 'zod';
import { Secret } from '../lib/secret.ts';

export interface PortalLink {
  readonly url: Secret;
  /** Time at which the link expires, as ISO text; undefined: the service does not say. */
  readonly expiresAt: string | undefined;
}

export const portalLinkSchema = z
  .looseObject({ url: z.string().min(1), expiresAt: z.string().nullish() })
  .transform(
    ({ url, expiresAt }): PortalLink => ({
      url: new Secret('portal link', url),
      expiresAt: expiresAt ?? undefined,
    }),
  );
