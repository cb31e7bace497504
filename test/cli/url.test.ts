/** Commands that ask a console over a URL, from a machine without configuration and database. */
import { chmodSync, writeFileSync } from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import {
  afterAll,
  beforeAll,
  beforeEach,
  describe,
  expect,
  it,
  onTestFinished,
  type TestContext,
} from 'vitest';
import type { Reference } from '../../src/reference/reference.ts';
import type { Role } from '../../src/surface/roles.ts';
import { HOLD_ALL, heldIds, holdMore } from '../console/support.ts';
import { CERTIFICATE, KEY } from '../fixtures/certificate.ts';
import { startTestReference, until } from '../support/house.ts';
import { type AtEnd, temporaryFolder } from '../support/store.ts';
import { type CliHouse, startCliHouse } from './house.ts';
import { type CliRun, selvedge } from './support.ts';

const ends: Parameters<AtEnd>[0][] = [];
const atEnd: AtEnd = (end) => void ends.unshift(end);

let reference: Reference;
let house: CliHouse;
let url: string;
const files = new Map<Role, string>();
const tokens = new Map<Role, string>();

beforeAll(async () => {
  const life = {
    ordersPerMinute: 0,
    packAfter: '0s',
    shipAfter: '1h',
    cancelShare: 0,
    splitShare: 0,
  };
  reference = await startTestReference({ auth: { loginSpacing: 0 }, life }, undefined, atEnd);
  const set = (path: string, value: unknown) => ({ path, value });
  const overrides = [
    set('console.enabled', true),
    set('console.port', 0),
    set('outbox.delayMin', '100ms'),
    set('service.limits.loginSpacing', '0s'),
  ];
  house = await startCliHouse(reference, { rules: HOLD_ALL, overrides }, atEnd);
  url = new URL(await house.daemon.consoleLink('nobody', 'viewer')).origin;
  const folder = temporaryFolder(atEnd);
  for (const role of ['viewer', 'operator', 'approver'] as const) {
    const { stdout } = await house.call(
      'console',
      'token',
      role,
      '--role',
      role,
      '--sees',
      'addresses',
    );
    const file = join(folder, role);
    writeFileSync(file, stdout, { mode: 0o600 });
    files.set(role, file);
    tokens.set(role, stdout.trim());
  }
});
let last: TestContext | undefined;
beforeEach((context) => {
  last = context;
});
afterAll(async () => {
  for (const end of ends) if (last) await end(last);
});

/** From elsewhere, with the token of this role. */
function from(role: Role, ...args: readonly string[]): Promise<CliRun> {
  return selvedge(['--url', url, '--token-file', files.get(role) ?? '', ...args]);
}

interface Row {
  readonly orderDeliveryId: number;
  readonly deliveryNo: string;
  readonly country: string;
  readonly value: number;
}

async function rowsOf(...filter: readonly string[]): Promise<readonly Row[]> {
  const { stdout } = await house.call('deliveries', 'list', '--json', ...filter);
  return JSON.parse(stdout);
}

/** Deliveries of this test's own. */
async function hold(count: number): Promise<readonly Row[]> {
  const before = await heldIds(house.daemon);
  await holdMore({ reference, daemon: house.daemon }, count);
  const rows = await rowsOf('--held');
  return rows.filter(({ orderDeliveryId }) => !before.includes(orderDeliveryId));
}

function markIn({ stdout }: CliRun): string {
  const mark = /mark (\S+)\n$/.exec(stdout)?.[1];
  if (mark === undefined) throw new Error(`no mark in ${stdout}`);
  return mark;
}

async function actorsOf(id: number): Promise<readonly string[]> {
  const rows = await house.daemon.store.db
    .selectFrom('audit')
    .select(['actor', 'action'])
    .where('subject', '=', `delivery:${id}`)
    .orderBy('id')
    .execute();
  return rows.map(({ actor, action }) => `${actor} ${action}`);
}

/** A table without how long ago things were, and without the widths that follow from it. */
function ageless(text: string): string {
  return text.replaceAll(/\b\d+(?:ms|[smhd])\b/g, 'age').replaceAll(/(?:age|-| )+/g, ' ');
}

/** Programs do not see what customers write. */
function uncommented(text: string): string {
  return text.replace(/^comment .*\n/m, '').replace(/"comment": ".*"/, '"comment": null');
}

