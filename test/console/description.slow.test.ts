/** The description of the console: served, valid, of every route, and true of each answer. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { z } from 'zod';
import { LISTS } from '../../src/console/surface/registry.ts';
import { tripBreaker } from '../../src/decisions/reject/breaker.ts';
import { isJsonObject } from '../../src/lib/json.ts';
import { openIncident } from '../../src/store/incidents.ts';
import { type Asked, type GeneratedClient, generateClient } from '../support/generated-client.ts';
import { lintOpenApi } from '../support/openapi-lint.ts';
import { temporaryFolder } from '../support/store.ts';
import { MARK, type PlantedHouse, startPlanted } from './planted.ts';
import { consoleRoutes, idsOf, REJECT_RULE } from './routes.ts';
import { READY, READY_RULE, trialOf, writeSettings } from './rules-house.ts';
import { type Caller, holdMore, program, seenRows, sharedEnd, signIn } from './support.ts';

const operation = z.looseObject({
  operationId: z.string(),
  responses: z.record(
    z.string(),
    z.looseObject({
      content: z.record(z.string(), z.looseObject({ schema: z.unknown() })).optional(),
    }),
  ),
});
const documentSchema = z.looseObject({
  openapi: z.literal('3.1.0'),
  paths: z.record(z.string(), z.record(z.string(), operation)),
  components: z.looseObject({ schemas: z.record(z.string(), z.unknown()) }),
});

const { atEnd, end } = sharedEnd();
let house: PlantedHouse;
let anna: Caller;
let text: string;
let described: z.output<typeof documentSchema>;
/** Makes clients that are generated from the description, which ask for everything below. */
let generated: Awaited<ReturnType<typeof generateClient>>;

beforeAll(async () => {
  house = await startPlanted(atEnd);
  anna = await signIn(house, 'anna', 'approver');
  text = (await anna.get('/openapi.json')).text;
  described = documentSchema.parse(JSON.parse(text));
  generated = await generateClient(temporaryFolder(atEnd), text);
});

afterAll(end);

/** A schema of the document with what it refers to in its place. */
function whole(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(whole);
  if (!isJsonObject(schema)) return schema;
  const { $ref, ...rest } = schema;
  if (typeof $ref === 'string') {
    const name = $ref.replace('#/components/schemas/', '');
    return whole(described.components.schemas[name]);
  }
  return Object.fromEntries(Object.entries(rest).map(([name, of]) => [name, whole(of)]));
}

const seen = new Set<string>();

function clientOf({ own }: Caller): GeneratedClient {
  const token = /^Bearer (.+)/.exec(own.authorization ?? '')?.[1];
  return generated.as(house.url, token ? { token } : { headers: { ...own, origin: house.url } });
}

/** Asks by the generated client, and holds the answer against what is said of this status. */
async function ask(
  who: Caller,
  [method, path]: readonly ['get' | 'post', string],
  id: number | string = '',
  more: Pick<Asked, 'body' | 'query'> = {},
): Promise<Record<string, unknown>> {
  const of = described.paths[path]?.[method];
  const asked = { ...(path.includes('{id}') && { path: { id } }), ...more };
  const { response, data } = await clientOf(who).ask(of?.operationId ?? path, asked);
  const of200 = [method, path, id, response.status];
  const known = of?.responses[response.status];
  expect([...of200, known]).toEqual([...of200, expect.anything()]);
  const type = (response.headers.get('content-type') ?? '').split(';')[0] ?? '';
  const schema = known?.content?.[type]?.schema;
  expect([...of200, type, schema]).toEqual([...of200, type, expect.anything()]);
  if (response.status === 200) seen.add(`${method} ${path}`);
  if (type !== 'application/json') return {};
  const found = z.fromJSONSchema(z.record(z.string(), z.any()).parse(whole(schema)));
  const parsed = found.safeParse(data);
  const problem = parsed.success ? '' : z.prettifyError(parsed.error);
  expect(`${of200.join(' ')}: ${problem}`).toBe(`${of200.join(' ')}: `);
  return isJsonObject(data) ? data : {};
}

