/** Every route that the console registers, read from the server itself. */
import { createConsoleApp } from '../../src/console/server.ts';
import { manualClock } from '../../src/lib/clock.ts';
import { silentLogger } from '../../src/lib/log.ts';
import type { Db } from '../../src/store/store.ts';
import { CONSOLE_SETTINGS } from './made-up.ts';

export interface Route {
  readonly method: 'get' | 'post';
  /** With `:name` for its parts. */
  readonly path: string;
}

const DEPTH_CHARS = 4;

/** A line is a route, with the part of its path that its parents do not have. */
function routesIn(tree: string): Route[] {
  const parents: string[] = [];
  return tree.split('\n').flatMap((line) => {
    const [, indent = '', part = '', methods = ''] =
      /^([│├└─ ]*)(\S+) \(([A-Z, ]+)\)$/.exec(line) ?? [];
    if (part === '') return [];
    const depth = indent.length / DEPTH_CHARS - 1;
    const path = `${parents.slice(0, depth).join('')}${part}`;
    parents.splice(depth, parents.length, part);
    const known = methods.split(', ').map((method) => method.toLowerCase());
    return known.flatMap((method) =>
      method === 'get' || method === 'post' ? [{ method, path }] : [],
    );
  });
}

/** `db` is not read. */
export async function consoleRoutes(db: Db): Promise<Route[]> {
  const clock = manualClock();
  const app = createConsoleApp({
    db,
    snapshot: () => Promise.reject(new Error('not asked')),
    clock,
    log: silentLogger(),
    settings: CONSOLE_SETTINGS,
    beats: () => [],
    rulesMode: () => 'live',
    ask: () => Promise.reject(new Error('not asked')),
    daemonSeenAt: () => clock.monotonic(),
  });
  await app.ready();
  return routesIn(app.printRoutes({ commonPrefix: false }));
}

/** Parts of paths that stand for something in the house. */
export interface Things {
  readonly order: number;
  readonly delivery: number;
  readonly push: number;
  readonly run: number;
  readonly event: string;
  readonly incident: number;
  readonly style: string;
  /** Trial of the session that asks; nobody else sees it. */
  readonly trial: string;
}

/** Stream of the run. */
export const STREAM = 'brands';

/** Rules of the house. */
const RULE = 'hold-all';
export const REJECT_RULE = 'reject-never';

/** Parts of paths by the routes that have them. */
export function idsOf({ order, delivery, push, run, event, incident, style, trial }: Things) {
  return {
    '/deliveries/:id': delivery,
    '/review/card/:id': delivery,
    '/orders/:id': order,
    '/outbox/:id': push,
    '/deliveries/:id/raw': delivery,
    '/deliveries/:id/changes': delivery,
    '/deliveries/:id/facts': delivery,
    '/deliveries/:id/now': delivery,
    '/stock/:id': encodeURIComponent(style),
    '/stock/:id/orders': encodeURIComponent(style),
    '/stock/:id/history': encodeURIComponent(style),
    '/stock/:id/seasons': encodeURIComponent(style),
    '/reports/:id': 'held-deliveries',
    '/pulls/:id': STREAM,
    '/pulls/runs/:id': run,
    '/events/:id': event,
    '/incidents/:id': incident,
    '/rules/:id': RULE,
    '/rules/:id/arm': REJECT_RULE,
    '/rules/:id/matches': REJECT_RULE,
    '/rules/trial/:id': trial,
    '/acts/:name': 'events.replay',
  };
}

/** Reads that want to know of what. */
const QUERIES: Readonly<Record<string, string>> = {
  '/events/replay.json': '?hours=24',
  '/acts/:name': '?since=24h',
  '/find': '?q=1',
  '/find.json': '?q=1',
  '/review/all': '?act=hold',
  '/review/ticked': '?act=hold',
};

/** Twins that share a route with their page. */
const TWINS: Readonly<Record<string, readonly string[]>> = {
  '/deliveries/:id': ['', '.json', '.csv'],
  '/outbox/:id': ['', '.json'],
  '/reports/:id': ['', '.json', '.csv', '.html', '.xlsx'],
  '/pulls/runs/:id': ['', '.json'],
  '/events/:id': ['', '.json'],
  '/rules/:id': ['', '.json'],
  '/rules/trial/:id': ['', '.json', '.csv'],
};

/** An earlier address, which only leads on. */
const LEADS_ON = '/events/replay';

/** Addresses of all reads but of assets; throws for a route that it cannot fill. */
export function readAddresses(routes: readonly Route[], things: Things): string[] {
  const ids: Readonly<Record<string, number | string>> = idsOf(things);
  return routes
    .filter(
      ({ method, path }) => method === 'get' && !path.startsWith('/assets/') && path !== LEADS_ON,
    )
    .flatMap(({ path }) => {
      const id = ids[path] ?? ids[path.replace(/\.\w+$/, '')];
      if (path.includes(':') && id === undefined) throw new Error(`say what ${path} stands for`);
      const address = path.replace(/:(?:id|name)/, String(id));
      return (TWINS[path] ?? [QUERIES[path] ?? '']).map((twin) => `${address}${twin}`);
    });
}
