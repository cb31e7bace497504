/** People decide held deliveries at the console, over HTTP as a browser without scripts does it. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { deliveryCardPart } from '../../src/console/pages/card.ts';
import { bulkPart } from '../../src/console/pages/deciding/bulk.ts';
import { deliveryView } from '../../src/console/read/delivery.ts';
import { savedViews } from '../../src/decisions/review/views.ts';
import { renderHtml } from '../../src/lib/html.ts';
import { until } from '../support/house.ts';
import {
  auditOf,
  type Caller,
  type ConsoleHouse,
  caller,
  heldIds,
  holdMore,
  type SeenRow,
  seenRows,
  sharedEnd,
  signIn,
  startConsole,
} from './support.ts';

const { atEnd, end } = sharedEnd();
let house: ConsoleHouse;
let anna: Caller;
let ben: Caller;
let carl: Caller;
let vera: Caller;

beforeAll(async () => {
  const settings = [{ path: 'console.reasons', value: ['goods are on their way'] }];
  house = await startConsole({ held: 11, settings, atEnd });
  anna = await signIn(house, 'anna', 'operator');
  ben = await signIn(house, 'ben', 'operator');
  carl = await signIn(house, 'carl', 'approver');
  vera = await signIn(house, 'vera', 'viewer');
});

afterAll(end);

const taken = new Set<number>();

/** A held delivery that no other test has decided, as somebody sees it. */
async function nextRow(who: Caller): Promise<SeenRow> {
  const rows = await seenRows(who);
  const row = rows.find(({ orderDeliveryId }) => !taken.has(orderDeliveryId));
  if (!row) throw new Error('nothing more is held');
  taken.add(row.orderDeliveryId);
  return row;
}

const seenFields = (row: { decisionId: number; contentHash: string }) => ({
  decisionId: String(row.decisionId),
  contentHash: row.contentHash,
});

async function auditAbout(action: string, { orderDeliveryId }: SeenRow) {
  const rows = await auditOf(house, action);
  return rows.filter(({ subject }) => subject === `delivery:${orderDeliveryId}`);
}

