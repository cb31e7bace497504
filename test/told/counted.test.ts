/** Places that tell how much waits for a person, each through its own door: all say the same. */
import { writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { createEntrance } from '../../src/console/access/entrance.ts';
import { createConsoleApp } from '../../src/console/server.ts';
import { silentLogger } from '../../src/lib/log.ts';
import { systemRandom } from '../../src/lib/random.ts';
import { Secret } from '../../src/lib/secret.ts';
import { createMetrics } from '../../src/ops/metrics/metrics.ts';
import { readDatabase } from '../../src/ops/metrics/readings.ts';
import { createTally } from '../../src/ops/metrics/tally.ts';
import { headline } from '../../src/ops/status.ts';
import { openReadOnlyStore, storeOptions } from '../../src/store/store.ts';
import { selvedge } from '../cli/support.ts';
import { configOf } from '../config/config-of.ts';
import { settingsOf } from '../cost/pages.ts';
import type { DeciderFixture } from '../decisions/support.ts';
import { MINUTE, SECRET, startTelling, webhookTo } from '../ops/notify/support.ts';
import { startHookListener } from '../support/hook-listener.ts';
import { EXPECTED, waitingWorld } from './waiting-world.ts';

const HOUR_MS = 3_600_000;
const SETTINGS = [
  { path: 'service.v1.baseUrl', value: 'http://127.0.0.1:9/api/v1' },
  { path: 'service.v1.apiKey', value: new Secret('key', 'canary-key-canary') },
];

type Kind = keyof typeof EXPECTED;
type Shown = Partial<Record<Kind, number>>;
type Places = Record<string, Shown>;

/** Numbers of a sentence such as `8 deliveries, 1 run`. */
function numbersIn(text: string): Shown {
  const kinds = {
    deliver: 'deliveries',
    document: 'documents',
    run: 'runs',
    incident: 'incidents',
  };
  const found = [...text.matchAll(/(\d+) (deliver|document|run|incident)(?:ies|y|s)?\b/g)];
  const shown = found.map(([, count, word = '']) => [
    kinds[word as keyof typeof kinds],
    Number(count),
  ]);
  return Object.fromEntries(shown);
}

/** The console on a port of its own, as a person with this token sees it. */
async function openConsole({ store, clock }: DeciderFixture) {
  const config = { ...configOf(SETTINGS), dataDir: dirname(store.path) };
  const reader = await openReadOnlyStore(storeOptions(config));
  const app = createConsoleApp({
    ...{ db: reader.db, clock, settings: settingsOf({ config }), log: silentLogger() },
    snapshot: (read) => reader.snapshot(read),
    ask: async () => ({ value: {} }),
    daemonSeenAt: () => clock.monotonic(),
    rulesMode: () => 'live',
    beats: () => [],
  });
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  onTestFinished(async () => {
    await app.close();
    await reader.close();
  });
  const entrance = createEntrance({
    ...{ store, clock, random: systemRandom(), sessionIdleMs: HOUR_MS },
    ...{ people: { operators: [], proxyRole: null }, sessionMs: HOUR_MS },
  });
  const person = { name: 'bi', role: 'viewer', seesAddresses: true } as const;
  const given = { ...person, expiresAt: clock.now() + HOUR_MS };
  const { token } = await entrance.createToken(given, { actor: 'ada', reason: '' });
  return async (path: string): Promise<string> => {
    const headers = { authorization: `Bearer ${token}`, accept: 'text/html' };
    const answer = await fetch(new URL(path, url), { headers });
    expect(answer.status, path).toBe(200);
    return answer.text();
  };
}

const NO_LIFE = {
  inbox: {
    ...{ accepted: 0, duplicates: 0, unknownType: 0, failedCommits: 0 },
    ...{ refused: {}, clockOffsetMs: undefined },
  },
  service: {
    ...{ requests: 0, retries: 0, waitMs: 0, bytesReceived: 0, active: 0, waiting: {} },
    ...{ clockOffsetMs: undefined, perSecond: 20, dialects: {}, answered: [], answers: [] },
    logins: { done: 0, refused: 0, failed: 0 },
  },
  ...{ workers: [], stuck: [], backup: undefined, plane: undefined },
  space: { freeBytes: 1, stopped: [] },
  files: { databaseBytes: 1, walBytes: 1, walPinnedMs: 0 },
};

async function metricsOf({ store: { db }, clock }: DeciderFixture): Promise<Shown> {
  const tally = createTally(db, 0);
  const metrics = createMetrics({
    clock,
    build: { version: '1' },
    readDatabase: async () => ({
      ...(await readDatabase(db, clock.now(), {})),
      ...(await tally.read(clock.now())),
      inForce: { mode: 'live', rules: [] },
    }),
    readLive: () => NO_LIFE,
  });
  const found = (await metrics.text()).matchAll(/^selvedge_waiting\{kind="(\w+)"\} (\d+)$/gm);
  return Object.fromEntries([...found].map(([, kind, count]) => [kind, Number(count)]));
}

async function pagesOf(world: DeciderFixture): Promise<Places> {
  const get = await openConsole(world);
  const json = async (path: string) => z.looseObject({}).parse(JSON.parse(await get(path)));
  const rows = async (path: string) =>
    z.looseObject({ rows: z.array(z.unknown()) }).parse(JSON.parse(await get(path))).rows.length;
  const page = await get('/');
  const badge = (path: string) =>
    Number(new RegExp(`data-count="${path}"[^>]*>(\\d+)<`).exec(page)?.[1]);
  const [, tile = '', detail = ''] =
    /<span>Waiting<\/span>\s*<b>(\d+)<\/b>\s*<span class="soft">([^<]*)/.exec(page) ?? [];
  const [, needs = ''] = /<h2 id="needs">(.*?)<h2/s.exec(page) ?? [];
  const heads = [...needs.matchAll(/rowgroup" colspan="4">([^<]*)/g)].map(([, text]) => text);
  const parts = [...needs.matchAll(/<tbody>(.*?)<\/tbody>/gs)].map(([, body = '']) =>
    [...body.matchAll(/<tr>\s*<td class="number"[^>]*>(\d+)/g)].reduce(
      (sum, [, n]) => sum + Number(n),
      0,
    ),
  );
  const [deliveries = 0, documents = 0, runs = 0, incidents = 0] = parts;
  const [, listed] = /id="count">(\d+) /.exec(await get('/review')) ?? [];
  const counted = z.record(z.string(), z.union([z.number(), z.looseObject({ count: z.number() })]));
  const waiting = z
    .looseObject({ status: z.looseObject({ waiting: counted }) })
    .parse(await json('/index.json')).status.waiting;
  const twin = Object.entries(waiting)
    .filter(([kind]) => kind in EXPECTED)
    .map(([kind, of]) => [kind, typeof of === 'number' ? of : of.count]);
  const csv = [...(await get('/index.csv')).matchAll(/^waiting_?(\w*)[,;](\d+)/gm)]
    .filter(([, kind]) => kind !== 'overdue')
    .map(([, kind, count]) => [kind || 'total', Number(count)]);
  return {
    'badges of the menu': {
      ...{ total: badge('/'), deliveries: badge('/review'), documents: badge('/outbox') },
      runs: badge('/pulls'),
    },
    'badges, asked again': z
      .object({ waiting: z.record(z.string(), z.number()) })
      .parse(await json('/changes.json')).waiting,
    tile: { total: Number(tile), ...numbersIn(detail) },
    'Needs you': numbersIn(heads.join(', ')),
    'Needs you, its rows together': { deliveries, documents, runs, incidents },
    '/index.json': Object.fromEntries(twin),
    '/index.csv': Object.fromEntries(csv),
    'Review, as it opens': { deliveries: Number(listed) },
    '/review.json': { deliveries: await rows('/review.json') },
    '/review.json, by value': { deliveries: await rows('/review.json?sort=value') },
    '/outbox.json?waiting=1': { documents: await rows('/outbox.json?waiting=1') },
  };
}

async function commandsOf(world: DeciderFixture): Promise<Places> {
  const folder = dirname(world.store.path);
  const file = join(folder, 'selvedge.yaml');
  writeFileSync(
    file,
    `dataDir: ${folder}
service:
  v1:
    baseUrl: "http://127.0.0.1:9/api/v1"
    login: { clientId: a, clientSecret: { env: S } }
listener: { secrets: [] }
rules: { directory: . }
`,
  );
  const run = async (...args: string[]) =>
    (await selvedge(['--config', file, ...args], { S: 'canary-secret-canary' })).stdout;
  const waiting = z
    .looseObject({ waiting: z.record(z.string(), z.unknown()) })
    .parse(JSON.parse(await run('status', '--json'))).waiting;
  const status = await run('status');
  const [, line = ''] = /^waiting +(.*)$/m.exec(status) ?? [];
  const count = z.union([
    z.number(),
    z.looseObject({ count: z.number() }).transform((of) => of.count),
  ]);
  const length = (text: string) => z.array(z.unknown()).parse(JSON.parse(text)).length;
  return {
    status: numbersIn(line.replace(/ \(.*/, '')),
    'status --json': Object.fromEntries(
      Object.entries(waiting)
        .filter(([kind]) => kind in EXPECTED)
        .map(([kind, of]) => [kind, count.parse(of)]),
    ),
    'status --check': numbersIn((await run('status', '--check')).split('waiting: ')[1] ?? ''),
    'deliveries list --waiting': {
      deliveries: length(await run('deliveries', 'list', '--waiting', '--json')),
    },
    'outbox list --waiting': {
      documents: length(await run('outbox', 'list', '--waiting', '--json')),
    },
  };
}

it('all that waits for a person is counted once, and the same at every place', async () => {
  const hook = await startHookListener(SECRET);
  const channels = [webhookTo(hook.url, { on: ['waiting'] })];
  let later = async (_ms: number): Promise<void> => undefined;
  const world = await waitingWorld(async (from) => {
    ({ later } = await startTelling(channels, from));
  });
  await later(16 * MINUTE);
  const { text = '', subject = '', causes = [] } = hook.heard[0]?.data ?? {};
  const config = { ...configOf(SETTINGS), dataDir: dirname(world.store.path) };
  const places: Places = {
    ...(await pagesOf(world)),
    ...(await commandsOf(world)),
    metrics: await metricsOf(world),
    'line of the service manager': numbersIn(
      (await headline(world.store.db, world.clock.now(), config)).split('waiting: ')[1] ?? '',
    ),
    'message (waiting), its text': numbersIn(text),
    'message (waiting), its causes': Object.fromEntries(
      causes.map(({ cause, count }) => [cause, count]),
    ),
    'message (waiting), its subject': { total: Number(/ (\d+) waiting/.exec(subject)?.[1]) },
  };
  const wanted = Object.entries(places).map(([place, shown]) => [
    place,
    Object.fromEntries(Object.keys(shown).map((kind) => [kind, EXPECTED[kind as Kind]])),
  ]);
  expect(places).toEqual(Object.fromEntries(wanted));
  // A place that shows nothing would agree with everything.
  for (const [place, shown] of Object.entries(places)) {
    expect(Object.keys(shown).length, place).toBeGreaterThan(0);
  }
});
