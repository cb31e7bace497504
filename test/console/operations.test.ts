/** Pulls, events and the system through HTTP: what is shown, who may act, what the audit keeps. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { systemClock } from '../../src/lib/clock.ts';
import { Secret } from '../../src/lib/secret.ts';
import { writePlaneStatus } from '../../src/plane/status-file.ts';
import { until, withStreams } from '../support/house.ts';
import {
  auditOf,
  type Caller,
  type ConsoleHouse,
  holdMore,
  program,
  sharedEnd,
  signIn,
  startConsole,
} from './support.ts';

const EMPTY = { kind: 'emptyList', path: '*/variants/stock', probability: 1 };

const { atEnd, end } = sharedEnd();
let house: ConsoleHouse;
let anna: Caller;
let olaf: Caller;
let vera: Caller;

const run = z.looseObject({ runId: z.int(), outcome: z.string(), rows: z.int() });
const runs = z.looseObject({ rows: z.array(run) });

beforeAll(async () => {
  const written = { file: '/etc/selvedge/selvedge.yaml', warnings: [] };
  const settings = [
    { path: 'instance', value: 'main', origin: '/etc/selvedge/selvedge.yaml:3:1' },
    { path: 'log.level', value: 'info', origin: 'default' },
  ];
  house = await startConsole({
    held: 1,
    settings: [
      ...withStreams('stock', 'brands'),
      { path: 'plane.url', value: new Secret('plane.url', 'postgresql://127.0.0.1:9/plane') },
    ],
    atEnd,
    written: { ...written, settings },
  });
  anna = await signIn(house, 'anna', 'approver');
  olaf = await signIn(house, 'olaf', 'operator');
  vera = await signIn(house, 'vera', 'viewer');
});

afterAll(end);

async function runsOf(stream: string) {
  return runs.parse((await anna.get(`/pulls/${stream}.json`)).json).rows;
}

/** The run after this one, once it has ended. */
function runAfter(stream: string, before: number) {
  return until(`a run of ${stream}`, async () => {
    const [latest] = await runsOf(stream);
    const isNew = latest && latest.runId > before && latest.outcome !== 'running';
    return isNew ? latest : undefined;
  });
}

async function pull(who: Caller, stream: string, body: object = { reason: 'looked' }) {
  const before = (await runsOf(stream))[0]?.runId ?? 0;
  expect(await who.json(`/pulls/${stream}/run`, body)).toMatchObject({ status: 200 });
  return runAfter(stream, before);
}

async function liveStock(): Promise<number> {
  const rows = house.daemon.store.db.selectFrom('stock_variant').select('barcode');
  return (await rows.where('deleted_at', 'is', null).execute()).length;
}