describe('a person who decides', () => {
  it('accepts a held delivery, which the service hears of, and the audit says how', async () => {
    const row = await nextRow(anna);
    const path = `/deliveries/${row.orderDeliveryId}`;
    const fields = { ...seenFields(row), reason: 'price agreed', back: '/review?country=DK' };
    const answer = await anna.form(`${path}/accept`, fields);
    expect(answer.status).toBe(303);
    const location = new URL(answer.headers.get('location') ?? '', house.url);
    expect([location.pathname, location.searchParams.get('country')]).toEqual(['/review', 'DK']);
    const said = `<p>${row.deliveryNo} is accepted, being sent.</p>`;
    expect((await anna.get('/review')).text).toContain(said);
    expect((await anna.get('/review')).text).not.toContain(said);
    await until('the service to show it', () => {
      const found = house.reference.world.book.deliveries.all.find(
        (one) => one.orderDeliveryId === row.orderDeliveryId,
      );
      return found?.status === 'accepted' ? true : undefined;
    });
    const session = expect.stringMatching(/^link:\d+$/);
    expect(await auditAbout('delivery.accept', row)).toEqual([
      {
        actor: 'anna',
        action: 'delivery.accept',
        subject: `delivery:${row.orderDeliveryId}`,
        reason: 'price agreed',
        session,
        address: '127.0.0.1',
      },
    ]);
  });

  it('is told by name when somebody else was faster', async () => {
    const row = await nextRow(anna);
    const path = `/deliveries/${row.orderDeliveryId}/hold`;
    const first = await ben.json(path, { ...seenFields(row), reason: 'ask Jutta' });
    expect(first.status).toBe(200);
    const second = await anna.json(path, { ...seenFields(row), reason: 'mine' });
    expect(second.status).toBe(409);
    expect(second.json).toMatchObject({ code: 'review.changed' });
    expect(second.text).toMatch(/ben decided \\?"hold\\?" \w+ ago/);
    const page = await anna.form(path, { ...seenFields(row), reason: 'mine' });
    expect([page.status, page.text.includes('ben decided')]).toEqual([409, true]);
  });

  it('undoes a hold, and an accept takes it back', async () => {
    const row = await nextRow(anna);
    const path = `/deliveries/${row.orderDeliveryId}`;
    const held = await anna.json(`${path}/hold`, { ...seenFields(row), reason: 'wait' });
    const { decisionId } = held.json as { decisionId: number };
    const undone = await anna.json(`${path}/undo`, { decisionId });
    expect([undone.status, undone.text]).toEqual([200, expect.any(String)]);
    const again = await anna.json(`${path}/undo`, { decisionId });
    expect(again).toMatchObject({ status: 409, json: { code: 'console.undo' } });
  });

  it('keeps notes with names and times, the latest in the list, and takes one away', async () => {
    const [id] = await heldIds(house.daemon);
    const note = (who: Caller, text: string) => who.form(`/deliveries/${id}/note`, { text });
    await note(anna, 'calls back at three');
    await note(ben, 'he did not');
    const page = (await vera.get(`/deliveries/${id}`)).text.replaceAll('\n', ' ');
    expect(page).toMatch(
      /calls back at three <span class="soft">anna, <time.*he did not <span class="soft">ben, /,
    );
    const { json } = await vera.get(`/deliveries/${id}.json`);
    expect(json).toMatchObject({
      note: { text: 'he did not', author: 'ben' },
      card: { notes: [{ text: 'calls back at three', author: 'anna' }, { author: 'ben' }] },
    });
    const rowNow = async () => {
      const { json: list } = await anna.get(`/review.json?q=${id}`);
      return z.object({ rows: z.array(z.looseObject({})) }).parse(list).rows[0];
    };
    expect(await rowNow()).toMatchObject({ note: 'he did not', noteBy: 'ben', notes: 2 });
    expect((await anna.get('/review')).text).toContain('note: he did not, ben and 1 note before');
    // Anna has not seen what Ben wrote last, and takes back her own.
    await note(anna, '');
    expect(await rowNow()).toMatchObject({ note: 'he did not', noteBy: 'ben', notes: 1 });
    expect((await note(anna, '')).text).toContain('has no note of yours');
  });

  it('takes a delivery, and finds those that are hers, those of others and of nobody', async () => {
    const [id, other] = await heldIds(house.daemon);
    const assign = (who: Caller, of: number | undefined, to: string) =>
      who.form(`/deliveries/${of}/assign`, { to });
    await assign(anna, id, 'me');
    await assign(anna, other, 'ben');
    const found = async (who: Caller, assigned: string) =>
      (await seenRows(who, `?assigned=${assigned}`)).map((row) => row.orderDeliveryId);
    expect([await found(anna, 'me'), await found(ben, 'me'), await found(ben, 'anna')]).toEqual([
      [id],
      [other],
      [id],
    ]);
    expect(await found(anna, 'nobody')).not.toContain(id);
    const page = (await ben.get('/review')).text;
    expect(page).toContain('<b>anna</b> sees to it');
    expect(page).toContain('<option value="anna">anna (1)</option>');
    const csv = (await anna.get('/review.csv?assigned=me')).text.split('\r\n');
    const column = (csv[0] ?? '').split(',').indexOf('assigned_to');
    expect((csv[1] ?? '').split(',').at(column - (csv[0] ?? '').split(',').length)).toBe('anna');
    // Acts on all that fit a filter mean the person who acts.
    const shown = await anna.get('/review/selection.json?assigned=me');
    expect(shown.json).toMatchObject({ count: 1, ids: [id] });
    const { count, digest } = z.object({ count: z.int(), digest: z.string() }).parse(shown.json);
    const bulk = { action: 'hold', dryRun: true, select: { filter: { assigned: 'me' } } };
    const of = { ...bulk, select: { ...bulk.select, expect: { count, digest } } };
    expect((await anna.json('/review/bulk', of)).json).toMatchObject({ seen: expect.anything() });
    await assign(ben, id, 'nobody');
    await assign(ben, other, 'nobody');
    expect(await found(anna, 'me')).toEqual([]);
    expect((await assign(vera, id, 'me')).status).toBe(403);
  });

  it('finds the form of an act on a page of its own, also before all is stated', async () => {
    const [row] = await seenRows(anna);
    const path = `/acts/deliveries.note?delivery=id:${row?.orderDeliveryId}`;
    const { status, text } = await anna.get(path);
    expect([status, text.includes('name="text"')]).toEqual([200, true]);
  });

  it('is led back to this console only, and to deliveries that there are', async () => {
    const [id] = await heldIds(house.daemon);
    for (const back of [
      '/.//evil.example',
      '//evil.example',
      'https://evil.example',
      '/\\\\evil.example',
    ]) {
      const { headers } = await anna.form(`/deliveries/${id}/note`, { text: 'x', back });
      const { origin } = new URL(headers.get('location') ?? '', house.url);
      expect([back, origin]).toEqual([back, house.url]);
    }
    const none = await anna.json('/deliveries/4711/note', { text: 'x' });
    expect(none).toMatchObject({ status: 404, json: { code: 'deliveries.unknown' } });
  });

  it('rejects only as an approver who types the number', async () => {
    const row = await nextRow(anna);
    const path = `/deliveries/${row.orderDeliveryId}/reject`;
    const wish = { ...seenFields(row), reason: 'ordered twice', confirmed: row.deliveryNo };
    expect(await anna.json(path, wish)).toMatchObject({ status: 403 });
    const typo = await carl.json(path, { ...wish, confirmed: 'DN-1' });
    expect(typo).toMatchObject({ status: 409, json: { code: 'review.unconfirmed' } });
    expect(await carl.json(path, wish)).toMatchObject({ status: 200 });
    expect(await auditAbout('delivery.reject', row)).toMatchObject([{ actor: 'carl' }]);
  });
});

