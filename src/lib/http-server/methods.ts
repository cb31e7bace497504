/** Knows which methods a path has, so that a wrong one is told from a path that is not there. */
import type { FastifyInstance } from 'fastify';

/** Matches the paths of a route such as `/outbox/:id/retry`. */
function patternOf(url: string): RegExp {
  const parts = url.split(/:\w+/).map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  return new RegExp(`^${parts.join('[^/]+')}$`);
}

/**
 * Watches the routes that are added from now on; the function that it returns lists the methods of
 * a path (none: there is no such path).
 */
export function watchMethods(app: FastifyInstance): (url: string) => readonly string[] {
  const known = new Map<string, { readonly pattern: RegExp; readonly methods: Set<string> }>();
  app.addHook('onRoute', ({ url, method }) => {
    const route = known.get(url) ?? { pattern: patternOf(url), methods: new Set() };
    known.set(url, route);
    for (const one of [method].flat()) route.methods.add(one);
  });
  return (url) => {
    const [path = ''] = url.split('?');
    const routes = [...known.values()].filter(({ pattern }) => pattern.test(path));
    return [...new Set(routes.flatMap(({ methods }) => [...methods]))].sort();
  };
}