describe('the page of pulls', () => {
  it('tells of each stream its schedule in words and how its last runs went', async () => {
    await runAfter('stock', 0);
    const { text, status } = await vera.get('/pulls');
    expect(status).toBe(200);
    expect(text.match(/<h1>/g)).toHaveLength(1);
    expect(text).toContain('every 15 minutes');
    expect(text).toContain('<b class="state s-run-complete">complete</b>');
    const { json } = await vera.get('/pulls.json');
    expect(json).toMatchObject({
      streams: expect.arrayContaining([
        expect.objectContaining({
          stream: 'stock',
          schedule: '*/15 * * * *',
          nextTimes: [expect.stringMatching(/Z$/), expect.anything(), expect.anything()],
          figures: expect.objectContaining({ outcomes: { complete: expect.any(Number) } }),
        }),
      ]),
    });
    expect((await vera.get('/pulls.csv')).text).toMatch(/^stream,paused,schedule,next_run/);
  });

  it('says by whom a stream is paused and why, and resumes it for an approver', async () => {
    const fields = {
      target: 'stream',
      name: 'brands',
      reason: 'they rename',
      back: '/pulls/brands',
    };
    const paused = await olaf.form('/pause', fields);
    expect([paused.status, paused.headers.get('location')]).toEqual([303, '/pulls/brands']);
    const { text } = await olaf.get('/pulls/brands');
    expect(text).toContain('<p>paused: the pull of brands.</p>');
    expect((await olaf.get('/pulls/brands')).text).not.toContain('<p>paused: ');
    expect(text).toMatch(/paused<\/b> by olaf: they rename/);
    expect(text).toContain('Only an approver may do this.');
    expect(await olaf.json('/pulls/brands/run', { reason: 'x' })).toMatchObject({
      ...{ status: 409, json: { code: 'sync.paused' } },
    });
    expect((await anna.form('/resume', { ...fields, reason: 'done' })).status).toBe(303);
    expect((await anna.get('/pulls/brands')).text).toContain('Pull now');
  });

  it('pulls for an operator, writes why into the audit, and not for a viewer', async () => {
    const { outcome } = await pull(olaf, 'brands', { reason: 'new brand', full: true });
    expect(outcome).toBe('complete');
    expect(await auditOf(house, 'sync.run_full')).toMatchObject([
      { actor: 'olaf', subject: 'brands', reason: 'new brand', session: expect.any(String) },
    ]);
    expect(await vera.json('/pulls/brands/run', { reason: 'x' })).toMatchObject({ status: 403 });
    expect(await olaf.json('/pulls/brands/run', { reason: ' ' })).toMatchObject({ status: 400 });
    expect(await olaf.json('/pulls/brandz/run', { reason: 'x' })).toMatchObject({
      ...{ status: 404, json: { hint: 'did you mean brands?' } },
    });
    expect(await vera.get('/pulls/brandz')).toMatchObject({ status: 404 });
    expect(await vera.get('/pulls/runs/999')).toMatchObject({ status: 404 });
  });

  it('reads quarantined rows again that can be understood by now', async () => {
    await house.daemon.store.transaction(async (tx) => {
      const row = { entity: 'brand', path: 'brandName', reason: 'must be a text', source: 'run:1' };
      const seen = { first_seen_at: 1, last_seen_at: 1 };
      const raws = [JSON.stringify({ brandName: 'Nordal' }), JSON.stringify(['no brand'])];
      for (const raw of raws) {
        await tx
          .insertInto('quarantine')
          .values({ ...row, ...seen, raw, raw_hash: raw })
          .execute();
      }
    });
    expect((await vera.get('/pulls')).text).toContain('<td class="number">2</td>');
    expect(await vera.json('/pulls/quarantine/retry', { reason: 'x' })).toMatchObject({
      status: 403,
    });
    const { json } = await olaf.json('/pulls/quarantine/retry', { reason: 'fixed there' });
    expect(json).toEqual({ understood: 1, left: 1 });
    expect(await auditOf(house, 'sync.retry_quarantine')).toMatchObject([
      { actor: 'olaf', reason: 'fixed there' },
    ]);
  });
});

describe('a suspicious run', () => {
  it('shows the first keys that a release deletes, which only an approver does', async () => {
    await runAfter('stock', 0);
    const before = await liveStock();
    house.reference.knobs.patch({ faults: [EMPTY] });
    const held = await pull(olaf, 'stock');
    house.reference.knobs.patch({ faults: [] });
    expect(held.outcome).toBe('suspicious');
    const path = `/pulls/runs/${held.runId}`;
    const { json } = await vera.get(`${path}.json`);
    const shown = z
      .looseObject({
        release: z.object({
          refused: z.null(),
          preview: z.object({ deletes: z.int(), firstKeys: z.array(z.string()) }),
        }),
      })
      .parse(json).release.preview;
    expect(shown.deletes).toBe(before);
    const barcodes = await house.daemon.store.db
      .selectFrom('stock_variant')
      .select('barcode')
      .execute();
    expect(barcodes.map(({ barcode }) => barcode)).toEqual(expect.arrayContaining(shown.firstKeys));
    const page = (await vera.get(path)).text;
    expect(page).toContain(`<code>${shown.firstKeys[0]}</code>`);
    expect(page).toContain('Only an approver may do this.');
    const act = { reason: 'season is over', deletes: shown.deletes };
    expect(await olaf.json(`${path}/release`, act)).toMatchObject({ status: 403 });
    const other = await anna.json(`${path}/release`, { ...act, deletes: 1 });
    expect(other).toMatchObject({ status: 409, json: { code: 'sync.changed' } });
    expect(await liveStock()).toBe(before);
    const done = await anna.json(`${path}/release`, act);
    expect(done).toMatchObject({ status: 200, json: { rowsDeleted: before, released: true } });
    expect(await liveStock()).toBe(0);
    expect(await auditOf(house, 'sync.release')).toMatchObject([
      { actor: 'anna', subject: `run:${held.runId}`, reason: 'season is over' },
    ]);
    expect((await anna.get(path)).text).toContain('released by anna: season is over');
    const back = await pull(olaf, 'stock');
    expect([back.outcome, await liveStock()]).toEqual(['complete', before]);
    const again = await anna.json(`${path}/release`, act);
    expect(again).toMatchObject({ status: 409, json: { code: 'sync.not_held' } });
    const sample = (await vera.get(`/pulls/runs/${back.runId}`)).text;
    expect(sample).toContain('variant in stock ');
  });
});

