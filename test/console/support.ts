/** A daemon with its console, and people who use it over HTTP. */
import { expect } from 'vitest';
import type { Config } from '../../src/config/schema.ts';
import { createEntrance } from '../../src/console/access/entrance.ts';
import type { DaemonDeps } from '../../src/daemon/daemon.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { isJsonObject, tryParseJson } from '../../src/lib/json.ts';
import { systemRandom } from '../../src/lib/random.ts';
import { drawOrder } from '../../src/reference/life/arrivals.ts';
import type { Reference } from '../../src/reference/reference.ts';
import type { Role } from '../../src/surface/roles.ts';
import {
  type RunningDaemon,
  startTestDaemon,
  startTestReference,
  testConfig,
  until,
} from '../support/house.ts';
import { type AtEnd, temporaryFolder } from '../support/store.ts';

/** Everything waits for a person. */
export const HOLD_ALL = `
rules:
  - id: hold-all
    title: Somebody looks at each delivery
    action: hold
    mode: live
    owner: sales
    when:
      - delivery.quantity > 0
  - id: hold-large
    title: Large deliveries
    action: hold
    mode: live
    owner: warehouse
    when:
      - delivery.quantity > 20
    message: '{{delivery.quantity}} pieces'
`;

export interface ConsoleHouse {
  readonly reference: Reference;
  readonly daemon: RunningDaemon;
  readonly config: Config;
  /** Address of the console. */
  readonly url: string;
}

export interface ConsoleParts {
  readonly held?: number;
  readonly rules?: string;
  readonly settings?: readonly { readonly path: string; readonly value: unknown }[];
  readonly atEnd?: AtEnd;
  /** For a reload. */
  readonly readConfig?: () => Config;
  /** The configuration as it is written. */
  readonly written?: DaemonDeps['written'];
}

/** A house with deliveries that are held. */
export async function startConsole({
  held = 3,
  rules = HOLD_ALL,
  settings = [],
  atEnd,
  readConfig,
  written,
}: ConsoleParts = {}): Promise<ConsoleHouse> {
  // An order is one delivery, so that tests count what they place.
  const life = { ordersPerMinute: 0, packAfter: '0s', splitShare: 0, cancelShare: 0 };
  const knobs = { auth: { loginSpacing: 0 }, life };
  const reference = await startTestReference(knobs, undefined, atEnd);
  const set = (path: string, value: unknown) => ({ path, value });
  const config = testConfig(reference, {
    folder: temporaryFolder(atEnd),
    rules,
    overrides: [
      set('console.enabled', true),
      set('console.port', 0),
      set('outbox.delayMin', '100ms'),
      set('service.limits.loginSpacing', '0s'),
      ...settings,
    ],
  });
  const daemon = await startTestDaemon(reference, config, undefined, atEnd, {
    readConfig,
    written,
  });
  const link = await daemon.consoleLink('nobody', 'viewer');
  const house = { reference, config, daemon, url: new URL(link).origin };
  await holdMore(house, held);
  return house;
}

/** The end of what the tests of a file share, for `beforeAll` and `afterAll`. */
export function sharedEnd(): { readonly atEnd: AtEnd; end(): Promise<void> } {
  const ends: Parameters<AtEnd>[0][] = [];
  return {
    atEnd: (end) => void ends.unshift(end),
    async end() {
      // Nothing of a test is asked for but whether it has failed.
      for (const end of ends) await end({ task: {} } as Parameters<typeof end>[0]);
    },
  };
}

/** Orders that are packed at once, until this many more are held. */
export async function holdMore(
  { reference, daemon }: Pick<ConsoleHouse, 'reference' | 'daemon'>,
  count: number,
): Promise<void> {
  const { world } = reference;
  const before = await heldIds(daemon);
  for (let left = count; left > 0; left -= 1) {
    const orderId = world.book.orders.nextId();
    world.trade.place(drawOrder(world, { seed: 7, orderId, preOrderShare: 0 }));
  }
  await until(`${count} held deliveries, and nothing to read`, async () => {
    const left = await daemon.store.db.selectFrom('refresh').select('order_id').execute();
    const isHeld = (await heldIds(daemon)).length >= before.length + count;
    return (isHeld && left.length === 0) || undefined;
  });
}

