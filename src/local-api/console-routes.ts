/** Routes behind `selvedge console`, below `/api/console/`: links and tokens. */
import { z } from 'zod';
import { type Entrance, signInUrl } from '../console/access/entrance.ts';
import type { Clock } from '../lib/clock.ts';
import { RefusedError } from '../lib/errors.ts';
import { ROLES } from '../surface/roles.ts';
import { actorFields } from './actor.ts';
import type { RouteGroup } from './api.ts';

const DAY_MS = 86_400_000;

export interface ConsoleRouteDeps {
  readonly clock: Clock;
  readonly entrance: Entrance;
  /** Address of the console's pages; undefined while none are served. */
  readonly url: () => string | undefined;
}

const name = z.string().trim().min(1).max(40);
const linkBody = z.strictObject({ ...actorFields, name, role: z.enum(ROLES) });
const tokenBody = z.strictObject({
  ...actorFields,
  name,
  role: z.enum(ROLES),
  seesAddresses: z.boolean().default(false),
  lastsMs: z
    .int()
    .min(60_000)
    .max(3_660 * DAY_MS),
});

export function consoleRoutes({ clock, entrance, url }: ConsoleRouteDeps): RouteGroup {
  const address = (): string => {
    const found = url();
    if (found !== undefined) return found;
    throw new RefusedError('console.off', 'the console does not run', {
      hint: 'set console.enabled: true, and restart the daemon',
    });
  };
  return {
    access: 'operator',
    install(app) {
      app.post('/api/console/link', async ({ body }) => {
        const wanted = linkBody.parse(body);
        const base = address();
        const { key, expiresAt } = entrance.mintLink(wanted.name, wanted.role);
        return { url: signInUrl(base, key), expiresAt };
      });
      app.post('/api/console/token', async ({ body }) => {
        const { lastsMs, name: of, role, seesAddresses, ...by } = tokenBody.parse(body);
        const expiresAt = clock.now() + lastsMs;
        const wish = { name: of, role, seesAddresses, expiresAt };
        const { token, sessionId } = await entrance.createToken(wish, by);
        return { token, sessionId, expiresAt, url: address() };
      });
    },
  };
}
