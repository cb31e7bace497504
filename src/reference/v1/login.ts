/** V1: the ways in, for programs (log-in) and for people (link to the webhook portal). */
import { z } from 'zod';
import type { KeyRing } from '../keys.ts';
import type { Portal } from '../portal/portal.ts';
import { V1Error } from './answer.ts';
import { defineRoute, type Route } from './route.ts';

export function loginRoute(keys: KeyRing): Route {
  return defineRoute({
    method: 'POST',
    path: '/auth/login',
    access: 'open',
    summary: 'Log in: a token for id and secret, at most once per 6 s',
    body: z.object({ clientID: z.string().min(1), clientSecret: z.string().min(1) }),
    handle({ body }) {
      const answer = keys.login(body.clientID, body.clientSecret);
      if (answer.kind === 'tooFast') {
        throw new V1Error(429, 'Log-in is limited to one request per 6 seconds', {
          retryAfterSeconds: Math.ceil(answer.retryAfterMs / 1_000),
        });
      }
      if (answer.kind === 'refused') throw new V1Error(401, 'Unknown clientID or clientSecret');
      return { data: { token: answer.token } };
    },
  });
}

export function portalRoute(portalLink: Portal['mintLink']): Route {
  return defineRoute({
    method: 'POST',
    path: '/webhook-portal',
    access: 'webhooks',
    summary: 'A link into the webhook portal, good for one use',
    handle: () => ({ data: { ...portalLink() } }),
  });
}