async function readAll(who: Caller): Promise<void> {
  const ids: Readonly<Record<string, number | string>> = idsOf(house);
  for (const path of Object.keys(described.paths)) {
    const id = ids[path.replace('{id}', ':id').replace(/\.\w+$/, '')];
    const more = path === '/events/replay.json' ? { query: { hours: '24' } } : {};
    // The client spells the address itself.
    const own = decodeURIComponent(String(id));
    if (described.paths[path]?.get) await ask(who, ['get', path], own, more);
  }
  await ask(who, ['get', '/stock/{id}.json'], 'nowhere');
  const past = { query: { asOf: '2020-01-01T00:00' } };
  await ask(who, ['get', '/stock/{id}.json'], house.style, past);
  await ask(who, ['get', '/reports/{id}.json'], 'nowhere');
  await ask(who, ['get', '/reports/{id}.json'], 'stock-grid');
  await ask(who, ['get', '/pulls/{id}.json'], 'nowhere');
  await ask(who, ['get', '/pulls/{id}.csv'], 'seasons', {
    query: { outcome: 'complete', limit: '1' },
  });
  await ask(who, ['get', '/pulls/runs/{id}.json'], '4711');
  await ask(who, ['get', '/events.json'], '', { query: { after: 'nowhere' } });
  await ask(who, ['get', '/events.json'], '', {
    query: { since: '2026-01-01T00:00:00Z', limit: '1' },
  });
  await ask(who, ['get', '/events/{id}.json'], 'nowhere');
  await ask(who, ['get', '/events/replay.json'], '', { query: { id: 'nowhere' } });
  await ask(who, ['get', '/system/audit.json'], '', { query: { days: '1', action: 'console.' } });
  await ask(who, ['get', '/review.json'], '', { query: { shown: 'accepted' } });
  await ask(who, ['get', '/review.json'], '', { query: { sort: 'color' } });
  await ask(who, ['get', '/review.json'], '', { query: { after: 'nowhere' } });
  await ask(who, ['get', '/review.csv'], '', { query: { locale: 'da-DK' } });
  await ask(who, ['get', '/deliveries/{id}.json'], '4711');
  await ask(who, ['get', '/outbox/{id}.json'], '4711');
}

async function decideAll(): Promise<void> {
  await holdMore(house, 5);
  const rows = (await seenRows(anna, '?rule=hold-all')).filter(
    ({ orderDeliveryId }) => orderDeliveryId !== house.delivery,
  );
  const [held, accepted, released, rejected] = rows;
  if (!held || !accepted || !released || !rejected) throw new Error('too few are held');
  const decide = (action: string, row: typeof held, more = {}) => {
    const { decisionId, contentHash, orderDeliveryId } = row;
    const path = `/deliveries/{id}/${action}`;
    const body = { decisionId, contentHash, reason: 'described', ...more };
    return ask(anna, ['post', path], orderDeliveryId, { body });
  };
  const { decisionId } = await decide('hold', held);
  await decide('hold', held);
  const of = held.orderDeliveryId;
  await ask(anna, ['post', '/deliveries/{id}/undo'], of, { body: { decisionId } });
  await decide('accept', accepted);
  await decide('release', released);
  await decide('reject', rejected);
  await decide('reject', rejected, { confirmed: rejected.deliveryNo });
  await ask(anna, ['post', '/deliveries/{id}/note'], of, { body: { text: 'described' } });
  await ask(anna, ['post', '/deliveries/{id}/assign'], of, { body: { to: 'me' } });
  const view = { name: 'Large', filter: 'min=10' };
  await ask(anna, ['post', '/review/views/save'], '', { body: view });
  await ask(anna, ['get', '/review/views.json'], '', {});
  await ask(anna, ['post', '/review/views/rename'], '', { body: { name: 'Large', to: 'Big' } });
  await ask(anna, ['post', '/review/views/delete'], '', { body: { name: 'Big' } });
  await ask(anna, ['post', '/review/views/delete'], '', { body: { name: 'Big' } });
  const filter = { rule: 'hold-named' };
  const selection = ['get', '/review/selection.json'] as const;
  const expected = await ask(anna, selection, '', { query: filter });
  const select = { filter, expect: { count: expected.count, digest: expected.digest } };
  const body = { action: 'hold', reason: 'described', select };
  await ask(anna, ['post', '/review/bulk'], '', { body });
  await ask(anna, ['post', '/review/bulk'], '', { body });
}

