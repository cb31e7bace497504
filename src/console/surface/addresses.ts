/** Addresses of the pages on which things and acts are found. */
import type { ActHead } from '../../surface/acts.ts';
import type { Given } from '../../surface/given.ts';
import type { ListHead } from '../../surface/lists.ts';
import type { Thing } from '../../surface/members.ts';
import type { Tab } from '../pages/frame.ts';

const PAGES: Readonly<Record<Thing, string>> = {
  customer: '/review?shown=all&customer=',
  delivery: '/deliveries/',
  event: '/events/',
  incident: '/incidents/',
  order: '/orders/',
  push: '/outbox/',
  report: '/reports/',
  rule: '/rules/',
  run: '/pulls/runs/',
  stream: '/pulls/',
  style: '/stock/',
};

export function isThing(name: unknown): name is Thing {
  return typeof name === 'string' && Object.hasOwn(PAGES, name);
}

export function addressOf(thing: Thing, value: unknown): string {
  return `${PAGES[thing]}${encodeURIComponent(String(value))}`;
}

/** Address of a list without its twin's ending. */
export function listPath(
  { path, args: [first = ''] }: Pick<ListHead, 'path' | 'args'>,
  given: Given,
) {
  return path.replace('{id}', encodeURIComponent(String(given[first])));
}

/** Address to which a form of the act is sent. */
export function actPath({ path, args: [first = ''] }: ActHead, given: Given): string {
  return path.replace('{id}', encodeURIComponent(String(given[first])));
}

/** Member `action` by which a request at a {@link SharedAddress} names the act. */
export function actionOf({ name }: ActHead): string {
  return name.replace(/^.*\./, '');
}

/** Address for acts on all that fit a filter, with these acts. */
export type SharedAddress = readonly [path: string, acts: readonly ActHead[]];

export function sharedAddresses(acts: readonly ActHead[]): readonly SharedAddress[] {
  const byPath = Map.groupBy(acts, ({ many }) => many?.at?.path);
  return [...byPath].flatMap(([path, of]) => (path === undefined ? [] : [[path, of] as const]));
}

const TABS: readonly Tab[] = [
  '/review',
  '/outbox',
  '/stock',
  '/reports',
  '/rules',
  '/pulls',
  '/events',
  '/system',
];

/** Tab under which the act stands. */
export function tabOf({ path }: Pick<ActHead, 'path'>): Tab {
  if (/^\/(?:deliveries|orders)\//.test(path)) return '/review';
  if (path.startsWith('/incidents') || path === '/find') return '/';
  if (path === '/orders' || path === '/refunds') return '/outbox';
  return TABS.find((one) => path.startsWith(one)) ?? '/system';
}

/** Page that shows what the act was done to; without a thing, that of its tab. */
export function pageOf(of: ActHead, given: Given): string {
  const { thing } = of;
  const [first = ''] = of.args;
  if (thing === undefined || given[first] === undefined) return tabOf(of);
  return addressOf(thing, given[first]);
}