describe('a form that comes to nothing', () => {
  const place = '/review?country=DK&open=500001';
  const typed = 'agreed <b>by phone</b>';

  it('shows without scripts what was typed, and leads back to its place', async () => {
    const row = await nextRow(anna);
    const path = `/deliveries/${row.orderDeliveryId}/hold`;
    const said = { ...seenFields(row), reason: 'first' };
    expect((await ben.json(path, said)).status).toBe(200);
    const page = await anna.form(path, { ...said, reason: typed, back: place });
    expect(page.status).toBe(409);
    expect(page.text).toContain('>agreed &lt;b&gt;by phone&lt;/b&gt;</textarea>');
    expect(page.text).toContain('<a href="/review?country=DK&amp;open=500001">');
    const part = await caller(house.url, { ...anna.own, 'x-part': '1' }).form(path, said);
    expect([part.status, part.text.includes('<html')]).toEqual([409, false]);
    expect(part.text).toMatch(/^<p class="problem">ben decided &quot;hold&quot; .*; look at it/);
  });

  it('is shown whole to somebody whose session has ended, to be sent again', async () => {
    const row = await nextRow(anna);
    const path = `/deliveries/${row.orderDeliveryId}/hold`;
    const fields = { ...seenFields(row), reason: typed, back: place };
    const nobody = caller(house.url);
    const page = await nobody.form(path, fields);
    expect([page.status, page.headers.get('location')]).toEqual([401, null]);
    expect(page.text).toContain('>agreed &lt;b&gt;by phone&lt;/b&gt;</textarea>');
    const to = new URLSearchParams({ to: place });
    expect(page.text).toContain(`href="/sign-in?${to}" target="_blank"`);
    const sent = [...page.text.matchAll(/<(?:input|textarea)[^>]* name="(\w+)"/g)];
    expect(sent.map(([, name]) => name)).toEqual(Object.keys(fields));
    expect(page.text).toContain(`action="${path}"`);
    expect((await anna.form(path, fields)).status).toBe(303);
  });

  it('names a page where the hint names a command', async () => {
    const get = async (path: string) => (await anna.get(path)).text;
    const unknown = await get('/deliveries/4711');
    expect(unknown).toContain('<a href="/review?shown=all">Review</a>');
    const event = await get('/events/msg_none');
    expect(event).toContain('<a href="/events">Events</a>');
    const push = await anna.form('/outbox/4711/retry', { reason: 'x' });
    expect(push.text).toContain('<a href="/outbox">Pushes</a>');
    for (const text of [unknown, event, push.text]) expect(text).not.toMatch(/selvedge |--\w/);
  });
});

it('the script of a page is told where to go on, where a browser is redirected', async () => {
  const row = await nextRow(anna);
  const script = caller(house.url, { ...anna.own, 'x-part': '1' });
  const back = '/review?rule=hold-all&open=1';
  const said = { ...seenFields(row), reason: 'mine', back, next: '500044' };
  const done = await script.form(`/deliveries/${row.orderDeliveryId}/hold`, said);
  expect([done.status, done.headers.get('location')]).toEqual([
    204,
    '/review?rule=hold-all&open=500044',
  ]);
  // The page was made for somebody else, who signed in before at this browser.
  const other = caller(house.url, { ...script.own, 'x-user': 'ben' });
  const [mine, his] = [await script.get('/review'), await other.get('/review')];
  expect([mine.status, his.status]).toEqual([200, 401]);
  const nobody = caller(house.url, { 'x-part': '1' });
  const open = await nobody.get(`/review/card/${row.orderDeliveryId}`);
  expect([open.status, open.text]).toEqual([401, '']);
});