describe('reading over a URL', () => {
  it('shows the same deliveries, reasons and pushes as on the host of the daemon', async () => {
    const [first] = await hold(2);
    const id = String(first?.orderDeliveryId);
    await house.call('deliveries', 'accept', id, '--reason', 'paid');
    const confirmed = await until('a confirmed push', async () =>
      house.daemon.store.db
        .selectFrom('outbox')
        .select('outbox_id')
        .where('state', '=', 'confirmed')
        .where('order_delivery_id', '=', Number(id))
        .executeTakeFirst(),
    );
    const outboxId = String(confirmed.outbox_id);
    for (const args of [
      ['deliveries', 'list'],
      ['deliveries', 'list', '--held', '--json'],
      ['deliveries', 'list', '--limit', '1', '--json'],
      ['deliveries', 'show', id],
      ['deliveries', 'show', id, '--json'],
      ['deliveries', 'explain', id, '--all', '--history'],
      ['deliveries', 'explain', first?.deliveryNo ?? '', '--json'],
      ['outbox', 'list', '--kind', 'delivery_status'],
      ['outbox', 'list', '--json'],
      ['outbox', 'show', outboxId],
      ['outbox', 'show', outboxId, '--json'],
    ]) {
      const there = await from('viewer', ...args);
      expect([args, there.code]).toEqual([args, 0]);
      const here = await house.call(...args);
      const isJson = args.includes('--json');
      const [seen = '', known = ''] = [there, here]
        .map(({ stdout }) => uncommented(stdout))
        .map((text) => (isJson ? text : ageless(text)));
      expect([args, seen, there.stderr]).toEqual([args, known, here.stderr]);
    }
  });

  it('shows the state of the daemon, and what needs a person', async () => {
    await hold(1);
    const { code, stdout } = await from('viewer', 'status');
    expect(code).toBe(0);
    expect(stdout).toMatch(/^daemon {6}running/m);
    expect(stdout).toMatch(/^waiting {5}\d+ deliver/m);
    expect(stdout).toMatch(/^deliveries +\d+ +\S+ ago +held$/m);
    const { stdout: json } = await from('viewer', 'status', '--json');
    const held = (await heldIds(house.daemon)).length;
    expect(JSON.parse(json)).toMatchObject({ daemon: { running: true }, held: { count: held } });
  });

  it('offers names for completion as on the host', async () => {
    await hold(1);
    const ids = (await heldIds(house.daemon)).toReversed();
    const names = (what: string, call = house.call) => call('completion', 'names', what);
    const there: CliHouse['call'] = (...args) => from('viewer', ...args);
    for (const call of [house.call, there]) {
      const { stdout } = await names('deliveries', call);
      expect(stdout.trim().split('\n').map(Number).toSorted()).toEqual(ids.toSorted());
      expect((await names('streams', call)).stdout).toContain('ordersFull\n');
    }
    expect((await names('rules')).stdout).toBe('hold-all\nhold-large\n');
    expect((await names('reports')).stdout).toContain('incidents\n');
    const open = await names('outbox');
    expect(open).toEqual(await names('outbox', there));
    expect(await house.call('completion', 'names')).toMatchObject({ code: 2 });
  });

  it('filters, sorts and goes on like the list on the host', async () => {
    const rows = await hold(3);
    const values = rows.map(({ value }) => value).toSorted((a, b) => a - b);
    const filters = [
      ['--country', rows[0]?.country ?? ''],
      ['--owner', 'sales', '--sort', 'value', '--descending'],
      ['--owner', 'nobody'],
      ['--rule', 'hold-large'],
      ['--min', String(values[1]), '--max', String(values[2])],
      ['--search', rows[1]?.deliveryNo ?? ''],
      ['--older', '1h'],
      ['--overdue'],
    ];
    for (const filter of filters) {
      const args = ['deliveries', 'list', '--held', '--json', ...filter];
      expect([filter, await from('viewer', ...args)]).toEqual([filter, await house.call(...args)]);
    }
    expect(await rowsOf('--held', '--owner', 'nobody')).toEqual([]);
    expect(await rowsOf('--held', '--search', rows[1]?.deliveryNo ?? '')).toHaveLength(1);
    const seen: number[] = [];
    let place: readonly string[] = [];
    for (;;) {
      const page = ['deliveries', 'list', '--held', '--sort', 'value', '--limit', '2', '--json'];
      const { stdout, stderr } = await from('viewer', ...page, ...place);
      const found: readonly Row[] = JSON.parse(stdout);
      seen.push(...found.map(({ orderDeliveryId }) => orderDeliveryId));
      const [, next] = /--after (\S+) goes on/.exec(stderr) ?? [];
      if (next === undefined) break;
      place = ['--after', next];
    }
    expect(seen.toSorted((a, b) => a - b)).toEqual(await heldIds(house.daemon));
  });
});

