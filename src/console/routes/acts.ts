/** Routes that end sessions, and who asks in a request. */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Asker } from '../acts.ts';
import { askFor, type ConsoleDeps, signedIn } from '../context.ts';
import { isForPeople } from '../show.ts';
import { addressOf, forgetCookie } from './signing.ts';

export interface Acting {
  /** Names the session that asks, for the daemon's loop. */
  askerOf(request: FastifyRequest): Asker;
}

export function createActing(deps: ConsoleDeps): Acting {
  const { publicUrl } = deps.settings;
  return {
    askerOf: (request) => ({
      sessionId: signedIn(request).sessionId,
      address: addressOf(request, publicUrl),
    }),
  };
}

export function installActs(app: FastifyInstance, deps: ConsoleDeps): void {
  const { publicUrl } = deps.settings;
  const { askerOf } = createActing(deps);
  for (const everywhere of [false, true]) {
    app.post(everywhere ? '/sign-out/everywhere' : '/sign-out', async (request, reply) => {
      await askFor(deps, { ask: 'signOut', by: askerOf(request), everywhere });
      if (!isForPeople(request)) return forgetCookie(reply, publicUrl).send({});
      return forgetCookie(reply, publicUrl).code(303).header('location', '/signed-out').send();
    });
  }
}