/** Forms of a page, each with its submit buttons. */
function formsIn(page: string): readonly (readonly string[])[] {
  const forms = [...page.matchAll(/<form\b.*?<\/form>/gs)].map(([form]) => form);
  return forms.map((form) =>
    [...form.matchAll(/<button\b[^>]*>/g)].flatMap(([button]) =>
      button.includes('type="button"') ? [] : [button],
    ),
  );
}

it('a form of several acts begins with a button by which Enter does none of them', async () => {
  const row = await nextRow(carl);
  const said = { ...seenFields(row), reason: 'agreed' };
  await carl.form(`/deliveries/${row.orderDeliveryId}/accept`, said);
  const [id, other] = await heldIds(house.daemon);
  const { outbox_id: push } = await house.daemon.store.db
    .selectFrom('outbox')
    .select('outbox_id')
    .executeTakeFirstOrThrow();
  let several = 0;
  for (const path of [
    ...['/', '/review', '/review?shown=all', `/review?open=${id}`, `/deliveries/${id}`],
    ...[`/review/card/${other}`, '/outbox', `/outbox/${push}`, '/stock', '/reports', '/pulls'],
    ...['/pulls/orders', '/events', '/acts/events.replay?since=1d', '/rules', '/rules/hold-all'],
    ...['/rules/reload', '/rules/trial', '/system', '/system/people', '/system/settings'],
    ...['/system/audit', '/reports/stock-grid'],
  ]) {
    const { status, text } = await carl.get(path);
    expect([path, status]).toEqual([path, 200]);
    for (const buttons of formsIn(text).filter(({ length }) => length > 1)) {
      several += 1;
      expect([path, buttons[0]]).toEqual([path, '<button disabled hidden data-enter>']);
      expect(buttons.slice(1).filter((button) => button.includes('data-enter'))).toEqual([]);
    }
  }
  expect(several).toBeGreaterThan(3);
});

describe('deliveries that a person ticked', () => {
  const boxesIn = (page: string) =>
    [...page.matchAll(/name="t" value="([\w-]+)" data-tick="([^"]+)"/g)].map(([, tick, name]) => ({
      tick: String(tick),
      name: String(name),
      id: Number.parseInt(String(tick), 10),
    }));
  const thingsIn = (page: string) =>
    (/name="things" value="([^"]+)"/.exec(page)?.[1] ?? '').replaceAll('&quot;', '"');
  const back = '/review?rule=hold-all';
  const preview = async (who: Caller, act: string, ticks: readonly { tick: string }[]) => {
    const query = new URLSearchParams({ act, back });
    for (const { tick } of ticks) query.append('t', tick);
    return who.get(`/review/ticked?${query}`);
  };
  const versionOf = async (id: number) => {
    const row = (await seenRows(ben)).find(({ orderDeliveryId }) => orderDeliveryId === id);
    return seenFields(row ?? { decisionId: 0, contentHash: '' });
  };

  it('are told with money and lines, and done but for those that changed, by name', async () => {
    await holdMore(house, 4);
    const all = boxesIn((await anna.get(back)).text);
    const [first, second, third, fourth] = all;
    if (!first || !second || !third || !fourth) throw new Error('too few are held');
    const holdBy = async (who: Caller, id: number) => {
      const seen = { ...(await versionOf(id)), reason: 'ask Jutta' };
      expect((await who.json(`/deliveries/${id}/hold`, seen)).status).toBe(200);
    };
    await holdBy(ben, first.id);
    const accepts = (await auditOf(house, 'delivery.accept')).length;
    const asked = await preview(anna, 'accept', [first, second, third]);
    expect(asked.text).toContain(`Changed since you ticked, and left out: ${first.name}.`);
    expect(asked.text).toContain('<h1>Accept 2 deliveries?</h1>');
    expect(asked.text).toMatch(/2 deliveries of \d customers?, [\d,.]+ [A-Z]{3}/);
    for (const { name } of [second, third]) expect(asked.text).toContain(`>${name}</a>`);
    expect(asked.text).not.toContain(`>${fourth.name}</a>`);
    expect(await auditOf(house, 'delivery.accept')).toHaveLength(accepts);
    await holdBy(ben, third.id);
    const said = { things: thingsIn(asked.text), back, reason: 'checked' };
    const done = await anna.form('/acts/deliveries.accept/several', said);
    expect([done.status, done.headers.get('location')]).toEqual([303, back]);
    const notice = (await anna.get(back)).text;
    expect(notice).toContain(`<p>1 accepted, being sent; 1 not: ${third.name}: ben decided`);
    expect(notice).toContain('action="/acts/deliveries.undo/several"');
    const [last] = (await auditOf(house, 'delivery.accept')).slice(-1);
    expect([last?.subject, last?.reason]).toEqual([`delivery:${second.id}`, 'checked']);
    expect(boxesIn(notice).map(({ tick }) => tick)).toContain(fourth.tick);
  });

  it('are rejected by an approver who types each number, and by nobody else', async () => {
    await holdMore(house, 2);
    const [first, second] = boxesIn((await carl.get(back)).text);
    if (!first || !second) throw new Error('too few are held');
    expect((await preview(anna, 'reject', [first])).status).toBe(403);
    const rejectOf = async (who: Caller) => (await who.get(back)).text.includes('value="reject"');
    expect([await rejectOf(anna), await rejectOf(carl)]).toEqual([false, true]);
    const asked = await preview(carl, 'reject', [first, second]);
    expect(asked.text).toContain('Type the numbers of all 2 to go on');
    const said = { things: thingsIn(asked.text), back, reason: 'ordered twice' };
    const done = await carl.form('/acts/deliveries.reject/several', {
      ...said,
      confirmed: `${first.name} 4711`,
    });
    expect(done.status).toBe(303);
    expect((await carl.get(back)).text).toContain(
      `<p>1 rejected, being sent; 1 not: ${second.name}: a reject is final`,
    );
  });

  it('are assigned in one act to whom a person names', async () => {
    const [first, second] = boxesIn((await anna.get(back)).text);
    if (!first || !second) throw new Error('too few are held');
    const asked = await preview(anna, 'assign', [first, second]);
    expect(asked.text).toContain('<h1>Assign 2 deliveries?</h1>');
    const said = { things: thingsIn(asked.text), back, to: 'Jutta' };
    await anna.form('/acts/deliveries.assign/several', said);
    expect((await anna.get(back)).text).toContain('<p>2 assigned.</p>');
    const rows = await seenRows(anna, '?assigned=Jutta');
    expect(rows.map(({ deliveryNo }) => deliveryNo).sort()).toEqual(
      [first.name, second.name].sort(),
    );
  });

  it('are none where nothing can be done, or nothing is ticked', async () => {
    expect(boxesIn((await vera.get('/review?shown=all')).text)).toEqual([]);
    expect((await preview(anna, 'accept', [])).text).toContain('No delivery is ticked.');
    expect((await preview(anna, 'accept', [{ tick: '4711-1-abc' }])).text).toContain(
      'left out: 4711.',
    );
    expect(boxesIn((await anna.get('/review?shown=rejected')).text)).toEqual([]);
  });
});