describe('deciding over a URL', () => {
  it('accepts, holds, notes and undoes in the name of the token', async () => {
    const [one, two] = await hold(2);
    const [a, b] = [String(one?.orderDeliveryId), String(two?.orderDeliveryId)];
    const accepted = await from('operator', 'deliveries', 'accept', a, '--reason', 'paid');
    expect(accepted).toMatchObject({ code: 0, stderr: '' });
    expect(accepted.stdout).toMatch(
      new RegExp(
        `^${one?.deliveryNo} \\(${a}\\): accepted, being sent, decision \\d+, push \\d+ tells`,
      ),
    );
    await from('operator', 'deliveries', 'hold', b, '--reason', 'ask');
    await from('operator', 'deliveries', 'note', b, 'Jutta calls');
    const undone = await from('operator', 'deliveries', 'undo', b);
    expect(undone.stdout).toMatch(
      /: undone, it waits again(?: once the service has confirmed it)?, decision /,
    );
    const again = await from('operator', 'deliveries', 'undo', b);
    expect([again.code, again.stderr]).toEqual([1, expect.stringContaining('nothing to undo')]);
    expect(await actorsOf(Number(a))).toEqual(['token:operator delivery.accept']);
    expect(await actorsOf(Number(b))).toEqual([
      'token:operator delivery.hold',
      'token:operator delivery.note',
      'token:operator delivery.release',
    ]);
    expect((await rowsOf('--search', two?.deliveryNo ?? ''))[0]).toMatchObject({
      note: 'Jutta calls',
    });
  });

  it('releases to the rules only where that is asked for', async () => {
    const [one] = await hold(1);
    const id = String(one?.orderDeliveryId);
    const release = ['deliveries', 'release', id, '--why', 'paid', '--reason', 'seen'];
    expect(await from('operator', ...release)).toMatchObject({ code: 0 });
    const { stdout } = await from('viewer', 'deliveries', 'show', id);
    expect(stdout).toContain('token:operator said release (paid)');
  });

  it('rejects with the number of the delivery, by an approver alone', async () => {
    const [one] = await hold(1);
    const { orderDeliveryId, deliveryNo } = one ?? { orderDeliveryId: 0, deliveryNo: '' };
    const reject = ['deliveries', 'reject', String(orderDeliveryId), '--reason', 'twice'];
    const typed = ['--yes-reject', deliveryNo];
    const other = await from('approver', ...reject, '--yes-reject', 'DN-1');
    expect(other).toMatchObject({ code: 1, stdout: expect.stringContaining('NOT rejected') });
    expect(await from('operator', ...reject, ...typed)).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^selvedge: a operator may not do this.*\nhint: ask an appr/),
    });
    expect(await from('approver', ...reject, ...typed)).toMatchObject({ code: 0 });
    const many = Array.from({ length: 21 }, (_, at) => String(at + 1));
    const tooMany = await from('approver', 'deliveries', 'reject', ...many, '--reason', 'x');
    expect(tooMany).toMatchObject({ code: 2, stderr: expect.stringContaining('more than 20') });
  });

  it('resolves a push one at a time', async () => {
    await house.call('pause', 'pushes', '--reason', 'so that it waits');
    const [one] = await hold(1);
    const id = String(one?.orderDeliveryId);
    await from('operator', 'deliveries', 'accept', id, '--reason', 'paid', '--json');
    const { stdout } = await from('viewer', 'outbox', 'list', '--open', '--json');
    const [row] = JSON.parse(stdout);
    const push = String(row.outboxId);
    const shown = await from('viewer', 'outbox', 'list');
    expect(shown.stdout).toMatch(/^PAUSED: .*so that it waits$/m);
    const retried = await from('operator', 'outbox', 'retry', push, '--reason', 'now');
    expect(retried).toMatchObject({ code: 0, stdout: '1 row taken up again\n' });
    const absent = ['outbox', 'resolve', push, '--as', 'absent', '--reason', 'x'];
    const wrong = await from('approver', ...absent, '--reference', String(row.reference));
    expect([wrong.code, wrong.stderr]).toEqual([1, expect.stringContaining('cannot be')]);
    const confirm = ['outbox', 'resolve', push, '--as', 'confirmed', '--reason', 'x'];
    expect(await from('operator', ...confirm)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('may not do this (outbox.confirmed)'),
    });
    const canceled = await from('operator', 'outbox', 'cancel', push, '--reason', 'x');
    expect(canceled).toMatchObject({ code: 0, stdout: '1 row canceled\n' });
    const all = ['--state', 'queued', '--expect', '1', '--reason', 'x'];
    const many = await from('operator', 'outbox', 'retry', ...all);
    expect(many).toMatchObject({ code: 2, stderr: expect.stringContaining('one row is named') });
    await house.call('resume', 'pushes', '--reason', 'seen');
  });
});