export async function heldIds({ store }: RunningDaemon): Promise<number[]> {
  const rows = await store.db
    .selectFrom('evaluation as e')
    .innerJoin('decision as n', 'n.decision_id', 'e.decision_id')
    .innerJoin('delivery as d', 'd.order_delivery_id', 'e.order_delivery_id')
    .select('e.order_delivery_id as id')
    .where('n.outcome', '=', 'hold')
    .where('d.status', '=', 'pending')
    .orderBy('e.order_delivery_id')
    .execute();
  return rows.map(({ id }) => id);
}

export interface Answer {
  readonly status: number;
  readonly text: string;
  readonly json: unknown;
  readonly headers: Headers;
}

/** Somebody who talks to the console: a browser with a cookie, or a program with a token. */
export interface Caller {
  /** Headers that say who it is. */
  readonly own: Readonly<Record<string, string>>;
  get(path: string, headers?: Readonly<Record<string, string>>): Promise<Answer>;
  /** A form, as a browser sends it. */
  form(path: string, fields: Readonly<Record<string, string>>): Promise<Answer>;
  /** JSON, as a program sends it. */
  json(path: string, body: unknown): Promise<Answer>;
}

async function answerOf(response: Response): Promise<Answer> {
  const text = await response.text();
  const { status, headers } = response;
  return { status, headers, text, json: tryParseJson(text) };
}

export function caller(url: string, own: Readonly<Record<string, string>> = {}): Caller {
  const send = async (path: string, init: RequestInit): Promise<Answer> => {
    const headers = { ...own, ...Object.fromEntries(new Headers(init.headers)) };
    return answerOf(await fetch(`${url}${path}`, { ...init, headers, redirect: 'manual' }));
  };
  return {
    own,
    get: (path, headers = {}) => send(path, { headers }),
    form: (path, fields) =>
      send(path, { method: 'POST', body: new URLSearchParams(fields), headers: { origin: url } }),
    json: (path, body) =>
      send(path, {
        method: 'POST',
        body: JSON.stringify(body),
        headers: { 'content-type': 'application/json', origin: url },
      }),
  };
}

/** The cookie that an answer sets, as the next request sends it. */
export function cookieIn({ headers }: Answer): string {
  return (headers.get('set-cookie') ?? '').split(';')[0] ?? '';
}

/** Signs in by a printed link. */
export async function signIn(
  { daemon, url }: Pick<ConsoleHouse, 'daemon' | 'url'>,
  name: string,
  role: Role,
): Promise<Caller & { readonly cookie: string }> {
  const key = new URL(await daemon.consoleLink(name, role)).searchParams.get('key') ?? '';
  const answer = await caller(url).form('/sign-in/link', { key });
  expect([answer.status, answer.headers.get('location')]).toEqual([303, '/']);
  const cookie = cookieIn(answer);
  return { ...caller(url, { cookie }), cookie };
}

/** A program with a token of its own. */
export async function program(
  { daemon, url }: Pick<ConsoleHouse, 'daemon' | 'url'>,
  role: Role,
  lastsMs = 3_600_000,
): Promise<Caller> {
  const clock = systemClock();
  const people = { operators: [], proxyRole: null };
  const lasts = { sessionMs: 1, sessionIdleMs: 1 };
  const random = systemRandom();
  const entrance = createEntrance({ store: daemon.store, clock, random, people, ...lasts });
  const given = { name: 'bi', role, seesAddresses: false, expiresAt: clock.now() + lastsMs };
  const { token } = await entrance.createToken(given, { actor: 'ada', reason: '' });
  return caller(url, { authorization: `Bearer ${token}` });
}

export interface SeenRow {
  readonly orderDeliveryId: number;
  readonly deliveryNo: string;
  readonly decisionId: number;
  readonly contentHash: string;
}

/** Rows of the review list, as a program reads them. */
export async function seenRows(who: Caller, query = ''): Promise<SeenRow[]> {
  const { json } = await who.get(`/review.json${query}`);
  if (!isJsonObject(json) || !Array.isArray(json.rows)) throw new Error('no rows');
  return json.rows.map((row) => {
    if (!isJsonObject(row)) throw new Error('no row');
    return {
      orderDeliveryId: Number(row.orderDeliveryId),
      deliveryNo: String(row.deliveryNo),
      decisionId: Number(row.decisionId),
      contentHash: String(row.contentHash),
    };
  });
}

export async function auditOf({ daemon }: ConsoleHouse, action: string) {
  const rows = await daemon.store.db
    .selectFrom('audit')
    .select(['actor', 'action', 'subject', 'reason', 'session', 'address'])
    .where('action', '=', action)
    .orderBy('id')
    .execute();
  return rows;
}