/** Rows of the outbox in the state that an act wants. */
async function pushIn(reference: string, more: object): Promise<number> {
  const body = JSON.stringify({ lines: [{ barcode: '1', quantity: 1, price: '1.00' }] });
  const { outbox_id: push } = await house.daemon.store.db
    .insertInto('outbox')
    .values({
      ...{ kind: 'order', ordering_key: reference, reference, body, body_hash: '' },
      ...{ due_at: 4e12, created_at: 1, cause: 'test', attempts: 1, ...more },
    })
    .returning('outbox_id')
    .executeTakeFirstOrThrow();
  return push;
}

async function actOnPushes(): Promise<void> {
  const doubt = { state: 'in_doubt', in_doubt_since: 1, blocked_reason: 'two of them' } as const;
  const differs = await pushIn('D', { state: 'confirmed', ended_at: 1 });
  const incident = { kind: 'push_differs', entity: 'outbox', key: String(differs), detail: '{}' };
  await house.daemon.store.db
    .insertInto('incident')
    .values({ at: 1, ...incident })
    .execute();
  const pushes = {
    retry: await pushIn('A', doubt),
    cancel: await pushIn('B', { state: 'dead', ended_at: 1 }),
    absent: await pushIn('C', doubt),
    noted: differs,
  };
  const { order_id: orderId, reference } = await house.daemon.store.db
    .selectFrom('sales_order')
    .select(['order_id', 'reference'])
    .where('reference', 'not like', `${MARK}%`)
    .executeTakeFirstOrThrow();
  const found = { id: String(orderId), reason: 'described' };
  const confirm = async (push: number, body: object) =>
    ask(anna, ['post', '/outbox/{id}/confirmed'], push, { body });
  const doubted = await pushIn(reference ?? '', doubt);
  await confirm(doubted, { ...found, id: '4711' });
  await confirm(doubted, found);
  for (const [action, push] of Object.entries(pushes)) {
    const path = `/outbox/{id}/${action}`;
    const body = { reason: 'described' };
    await ask(anna, ['post', path], push, { body });
    await ask(anna, ['post', path], 4_711, { body });
    await ask(anna, ['post', path], push, { body: {} });
  }
}

async function operateAll(): Promise<void> {
  const reason = { reason: 'described' };
  const act = (path: string, id: number | string, more: object = {}) =>
    ask(anna, ['post', path], id, { body: { ...reason, ...more } });
  await act('/pulls/{id}/run', 'seasons', { full: true });
  await act('/pulls/{id}/run', 'nowhere');
  const release = '/pulls/runs/{id}/release';
  const { release: shown } = await ask(anna, ['get', '/pulls/runs/{id}.json'], house.run);
  const { preview } = z.looseObject({ preview: z.looseObject({ deletes: z.int() }) }).parse(shown);
  await act(release, house.run, { deletes: preview.deletes + 1 });
  await act(release, house.run, { deletes: preview.deletes });
  await act(release, 4_711, { deletes: 0 });
  await act('/pulls/quarantine/retry', '');
  await act('/events/replay', '', { ids: [house.event] });
  await act('/events/replay', '', { ids: ['nowhere'] });
  await act('/events/replay', '', { since: '2026-01-01T00:00:00Z' });
  await act('/events/portal', '');
  const order = 'F';
  await pushIn(order, { state: 'canceled', ended_at: 1, reference_key: 'f' });
  await act('/orders/forget', '', { order });
  await act('/orders/forget', '', { order, again: order });
  const { sessions } = await ask(anna, ['get', '/system/people.json']);
  const listed = z.array(z.looseObject({ sessionId: z.int(), way: z.string() })).parse(sessions);
  const token = listed.find(({ way }) => way === 'token');
  await act('/system/sessions/{id}/end', token?.sessionId ?? 0);
  await act('/system/sessions/{id}/end', token?.sessionId ?? 0);
  await act('/system/tokens/{id}/revoke', 'nobody');
  await program(house, 'viewer');
  await act('/system/tokens/{id}/revoke', 'bi');
  await act('/system/notify/test', '');
  await act('/system/plane/begin-feed', '');
  await act('/system/plane/end-feed', '');
}