describe('saved views', () => {
  const tabsIn = (page: string) =>
    [...page.matchAll(/<a href="\/review\?([^"]*)"( aria-current="page")?>([^<]*)<\/a>/g)]
      .filter(([, , , name]) => /^(?:All that wait|Large)/.test(name ?? ''))
      .map(([, filter, current, name]) => [name, filter?.replaceAll('&amp;', '&'), !!current]);
  const save = (who: Caller, more: Readonly<Record<string, string>>) =>
    who.form('/review/views/save', { name: 'Large', filter: 'min=10&sort=value', ...more });

  it('are tabs of all of the house, in whatever order their filter is written', async () => {
    expect((await save(vera, {})).status).toBe(403);
    const back = '/review?sort=value&min=10';
    const done = await save(anna, { back });
    expect([done.status, done.headers.get('location')]).toEqual([303, back]);
    const page = (await ben.get('/review?sort=value&min=10&open=1')).text;
    expect(tabsIn(page)).toEqual([
      ['All that wait', 'shown=waiting', false],
      ['Large', 'min=10&shown=waiting&sort=value', true],
    ]);
    expect(page).toContain('Change &quot;Large&quot;');
    expect((await save(ben, {})).text).toContain('there is a view Large already');
    expect(await save(ben, { filter: 'colour=red', name: 'x' })).toMatchObject({ status: 400 });
    expect((await anna.get('/review/views.json')).json).toMatchObject({
      rows: [{ name: 'Large', filter: 'min=10&shown=waiting&sort=value', author: 'anna' }],
    });
  });

  it('can be what the list shows at first, and be taken away', async () => {
    await save(anna, { replace: '1', default: '1' });
    const first = await ben.get('/review');
    const filter = 'min=10&shown=waiting&sort=value';
    expect([first.status, first.headers.get('location')]).toEqual([303, `/review?${filter}`]);
    expect(tabsIn((await ben.get('/review?shown=waiting')).text)).toEqual([
      ['All that wait', 'shown=waiting', true],
      ['Large (at first)', filter, false],
    ]);
    await ben.form('/review/views/rename', { name: 'Large', to: 'Large ones' });
    await ben.form('/review/views/delete', { name: 'Large ones' });
    expect((await ben.get('/review')).status).toBe(200);
    const audit = house.daemon.store.db.selectFrom('audit').select(['subject', 'detail']);
    expect(await audit.where('action', '=', 'view.rename').execute()).toEqual([
      { subject: 'view', detail: '{"name":"Large"}' },
    ]);
  });

  it('that search for words are kept from who may not see names', async () => {
    await save(anna, { filter: 'q=Torvet' });
    const { db } = house.daemon.store;
    const counts = [true, false].map(async (seesAddresses) => savedViews(db, { seesAddresses }));
    expect((await Promise.all(counts)).map(({ length }) => length)).toEqual([1, 0]);
    const wrong = await anna.form('/review/views/delete', { name: 'Small' });
    expect([wrong.status, wrong.text]).toEqual([404, expect.not.stringContaining('Large')]);
    const asked = { name: 'Large', dryRun: '1' };
    expect((await anna.form('/review/views/delete', asked)).text).not.toContain('Torvet');
    await anna.form('/review/views/delete', { name: 'Large' });
  });
});