describe('all that fit a filter', () => {
  it.each(['here', 'over a URL'] as const)(
    'are decided %s by the mark of the list, and not once others fit',
    async (where) => {
      const call: CliHouse['call'] =
        where === 'here' ? house.call : (...args) => from('operator', ...args);
      const [gone] = await hold(2);
      const filter = ['--rule', 'hold-all'];
      const listed = await call('deliveries', 'list', '--held', ...filter);
      const old = markIn(listed);
      const accept = ['deliveries', 'accept', '--all-matching', ...filter, '--reason', 'checked'];
      const told = await call(...accept);
      expect([told.code, told.stderr]).toEqual([2, expect.stringContaining('it would be')]);
      expect(told.stderr).toContain(`mark ${old}`);
      await house.call('deliveries', 'accept', `${gone?.orderDeliveryId}`, '--reason', 'x');
      const [come] = await hold(1);
      const before = await heldIds(house.daemon);
      const changed = await call(...accept, '--expect', old);
      expect(changed).toMatchObject({ code: 1, stdout: '' });
      expect(changed.stderr).toContain('selvedge: nothing was done: ');
      expect(changed.stderr).toContain(`came: ${come?.deliveryNo} (the rules decided "hold" `);
      expect(changed.stderr).toMatch(
        new RegExp(`went: ${gone?.deliveryNo} \\(\\S+ decided "accept" \\S+ ago\\)\n`),
      );
      expect(await heldIds(house.daemon)).toEqual(before);
      const mark = markIn(await call('deliveries', 'list', '--held', ...filter));
      const done = await call(...accept, '--expect', mark, '--json');
      expect(done.code).toBe(0);
      const answers: readonly { ok: boolean; orderDeliveryId: number }[] = JSON.parse(done.stdout);
      expect(answers.map(({ orderDeliveryId }) => orderDeliveryId)).toEqual(before);
    },
  );

  it('takes no act without a choice, and no filter without --all-matching', async () => {
    for (const args of [[], ['--all-matching', '5'], ['5', '--country', 'DK']]) {
      const said = await house.call('deliveries', 'hold', '--reason', 'x', ...args);
      expect([args, said.code, said.stdout]).toEqual([args, 2, '']);
    }
    const empty = await house.call('deliveries', 'list', '--country', ' ');
    expect([empty.code, empty.stderr]).toEqual([2, expect.stringContaining('--country')]);
  });
});

/** A server that is no console. */
async function strangerAt(
  secure: boolean,
  status: number,
  text: string,
): Promise<{ readonly port: number }> {
  const answer = (_: unknown, response: import('node:http').ServerResponse) => {
    response.writeHead(status, { 'content-type': 'text/html' }).end(text);
  };
  const server = secure
    ? createHttpsServer({ cert: CERTIFICATE, key: KEY }, answer)
    : createHttpServer(answer);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  return { port: (server.address() as AddressInfo).port };
}

