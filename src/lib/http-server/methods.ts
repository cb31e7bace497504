/** Knows which methods a path has, so that a wrong one is told from a path that is not there. */
import type { FastifyInstance } from 'fastify';
import { nearestName } from '../nearest.ts';

/** Matches the paths of a route such as `/outbox/:id/retry`. */
function patternOf(url: string): RegExp {
  const parts = url.split(/:\w+/).map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  return new RegExp(`^${parts.join('[^/]+')}$`);
}

/** Words of a path, without ids, version and plural. */
function wordsIn(path: string): readonly string[] {
  const parts = path
    .replaceAll(/([a-z])([A-Z])/g, '$1-$2')
    .toLowerCase()
    .split(/[^a-z:]+/);
  const words = parts.filter((one) => one !== '' && !/^(?::.*|api|v|json|csv)$/.test(one));
  return words.map((word) => word.replace(/s$/, ''));
}

/** Known path that an unknown one was meant to be: of nearly its letters, else of its words. */
function nearestPath(path: string, known: readonly string[]): string | undefined {
  const steps = path.split('/');
  const filled = (url: string) =>
    url
      .split('/')
      .map((step, index) => (step.startsWith(':') ? (steps[index] ?? step) : step))
      .join('/');
  const spelt = new Map(known.map((url) => [filled(url), url]));
  const near = nearestName(path, spelt.keys());
  if (near !== undefined) return spelt.get(near);
  const asked = wordsIn(path);
  const scores = known.map((url) => {
    const words = wordsIn(url);
    const shared = asked.filter((word) => nearestName(word, words) !== undefined).length;
    return { url, shared, score: shared * PATH_STEPS_MAX - words.length };
  });
  const best = scores.toSorted((a, b) => b.score - a.score || a.url.length - b.url.length)[0];
  return best && best.shared > 0 ? best.url : undefined;
}

/** Weight of a shared word: more words than a path has. */
const PATH_STEPS_MAX = 20;

export interface KnownPaths {
  /** Methods of a path; none: there is no such path. */
  methodsOf(url: string): readonly string[];
  /** Nearest known path with its methods, as in `POST /api/orders`; undefined: none is near. */
  nearest(url: string): string | undefined;
}

/** Methods for people: a HEAD is answered wherever a GET is. */
export function askable(methods: Iterable<string>): string {
  return [...methods].filter((one) => one !== 'HEAD').join(' or ');
}

/** Watches the routes that are added from now on. */
export function watchPaths(app: FastifyInstance): KnownPaths {
  const known = new Map<string, { readonly pattern: RegExp; readonly methods: Set<string> }>();
  app.addHook('onRoute', ({ url, method }) => {
    const route = known.get(url) ?? { pattern: patternOf(url), methods: new Set() };
    known.set(url, route);
    for (const one of [method].flat()) route.methods.add(one);
  });
  const pathOf = (url: string): string => url.split('?')[0] ?? '';
  return {
    methodsOf(url) {
      const routes = [...known.values()].filter(({ pattern }) => pattern.test(pathOf(url)));
      return [...new Set(routes.flatMap(({ methods }) => [...methods]))].sort();
    },
    nearest(url) {
      const path = pathOf(url).slice(0, PATH_CHARS_MAX);
      const near = nearestPath(path, [...known.keys()]);
      const methods = near === undefined ? undefined : known.get(near)?.methods;
      return methods && `${askable(methods)} ${near?.replaceAll(/:(\w+)/g, '<$1>')}`;
    },
  };
}

/** Longest path that is compared with the known ones. */
const PATH_CHARS_MAX = 200;