describe('all that fit a filter', () => {
  const markIn = (page: string) => /name="expect" value="([\w-]+)"/.exec(page)?.[1] ?? '';

  it('are decided in one act, while they are those that the person saw', async () => {
    const accepts = (await auditOf(house, 'delivery.accept')).length;
    const before = markIn((await anna.get('/review?rule=hold-all')).text);
    const then = Number(before.split('-')[0]);
    const now = then + 1;
    await holdMore(house, 1);
    const fields = { 'filter.rule': 'hold-all', reason: 'all checked', action: 'accept' };
    const late = await anna.form('/review/bulk', { ...fields, expect: before });
    expect(late.status).toBe(409);
    expect(late.text).toContain(`${now} deliveries fit the filter now, ${then} did when you`);
    expect(await auditOf(house, 'delivery.accept')).toHaveLength(accepts);
    const { text } = await anna.get('/review?rule=hold-all');
    const done = await anna.form('/review/bulk', { ...fields, expect: markIn(text) });
    expect([done.status, done.headers.get('location')]).toEqual([303, '/review']);
    expect((await anna.get('/review')).text).toContain(`<p>${now} accepted, being sent.</p>`);
    expect(await auditOf(house, 'delivery.accept')).toHaveLength(accepts + now);
  });

  it('can be named by a program, which hears of each', async () => {
    await holdMore(house, 2);
    const filter = { rule: 'hold-all' };
    const { text } = await anna.get('/review?rule=hold-all');
    const { json } = await anna.get('/review/selection.json?rule=hold-all');
    const { count, digest, asOf } = json as { count: number; digest: string; asOf: number };
    expect(`${count}-${digest}-${asOf}`).toBe(markIn(text));
    const select = { filter, expect: { count, digest } };
    const wish = { action: 'hold', reason: 'stock-taking', select };
    const done = await anna.json('/review/bulk', wish);
    expect(done).toMatchObject({ status: 200, json: { answers: [{ ok: true }, { ok: true }] } });
    expect(await anna.json('/review/bulk', wish)).toMatchObject({ status: 409 });
  });

  it('are told once more before, with their money and first lines, and what changed', async () => {
    await holdMore(house, 2);
    const place = '/review?rule=hold-all&sort=value';
    const mark = markIn((await anna.get(place)).text);
    const ask = new URLSearchParams({ act: 'accept', rule: 'hold-all', sort: 'value' });
    const accepts = (await auditOf(house, 'delivery.accept')).length;
    const { text } = await anna.get(`/review/all?${ask}&expect=${mark}`);
    const rows = await seenRows(anna, '?rule=hold-all');
    expect(text).toContain(`<h1>Accept ${rows.length} deliveries?</h1>`);
    expect(text).toMatch(/\d deliveries of \d+ customers?, [\d,.]+ [A-Z]{3}/);
    for (const { deliveryNo } of rows) expect(text).toContain(deliveryNo);
    expect([markIn(text), text.includes('when you looked')]).toEqual([mark, false]);
    const [first] = rows;
    if (!first) throw new Error('nothing is held');
    const hold = { ...seenFields(first), reason: 'ask Jutta' };
    expect((await ben.json(`/deliveries/${first.orderDeliveryId}/hold`, hold)).status).toBe(200);
    const again = (await anna.get(`/review/all?${ask}&expect=${mark}`)).text;
    expect(again).toContain(`went: ${first.deliveryNo} (ben decided &quot;hold&quot;`);
    expect(await auditOf(house, 'delivery.accept')).toHaveLength(accepts);
    expect((await vera.get(`/review/all?${ask}`)).status).toBe(403);
  });

  it('are taken back in one press, each that can be, and others are named', async () => {
    await holdMore(house, 2);
    const { text } = await anna.get('/review?rule=hold-all');
    const back = '/review?rule=hold-all&sort=value';
    const said = { 'filter.rule': 'hold-all', action: 'hold', expect: markIn(text), back };
    const done = await anna.form('/review/bulk', { ...said, reason: 'stock-taking' });
    const next = done.headers.get('location') ?? '';
    expect([done.status, next]).toEqual([303, back]);
    const page = (await anna.get(next)).text;
    const things = (/name="things" value="([^"]+)"/.exec(page)?.[1] ?? '').replaceAll(
      '&quot;',
      '"',
    );
    const all: unknown = JSON.parse(things);
    const [first, ...others] = z.array(z.object({ delivery: z.string() })).parse(all);
    expect(others.length).toBeGreaterThan(0);
    // Of one, another person has decided meanwhile.
    const id = first?.delivery.replace('id:', '');
    const row = (await seenRows(ben)).find((one) => String(one.orderDeliveryId) === id);
    if (!row) throw new Error('it is not held');
    const mine = { ...seenFields(row), reason: 'mine now' };
    expect((await ben.json(`/deliveries/${id}/hold`, mine)).status).toBe(200);
    const undone = await anna.form('/acts/deliveries.undo/several', { things, back });
    expect([undone.status, undone.headers.get('location')]).toEqual([303, back]);
    expect((await anna.get(back)).text).toContain(
      `${others.length} undone; 1 not: ${id}: there is nothing to undo any more.`,
    );
    const pull = await anna.form('/acts/sync.run/several', { things, reason: 'x' });
    expect([pull.status, pull.text.includes('one thing at a time')]).toEqual([400, true]);
    expect(await vera.form('/acts/deliveries.undo/several', { things })).toMatchObject({
      status: 403,
    });
  });

  it.each([
    [1, false],
    [746, true],
  ])('are offered where there are several, or it says why not: %d', (count, says) => {
    const query = new URLSearchParams({ country: 'DK' });
    const part = bulkPart({ count, role: 'operator', query, selection: undefined });
    const text = part === false ? '' : renderHtml(part);
    expect(text.includes('746 deliveries fit this filter, and one act takes at most\n500')).toBe(
      says,
    );
    expect(text.includes('Narrow the filter')).toBe(says);
  });
});