describe('the page of events', () => {
  it('lists events with their lag and effect, and one with what it led to', async () => {
    await holdMore(house, 1);
    const { json } = await vera.get('/events.json?limit=1');
    const { rows, next } = z
      .object({
        rows: z.array(z.looseObject({ eventId: z.string(), orderId: z.int().nullable() })),
        next: z.string().nullable(),
      })
      .parse(json);
    const [event] = rows;
    expect(next).not.toBeNull();
    const second = await vera.get(`/events.json?limit=1&after=${next}`);
    expect(second.json).not.toEqual(json);
    expect(await vera.get('/events?after=nowhere')).toMatchObject({ status: 409 });
    const list = await vera.get('/events');
    expect(list.text).toContain('a read of its order');
    expect(list.text).toContain('No event was missed in 24 hours.');
    const page = await vera.get(`/events/${event?.eventId}`);
    expect(page.text).toContain('Decisions since');
    expect(await vera.get('/events/msg_nowhere')).toMatchObject({ status: 404 });
    expect((await vera.get('/events.csv')).text).toContain(event?.eventId);
  });

  it('counts what the listener refused by reason', async () => {
    const listener = (await house.daemon.listenerUrl) ?? '';
    const forged = await fetch(listener, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'webhook-id': 'msg_1',
        'webhook-timestamp': String(Math.floor(Date.now() / 1_000)),
        'webhook-signature': `v1,${Buffer.alloc(32).toString('base64')}`,
      },
      body: '{}',
    });
    expect(forged.status).toBe(401);
    expect((await vera.get('/events')).text).toContain('the signature is not by a secret of ours');
    expect((await vera.get('/events/figures.json')).json).toMatchObject({
      inbox: { refused: { forged: 1 } },
    });
  });

  it('says what a replay would do before it is done, and does it for an operator', async () => {
    const before = await vera.get('/events/replay.json?hours=24');
    const { orders } = z.looseObject({ orders: z.int().min(1) }).parse(before.json);
    const asked = await olaf.get('/events/replay?hours=24');
    const page = await olaf.get(asked.headers.get('location') ?? '');
    expect(page.text).toContain(`${orders} orders would be read again`);
    expect(page.text).toContain('selvedge events replay --since 20');
    const since = /name="since" value="([^"]+)"/.exec(page.text)?.[1] ?? '';
    expect((await vera.get(asked.headers.get('location') ?? '')).text).toContain(
      'An operator may do this.',
    );
    expect(await auditOf(house, 'events.replay')).toEqual([]);
    const fields = { since, reason: 'relay was down' };
    expect(await vera.form('/events/replay', fields)).toMatchObject({ status: 403 });
    const done = await olaf.form('/events/replay', fields);
    expect([done.status, done.headers.get('location')]).toEqual([303, '/events']);
    expect((await olaf.get('/events')).text).toContain(`${orders} orders are read again`);
    expect(await auditOf(house, 'events.replay')).toMatchObject([
      { actor: 'olaf', reason: 'relay was down' },
    ]);
    const unknown = await olaf.json('/events/replay', { ids: ['msg_0'], reason: 'x' });
    expect(unknown).toMatchObject({ status: 404, json: { code: 'events.unknown' } });
    expect(await vera.get('/events/replay')).toMatchObject({ status: 400 });
  });

  it('opens the portal for an approver alone, and keeps the link out of the audit', async () => {
    expect(await olaf.json('/events/portal', { reason: 'x' })).toMatchObject({ status: 403 });
    const opened = await anna.form('/events/portal', { reason: 'rotate the secret' });
    expect(opened.headers.get('cache-control')).toBe('no-store');
    const { text } = opened;
    const link = /href="(http[^"]+)" rel="noreferrer"/.exec(text)?.[1];
    expect(link).toBeDefined();
    const [row] = await auditOf(house, 'portal.open');
    expect(row).toMatchObject({ actor: 'anna', reason: 'rotate the secret' });
    expect(JSON.stringify((await anna.get('/system/audit.json')).json)).not.toContain(link);
    expect((await anna.get('/events')).text).not.toContain(link);
  });

  it('returns after an act to a page of this console alone', async () => {
    for (const back of ['https://example.com/', '//example.com/', '/pulls?a=b']) {
      const fields = { since: '1s', reason: 'x', back };
      const { headers } = await olaf.form('/events/replay', fields);
      expect([back, headers.get('location')]).toEqual([back, back === '/pulls?a=b' ? back : '/']);
    }
  });
});