async function actOnRules(): Promise<void> {
  const reason = { reason: 'described' };
  const act = (path: string, id: string, more: object = {}) =>
    ask(anna, ['post', path], id, { body: { ...reason, ...more } });
  const { db } = house.daemon.store;
  await ask(anna, ['post', '/rules/trial'], '', { body: { files: [] } });
  const mistaken = [{ path: 'a.yaml', text: 'rules:\n  - id: a\n' }];
  const wrong = await trialOf(anna, { files: mistaken });
  await ask(anna, ['get', '/rules/trial/{id}.json'], wrong);
  await ask(anna, ['post', '/rules/trial'], '', { body: {} });
  const trial = await trialOf(anna);
  await ask(anna, ['get', '/rules/trial/{id}.json'], trial);
  await ask(anna, ['get', '/rules/trial/{id}.csv'], trial);
  await act('/rules/trial/{id}/keep', trial);
  await act('/rules/trial/{id}/keep', 'nowhere');
  const { decision_id: decisionId } = await db
    .selectFrom('decision')
    .select('decision_id')
    .where('actor', '=', 'daemon')
    .executeTakeFirstOrThrow();
  await act('/rules/{id}/seen', REJECT_RULE, { decisionId });
  await act('/rules/{id}/seen', 'nowhere', { decisionId });
  await act('/rules/{id}/arm', REJECT_RULE);
  await act('/rules/{id}/disarm', REJECT_RULE);
  await act('/rules/resume', '');
  await act('/rules/reload', '', { rules: 'f'.repeat(64), mode: 'live' });
  await armAndDisarm(act);
}

/** With settings and tests that let a reject be armed, and a breaker that has tripped. */
async function armAndDisarm(
  act: (path: string, id: string, more?: object) => Promise<unknown>,
): Promise<void> {
  writeSettings(house, 0);
  writeFileSync(join(house.config.rules.directory, 'armed.yaml'), `rules:\n${READY_RULE}`);
  const preview = (await anna.get('/rules/reload')).text;
  const [, rules = ''] = /name="rules" value="(\w+)"/.exec(preview) ?? [];
  await act('/rules/reload', '', { rules, mode: 'live' });
  await act('/rules/trial/{id}/keep', await trialOf(anna));
  await act('/rules/{id}/arm', READY);
  await ask(anna, ['get', '/rules/{id}.json'], READY);
  const breaker = { safeguard: 'max_per_hour', detail: 'too many', at: 1 };
  await house.daemon.store.transaction((tx) => tripBreaker(tx, breaker));
  await act('/rules/resume', '');
  await act('/rules/{id}/disarm', READY);
}

it('is valid for an independent linter', async () => {
  const folder = temporaryFolder();
  writeFileSync(join(folder, 'console.json'), text);
  expect(await lintOpenApi(folder, ['console.json'])).toContain('is valid');
});