describe('a viewer', () => {
  it('reads everything and changes nothing, on page and API', async () => {
    await holdMore(house, 1);
    const held = await heldIds(house.daemon);
    const row = await nextRow(vera);
    const page = await vera.get(`/deliveries/${row.orderDeliveryId}`);
    expect(page.text).toContain('You can read, and not decide');
    expect(page.text).not.toContain('/accept');
    for (const action of ['accept', 'hold', 'release', 'reject']) {
      const path = `/deliveries/${row.orderDeliveryId}/${action}`;
      const answer = await vera.json(path, { ...seenFields(row), reason: 'x', confirmed: 'x' });
      expect([action, answer.status, answer.json]).toMatchObject([
        action,
        403,
        { code: 'console.role' },
      ]);
    }
    expect(await vera.form('/pause', { target: 'all', reason: 'x' })).toMatchObject({
      status: 403,
    });
    expect(await heldIds(house.daemon)).toEqual(held);
  });
});

describe('pausing', () => {
  it('is for operators, resuming for approvers, and every page shows it', async () => {
    const wish = { target: 'pushes', reason: 'the warehouse moves' };
    expect(await anna.form('/pause', wish)).toMatchObject({ status: 303 });
    const note = 'PAUSED: pushes, by anna: the warehouse moves';
    for (const page of ['/', '/outbox', '/pulls']) {
      expect([page, (await anna.get(page)).text.split(note).length]).toEqual([page, 2]);
    }
    expect((await anna.get('/outbox.json')).json).toMatchObject({ notes: [note] });
    expect(await anna.form('/resume', wish)).toMatchObject({ status: 403 });
    expect(await carl.form('/resume', wish)).toMatchObject({ status: 303 });
    expect(await auditOf(house, 'pause')).toMatchObject([{ actor: 'anna', address: '127.0.0.1' }]);
  });
});