describe('a console that cannot be asked', () => {
  const ask = (at: string, ...options: string[]): Promise<CliRun> =>
    selvedge(['--url', at, '--token-file', files.get('viewer') ?? '', ...options, 'status']);

  it('says what is wrong with the address', async () => {
    const wrong: readonly (readonly [string, RegExp])[] = [
      ['selvedge.example.com', /is no address\nhint: --url https:/],
      ['http://selvedge.example.com', /plain HTTP .*\nhint: https:\/\/selvedge\.example\.com/],
      ['https://me:x@example.com', /no name and no password/],
      ['https://example.com/console', /root of its address\nhint: --url https:\/\/example\.com/],
    ];
    for (const [at, text] of wrong) {
      const { code, stderr } = await ask(at);
      expect([at, code, stderr]).toEqual([at, 2, expect.stringMatching(text)]);
    }
  });

  it('says that nobody, a stranger or somebody with an unknown certificate is there', async () => {
    const page = await strangerAt(false, 200, '<html>');
    const proxy = await strangerAt(false, 502, 'bad gateway');
    const secure = await strangerAt(true, 200, '{}');
    const wrong: readonly (readonly [string, number, RegExp])[] = [
      ['http://127.0.0.1:1', 75, /no console answers at http:.*ECONNREFUSED.*\nhint: does/],
      [`http://127.0.0.1:${page.port}`, 1, /no console of Selvedge .*\nhint: /],
      [`http://127.0.0.1:${proxy.port}`, 75, /does not reach the console \(502\)\nhint: /],
      [`https://127.0.0.1:${secure.port}`, 1, /cannot be trusted .*CERT.*\nhint: .*EXTRA_CA/],
      [`https://127.0.0.1:${page.port}`, 1, /cannot be trusted .*SSL.*\nhint: .*speak TLS/],
    ];
    for (const [at, status, text] of wrong) {
      const { code, stdout, stderr } = await ask(at);
      expect([at, code, stdout, stderr]).toEqual([at, status, '', expect.stringMatching(text)]);
    }
  });

  it('says what is unknown, and what the command line got wrong', async () => {
    const gone = await from('viewer', 'deliveries', 'show', '4711');
    expect(gone).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^selvedge: there is no delivery 4711\nhint: /),
    });
    const push = await from('viewer', 'outbox', 'show', '4711');
    expect([push.code, push.stderr]).toEqual([1, expect.stringContaining('no push 4711')]);
    const role = await from('viewer', 'outbox', 'retry', '1', '--reason', 'x');
    expect([role.code, role.stderr]).toEqual([1, expect.stringContaining('a viewer may not')]);
  });

  it('names the commands that a URL is for', async () => {
    const here = await from('viewer', 'doctor');
    expect(here).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/"doctor" does not work over a URL\nhint: over a URL: status/),
    });
    expect((await from('viewer', 'sync', 'list')).stdout).toMatch(/^STREAM .*\norders /);
    const now = await from('viewer', 'deliveries', 'explain', '1', '--now');
    expect([now.code, now.stderr]).toEqual([2, expect.stringContaining('--now does not work')]);
    const alone = await selvedge(['--token-file', files.get('viewer') ?? '', 'status']);
    expect([alone.code, alone.stderr]).toEqual([2, expect.stringContaining('none is named')]);
  });
});

describe('the token of a console', () => {
  const at = (file: string | undefined, env: Readonly<Record<string, string>> = {}) =>
    selvedge(['--url', url, ...(file === undefined ? [] : ['--token-file', file]), 'status'], env);

  it('comes from a file that nobody else can read, and is never written', async () => {
    const token = tokens.get('viewer') ?? '';
    const folder = temporaryFolder();
    const write = (text: string, mode = 0o600) => {
      const file = join(folder, `token-${mode}`);
      writeFileSync(file, text);
      chmodSync(file, mode);
      return file;
    };
    expect(await at(undefined, { SELVEDGE_TOKEN_FILE: files.get('viewer') ?? '' })).toMatchObject({
      code: 0,
    });
    expect(await at(write(`Authorization: Bearer ${token}\n`))).toMatchObject({ code: 0 });
    const none = await at(undefined);
    expect([none.code, none.stderr]).toEqual([2, expect.stringMatching(/wants a token.*\nhint: /)]);
    const wrong: readonly (readonly [string, RegExp])[] = [
      [write(token, 0o644), /is open to other users .*\nhint: chmod 600/],
      [join(folder, 'nowhere'), /cannot read the secret file/],
      [write(`${token} ${token}`), /does not hold the token of a console/],
    ];
    for (const [file, text] of wrong) {
      const { code, stdout, stderr } = await at(file);
      expect([code, stdout, stderr]).toEqual([2, '', expect.stringMatching(text)]);
      expect(stderr).not.toContain(token);
    }
    const unknown = await at(write(`${token.slice(0, -4)}AAAA`));
    expect(unknown).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/token is missing, over or revoked\nhint: .*console token/),
    });
  });
});