/** For people: pages, which have twins, and forms that make a session. */
const FOR_PEOPLE = [
  ...['get /', 'get /review', 'get /review/card/:id', 'get /outbox', 'get /assets/:tag/:name'],
  ...['get /stock', 'get /stock/:id', 'get /stock/:id/history', 'get /stock/:id/orders'],
  ...['get /stock/:id/seasons', 'get /reports', 'get /reports/all/schedules'],
  ...['get /deliveries/:id/raw', 'get /deliveries/:id/changes'],
  ...['get /deliveries/:id/facts', 'get /deliveries/:id/now'],
  ...LISTS.map(({ path }) => `get ${path.replace('{id}', ':id')}`),
  ...['get /events/replay', 'get /system', 'get /system/doctor'],
  ...['get /system/doctor/findings', 'get /system/settings'],
  ...['get /system/people', 'get /rules', 'get /rules/reload', 'get /rules/trial'],
  ...['get /incidents/:id', 'get /rules/:id/arm', 'get /acts/:name', 'get /review/all'],
  'get /review/ticked',
  'post /acts/:name/several',
  ...['get /sign-in', 'get /signed-out', 'post /sign-in/link', 'post /sign-in/password'],
];

/** Routes whose twins are told by the end of their last part. */
const TWINS: Readonly<Record<string, readonly string[]>> = {
  '/deliveries/:id': ['.json', '.csv'],
  '/outbox/:id': ['.json'],
  '/reports/:id': ['.json', '.csv', '.html', '.xlsx'],
  '/pulls/runs/:id': ['.json'],
  '/events/:id': ['.json'],
  '/rules/:id': ['.json'],
  '/rules/trial/:id': ['.json', '.csv'],
};

it('has every route that the server registers, and no other', async () => {
  const routes = await consoleRoutes(house.daemon.store.db);
  expect(routes.length).toBeGreaterThan(30);
  const forPrograms = routes
    .filter(({ method, path }) => !FOR_PEOPLE.includes(`${method} ${path}`))
    .flatMap(({ method, path }) =>
      (TWINS[path] && method === 'get' ? TWINS[path] : ['']).map(
        (twin) => `${method} ${path.replace(':id', '{id}')}${twin}`,
      ),
    );
  const known = Object.entries(described.paths).flatMap(([path, item]) =>
    Object.keys(item).map((method) => `${method} ${path}`),
  );
  expect(known.sort()).toEqual(forPrograms.sort());
});

it('is true of every answer to a client made from it, for people and for programs', async () => {
  await readAll(anna);
  await readAll(await program(house, 'viewer'));
  await decideAll();
  await actOnPushes();
  await operateAll();
  await actOnRules();
  const { db } = house.daemon.store;
  const grew = { kind: 'file_grew', entity: 'file', key: 'day.csv', detail: {} };
  await openIncident(db, grew, Date.now());
  const told = db.selectFrom('incident').select('id').where('kind', '=', grew.kind);
  const { id: incident } = await told.executeTakeFirstOrThrow();
  for (const act of ['acknowledge', 'resolve']) {
    const body = { reason: 'described' };
    await ask(anna, ['post', `/incidents/{id}/${act}`], incident, { body });
  }
  const pause = { target: 'pushes', reason: 'described' };
  await ask(anna, ['post', '/pause'], '', { body: pause });
  await ask(anna, ['post', '/pause'], '', { body: pause });
  await readAll(anna);
  await ask(anna, ['post', '/resume'], '', { body: pause });
  const viewer = await program(house, 'viewer');
  await ask(viewer, ['post', '/pause'], '', { body: pause });
  await ask(viewer, ['post', '/sign-out']);
  await ask(viewer, ['get', '/index.json']);
  await ask(anna, ['post', '/sign-out/everywhere']);
  const operations = Object.entries(described.paths).flatMap(([path, item]) =>
    Object.keys(item).map((method) => `${method} ${path}`),
  );
  expect([...seen].sort()).toEqual(operations.sort());
});