describe('the card of a delivery', () => {
  it('shows lines as packed / on hand / ordered, with values, what decided it first', async () => {
    const { db } = house.daemon.store;
    const [id = 0] = await heldIds(house.daemon);
    const view = await deliveryView(db, `id:${id}`, Date.now());
    const [latest] = view.card.decisions;
    if (!latest) throw new Error('it was not decided');
    const line = (barcode: string, more: object) => ({
      ...{ barcode, style: 'S-1', styleName: 'Odin Jacket', color: 'Navy', size: 'M' },
      ...{ packed: 2, ordered: 5, price: 100, stock: 40, unlisted: null, ...more },
    });
    const grid = [
      line('a', { styleName: 'Lund Shirt', color: 'White' }),
      line('b', { size: 'L', packed: 3, stock: 1 }),
      line('c', { size: 'S', ordered: null }),
      line('d', { size: 'XL', stock: null, unlisted: 'ahead' }),
    ];
    const items = [{ barcode: 'b', missing: 2 }];
    const operand = { text: 'delivery.lines', which: 'match', of: 3, count: 1, unknown: 0, items };
    const clause = { text: 'short', line: 1, negated: false, value: true, operands: [operand] };
    const [rule] = latest.evaluation.rules;
    const evaluation = { ...latest.evaluation, rules: [{ ...rule, clauses: [clause] }] };
    const card = { ...view.card, decisions: [{ ...latest, evaluation }] };
    const account = {
      ...{ blocked: true, balance: 1_200.5, limit: 5_000, currency: 'DKK' },
      ...{ overdueDays: 12, refunds: 1 },
    };
    const context = {
      ...{ role: 'operator', timeZone: 'UTC', now: 0, reasons: ['customer called'], back: '/' },
      names: ['ben'],
    };
    const shown = renderHtml(
      deliveryCardPart({ ...view, grid, card, account } as never, context as never),
    );
    const text = shown.replaceAll(/<[^>]*>/g, ' ').replaceAll(/\s+/g, ' ');
    const [first = '', second = ''] = [...text.matchAll(/S-1 (?:Odin|Lund).*?\d\.\d\d/g)].map(
      String,
    );
    expect(first).toBe(
      'S-1 Odin Jacket decided it Navy S: 2 / 40 / ? L: 3 / 1 / 5 2 of 3 missing ' +
        'XL: 2 / ? / 5 stock not known: ordered ahead 700.00',
    );
    expect(text).toContain('On hand ?, stock not known: ordered ahead: Ordered ahead: the season');
    expect(second).toBe('S-1 Lund Shirt White M: 2 / 40 / 5 200.00');
    expect(text).toContain(
      'blocked by the ERP, owes 1,200.50 DKK, credit 5,000.00 DKK, 12 days overdue, 1 refund in 90',
    );
    // It fills in a field, and is no act; the act whose name says little says what it does.
    expect(text).toContain('to fill in: customer called');
    expect(shown).toContain('class="chip" data-reason="reason">customer called</button>');
    expect(text).toContain('Give to the rules: they decide it again.');
  });

  it('offers no way back once the delivery has shipped, unless a person knows better', async () => {
    const { db } = house.daemon.store;
    const [id = 0] = await heldIds(house.daemon);
    const view = await deliveryView(db, `id:${id}`, Date.now());
    const context = {
      role: 'operator',
      timeZone: 'UTC',
      now: 0,
      reasons: [],
      names: [],
      back: '/',
    };
    const shownAs = (status: string, tracking: readonly string[]) => {
      const card = { ...view.card, status };
      const shown = { ...view, card, tracking, openPush: false };
      return renderHtml(deliveryCardPart(shown as never, context as never));
    };
    expect(shownAs('accepted', [])).toMatch(/<form class="actions".*Take back/s);
    const shipped = shownAs('accepted', ['TT-1']);
    expect(shipped).toMatch(/It has shipped, tracking number TT-1.*<details>.*Take back/s);
    expect(shipped.indexOf('<form class="actions"')).toBeGreaterThan(
      shipped.indexOf('not left yet'),
    );
  });

  it('offers the reasons of the settings, then those that the person gave last', async () => {
    const [id] = await heldIds(house.daemon);
    const { text } = await anna.get(`/review/card/${id}`);
    const offered = [...text.matchAll(/data-reason="reason">([^<]*)</g)].map(([, one]) => one);
    expect(offered[0]).toBe('goods are on their way');
    expect(offered.length).toBeGreaterThan(1);
    expect(text).toContain('<summary>for the terminal</summary>');
  });
});