describe('the pages of the system', () => {
  it('say the same as the overview about what is wrong now', async () => {
    const listed = async (path: string) => {
      const { text } = await vera.get(path);
      const [, part = ''] = /What is wrong now<\/h2>\s*<ul>(.*?)<\/ul>/s.exec(text) ?? [];
      const items = [...part.matchAll(/<li>(.*?)<\/li>/gs)].map(([, one = '']) => one);
      return { text, items: items.map((one) => one.replaceAll(/<[^>]*>/g, '')) };
    };
    const [overview, system] = [await listed('/'), await listed('/system')];
    expect(system.items).toContain('There is no backup.');
    expect(overview.items).toEqual(system.items);
    expect(overview.text).not.toMatch(/[Nn]othing is wrong/);
    expect(overview.text).toMatch(/In the last night, since \w+ 18:00: <b>/);
  });

  it('tell of the daemon, its loop, the database, the disk and the backups', async () => {
    const { text } = await vera.get('/system');
    expect(text).toMatch(/runs as <code>/);
    expect(text).toContain('selvedge support-bundle');
    expect(text).toContain('there is no folder');
    const { json } = await vera.get('/system.json');
    expect(json).toMatchObject({
      daemon: { running: true },
      loop: { medianMs: expect.any(Number) },
      storage: { mirrorBytes: expect.any(Number), schema: 2, resting: null },
    });
    expect((await vera.get('/system.csv')).text).toContain('mirrorBytes,');
  });

  it('have a line for the copy in PostgreSQL, with its state, its lag and what to do', async () => {
    const line = async () => {
      const { text } = await vera.get('/system');
      const [, told = ''] = /Copy in PostgreSQL<\/dt>\s*<dd>(.*?)<\/dd>/s.exec(text) ?? [];
      return told.replaceAll(/<[^>]+>/g, '');
    };
    expect(await line()).toMatch(
      /^there is no copy: .*\(account main\): selvedge plane init; then/,
    );
    const { dataDir, instance: account } = house.config;
    const told = { at: systemClock().now(), account, seq: 5, ledgerSeq: 5 };
    writePlaneStatus(dataDir, { ...told, state: 'following', lagMs: 0 });
    expect(await line()).toBe(`follows, 0ms behind (account ${account})`);
    const error = { code: 'x', message: 'PostgreSQL: no password', hint: 'check plane.url' };
    writePlaneStatus(dataDir, { ...told, state: 'waiting', lagMs: 7_200_000, error });
    expect(await line()).toMatch(
      /^waits, 2h\b.* behind: PostgreSQL: no password .*: check plane\.url$/,
    );
    expect((await vera.get('/system.csv')).text).toMatch(/^plane_lag_ms,72\d{5}\r?$/m);
    expect((await vera.get('/system.json')).json).toMatchObject({
      plane: { state: 'waiting', isLate: true },
    });
  });

  it('have the findings of the doctor, without the network', async () => {
    const { json } = await vera.get('/system/doctor.json');
    expect(json).toMatchObject({
      checks: expect.arrayContaining([
        { check: 'daemon', grade: 'ok', text: 'runs' },
        { check: 'database', grade: 'ok', text: 'whole (quick_check)' },
        expect.objectContaining({ check: 'network', grade: 'skipped' }),
      ]),
    });
    expect((await vera.get('/system/doctor')).text).toContain('take a few seconds');
    const { text } = await vera.get('/system/doctor?now=1');
    expect(text).toMatch(/left out<\/b>[\s\S]*fine<\/b>/);
  });

  it('tell where each setting comes from', async () => {
    const all = (await vera.get('/system/settings')).text;
    expect(all).toContain('<td>/etc/selvedge/selvedge.yaml:3:1</td>');
    expect(all).toContain('<code>log.level</code>');
    expect((await vera.get('/system/settings?changed=1')).text).not.toContain('log.level');
    expect((await vera.get('/system/settings.csv?changed=1')).text).toBe(
      'setting,value,from\r\ninstance,main,/etc/selvedge/selvedge.yaml:3:1\r\n',
    );
  });

  it('filter the audit by who, what and when, page by page', async () => {
    await pull(olaf, 'brands', { reason: 'first' });
    await pull(olaf, 'brands', { reason: 'second' });
    const page = z.looseObject({
      rows: z.array(z.looseObject({ reason: z.string(), actor: z.string() })),
      next: z.string().nullable(),
    });
    const path = '/system/audit.json?action=sync.run&actor=olaf&subject=brands&limit=1';
    const first = page.parse((await vera.get(path)).json);
    expect(first.rows).toMatchObject([{ reason: 'second', actor: 'olaf' }]);
    const second = page.parse((await vera.get(`${path}&before=${first.next}`)).json);
    expect(second.rows).toMatchObject([{ reason: 'first' }]);
    const { back } = z.object({ back: z.string() }).loose().parse(second);
    expect((await vera.get(`${path}&back=${back}`)).json).toEqual(first);
    for (const [since, rows] of [
      ['days=0', 0],
      ['days=1', 1],
      ['since=24h', 1],
      ['since=2100-01-01', 0],
    ]) {
      const { json } = await vera.get(`${path}&${since}`);
      expect([since, page.parse(json).rows.length]).toEqual([since, rows]);
    }
    expect(await vera.get('/system/audit?since=soon')).toMatchObject({ status: 400 });
    expect((await vera.get('/system/audit?action=sync%25')).text).toContain('Nobody did anything');
    expect((await vera.get('/system/audit.csv?actor=olaf')).text).toContain('olaf,sync.run');
  });

  it('list who is signed in, and end a session and a token for an approver', async () => {
    const max = await signIn(house, 'max', 'operator');
    const bi = await program(house, 'viewer');
    const people = z.looseObject({
      sessions: z.array(z.looseObject({ sessionId: z.int(), name: z.string(), way: z.string() })),
    });
    const { sessions } = people.parse((await anna.get('/system/people.json')).json);
    const of = (name: string) => sessions.find((one) => one.name === name);
    const token = sessions.find(({ way }) => way === 'token');
    const path = `/system/sessions/${of('max')?.sessionId}/end`;
    expect(await olaf.json(path, { reason: 'x' })).toMatchObject({ status: 403 });
    expect((await anna.form(path, { reason: 'left us' })).status).toBe(303);
    expect((await max.get('/')).status).toBe(303);
    expect(await anna.json(path, { reason: 'left us' })).toMatchObject({
      ...{ status: 409, json: { code: 'console.no_open_session' } },
    });
    await anna.json(`/system/sessions/${token?.sessionId}/end`, { reason: 'leaked' });
    expect(await bi.get('/index.json')).toMatchObject({ status: 401 });
    expect(await auditOf(house, 'console.revoke')).toMatchObject([
      { actor: 'anna', subject: `link:${of('max')?.sessionId}`, reason: 'left us' },
      { actor: 'anna', subject: `token:${token?.sessionId}`, reason: 'leaked' },
    ]);
    const shown = (await anna.get('/system/people')).text;
    expect(shown).toContain('(you, here)');
    expect(shown).not.toContain('<td>max');
  });
});
