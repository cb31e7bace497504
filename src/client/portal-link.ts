/** A link into the webhook portal: works once and opens everything, so it is a secret. */
import { z } from 'zod';
import { Secret } from '../lib/secret.ts';

export interface PortalLink {
  readonly url: Secret;
  /** ISO text, if given. */
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
