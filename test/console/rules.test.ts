/** Rules through HTTP: what is shown, what a trial says, who may act, what the audit keeps. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { until } from '../support/house.ts';
import { HOLD_RULE, REJECT_RULE, startRulesHouse, trialOf, writeSettings } from './rules-house.ts';
import {
  auditOf,
  type Caller,
  type ConsoleHouse,
  heldIds,
  program,
  sharedEnd,
  signIn,
} from './support.ts';

const { atEnd, end } = sharedEnd();
let house: ConsoleHouse;
let anna: Caller;
let olaf: Caller;
let vera: Caller;

beforeAll(async () => {
  house = await startRulesHouse(atEnd);
  anna = await signIn(house, 'anna', 'approver');
  olaf = await signIn(house, 'olaf', 'operator');
  vera = await signIn(house, 'vera', 'viewer');
});

afterAll(end);

const tried = z.looseObject({
  state: z.enum(['running', 'done', 'failed']),
  problems: z.array(
    z.looseObject({ file: z.string(), line: z.int(), hint: z.string().optional() }),
  ),
  trial: z
    .looseObject({
      queue: z.looseObject({ prospects: z.array(z.looseObject({ after: z.string() })) }),
      backtest: z.looseObject({
        deliveries: z.int(),
        changes: z.array(z.looseObject({ from: z.string(), to: z.string(), deliveries: z.int() })),
      }),
    })
    .nullable(),
});

/** Starts a trial as a program does, and waits for its end. */
async function tryRules(who: Caller, body: object) {
  const id = await trialOf(who, body);
  return { ...tried.parse((await who.get(`/rules/trial/${id}.json`)).json), id };
}

describe('the list of rules', () => {
  it('tells of each rule its action, owner, place, and how many deliveries it met', async () => {
    const { json } = await vera.get('/rules.json');
    const figures = { day: 3, week: 3, month: 3, accepted: 0, rejected: 0, nearMisses: 0 };
    expect(json).toMatchObject({
      mode: 'live',
      rules: [
        { id: 'hold-all', action: 'hold', mode: 'live', owner: 'sales', line: 2, figures },
        { id: 'reject-many', action: 'reject', armed: null, waiting: 0, figures },
      ],
    });
    const { text, status } = await vera.get('/rules');
    expect(status).toBe(200);
    expect(text.match(/<h1>/g)).toHaveLength(1);
    expect(text).toContain('live, not armed');
    expect(text).toContain('selvedge rules list');
    const csv = (await vera.get('/rules.csv')).text;
    const columns = [
      ...['rule', 'title', 'action', 'mode', 'owner', 'file', 'line', 'matches_24h'],
      ...['matches_7d', 'matches_30d', 'people_accepted', 'people_rejected', 'near_misses'],
      ...['armed_until', 'waiting', 'otherwise'],
    ];
    const [head, first] = csv.split('\r\n');
    expect(head?.split(',')).toEqual(columns);
    expect(first).toMatch(/,sales,[^,]+,2,3,3,3,0,0,0,,0,$/);
  });

  it('tells which rejects wait, without names to those who may not see them', async () => {
    const { db } = house.daemon.store;
    const { company, ...found } = await db
      .selectFrom('decision as n')
      .innerJoin('delivery as d', 'd.order_delivery_id', 'n.order_delivery_id')
      .innerJoin('sales_order as o', 'o.order_id', 'd.order_id')
      .select(['n.decision_id', 'd.order_delivery_id', 'o.order_id', 'o.company'])
      .executeTakeFirstOrThrow();
    const bi = await program(house, 'viewer');
    const at = Date.parse('2027-01-01T00:00:00Z');
    const { entry_id } = await db
      .insertInto('reject_entry')
      .values({
        ...{ ...found, rule_id: 'reject-many', rule_hash: 'a', delivery_hash: 'a' },
        ...{ queued_at: at, due_at: at + 86_400_000, state: 'waiting', safeguard: 'rate' },
        ...{ detail: `too much for ${company}`, account_no: null, amount: null, currency: null },
      })
      .returning('entry_id')
      .executeTakeFirstOrThrow();
    const { json, text } = await bi.get('/rules/queue.json?rule=reject-many');
    const other = await bi.get('/rules/queue.json?rule=reject-other');
    const page = await bi.get('/rules/queue');
    const ofRule = await bi.get('/rules/reject-many');
    const listed = await bi.get('/rules.json');
    await db.deleteFrom('reject_entry').where('entry_id', '=', entry_id).execute();
    expect(json).toMatchObject({
      ...{ breaker: null, armed: [], disarmed: [], today: 0 },
      waiting: [{ ruleId: 'reject-many', dueAt: '2027-01-02T00:00:00.000Z', safeguard: 'rate' }],
    });
    expect(text + page.text + ofRule.text).not.toContain(company);
    expect(other.json).toMatchObject({ waiting: [] });
    for (const one of [page, ofRule]) expect(one.text).toContain('too much for •••');
    expect(listed.json).toMatchObject({ rules: [{ waiting: 0 }, { waiting: 1 }] });
  });

  it('shows of one rule its text with line numbers, its tests and its matches', async () => {
    const { text } = await anna.get('/rules/reject-many');
    expect(text).toContain('<ol start="9">');
    expect(text).toContain('delivery.quantity &gt; 0');
    expect(text.match(/passes<\/b>/g)).toHaveLength(3);
    expect(text).toContain('Matches to look at');
    expect((await anna.get('/rules/reject-mony')).status).toBe(404);
    expect((await anna.get('/rules/reject-mony.json')).json).toMatchObject({
      code: 'rules.unknown',
      hint: 'did you mean reject-many?',
    });
  });

  it('hides from people who may not see addresses what a match tells of the customer', async () => {
    const store = house.daemon.store.db;
    const { company } = await store
      .selectFrom('sales_order')
      .select('company')
      .executeTakeFirstOrThrow();
    const bi = await program(house, 'viewer');
    const { json } = await bi.get('/rules/reject-many/matches.json?limit=2');
    expect(json).toMatchObject({
      ...{ seen: 0, needed: expect.any(Number) },
      matches: [{ explained: expect.stringContaining('delivery.quantity > 0') }, {}],
    });
    const { next, matches } = z
      .looseObject({ next: z.string(), matches: z.array(z.looseObject({ decisionId: z.int() })) })
      .parse(json);
    expect(next).toBe(String(matches.at(-1)?.decisionId));
    const rest = (await bi.get(`/rules/reject-many/matches.json?before=${next}`)).json;
    expect(rest).toMatchObject({ matches: [{}], next: null });
    const all = ['/rules/reject-many.json', '/rules/reject-many/matches', '/rules/reject-many'];
    for (const path of all) expect((await bi.get(path)).text).not.toContain(company);
  });
});

describe('rules on trial', () => {
  it('say what is pending now and what the past would have been, with the money', async () => {
    const changed = HOLD_RULE.replace('quantity > 0', 'quantity > 1000000');
    const body = { files: [{ path: 'mine.yaml', text: `rules:\n${changed}` }] };
    const { trial, id } = await tryRules(olaf, body);
    const held = await heldIds(house.daemon);
    expect(trial?.queue.prospects).toHaveLength(held.length);
    expect(trial?.queue.prospects.map(({ after }) => after)).toEqual(held.map(() => 'reject'));
    expect(trial?.backtest.changes).toMatchObject([
      { from: 'hold', to: 'reject', deliveries: 3, amounts: expect.anything() },
    ]);
    const page = await olaf.get(`/rules/trial/${id}`);
    expect(page.text.match(/<h1>/g)).toHaveLength(1);
    expect(page.text).toContain('3 deliveries are pending,\n3 of them would be decided otherwise');
    expect(page.text).toMatch(/would be →[\s\S]*<b>3<\/b>\s*<div>[\d,.]+ [A-Z]{3}/);
    expect(page.text).toContain(`/deliveries/${held[0]}`);
    const csv = (await olaf.get(`/rules/trial/${id}.csv`)).text.split('\r\n');
    expect(csv.filter((line) => line.startsWith('past,'))).toHaveLength(3);
    // Nothing of it is in force, and nobody else sees it.
    expect((await olaf.get('/rules.json')).text).not.toContain('1000000');
    expect((await anna.get(`/rules/trial/${id}`)).status).toBe(404);
    expect(await heldIds(house.daemon)).toEqual(held);
  });

  it('with mistakes name each with its line and a hint, and try nothing', async () => {
    const text =
      'rules:\n  - id: a\n    title: A\n    action: accept\n    mode: live\n    when:\n' +
      '      - order.contry == "DK"\n';
    const form = { text, what: 'rules', days: '30' };
    const started = await olaf.form('/rules/trial', form);
    expect(started.status).toBe(303);
    const page = await until('the mistakes', async () => {
      const found = await olaf.get(started.headers.get('location') ?? '');
      return found.text.includes('on trial. ') ? undefined : found;
    });
    expect(page.text).toContain('These rules cannot be used:\n1 mistake');
    expect(page.text).toContain('<code>pasted.yaml</code>, line 7');
    expect(page.text).toContain('did you mean: country?');
    expect(page.text).toContain('order.contry == &quot;DK&quot;\n</textarea>');
  });

  it('take files as a browser uploads them, in the place of those in force', async () => {
    const data = new FormData();
    data.set('text', '');
    data.set('what', 'all');
    data.set('days', '7');
    const whole = new File([`rules:\n${HOLD_RULE}`], 'rules.yaml');
    data.append('upload', whole);
    const { cookie } = await signIn(house, 'olaf', 'operator');
    const started = await fetch(`${house.url}/rules/trial`, {
      ...{ method: 'POST', body: data, redirect: 'manual' },
      headers: { cookie, origin: house.url },
    });
    expect(started.status).toBe(303);
    const address = `${house.url}${started.headers.get('location')}.json`;
    const result = await until('the trial', async () => {
      const found = tried.parse(await (await fetch(address, { headers: { cookie } })).json());
      return found.state === 'running' ? undefined : found;
    });
    expect(result.trial).toMatchObject({ diff: { added: [], removed: ['reject-many'] } });
  });

  it('are refused where the text is too long, empty, or not for this role', async () => {
    const files = [{ path: 'a.yaml', text: 'x'.repeat(262_145) }];
    expect(await olaf.json('/rules/trial', { files })).toMatchObject({ status: 400 });
    expect(await olaf.json('/rules/trial', { files: [] })).toMatchObject({ status: 400 });
    expect(await vera.json('/rules/trial', {})).toMatchObject({
      ...{ status: 403, json: { code: 'console.role', hint: 'ask an operator' } },
    });
    expect((await vera.get('/rules/trial')).status).toBe(403);
  });
});

describe('an approver', () => {
  it('reloads what the preview showed, and nothing else', async () => {
    writeSettings(house);
    expect((await olaf.get('/rules/reload')).status).toBe(403);
    const { text } = await anna.get('/rules/reload');
    expect(text).toContain('safeguards.reject.matches_seen');
    const held = 'reject-many (live, not armed): 3 waiting deliveries held until armed';
    expect(text).toContain(held);
    const [, rules = ''] = /name="rules" value="(\w+)"/.exec(text) ?? [];
    const fields = { rules, mode: 'live', reason: 'two are enough here' };
    expect(await olaf.json('/rules/reload', fields)).toMatchObject({ status: 403 });
    const other = await anna.json('/rules/reload', { ...fields, rules: 'f'.repeat(64) });
    expect(other).toMatchObject({ status: 409, json: { code: 'rules.changed_meanwhile' } });
    const reloaded = await anna.json('/rules/reload', fields);
    const notArmed = { rules: ['reject-many'], deliveries: 3 };
    expect(reloaded).toMatchObject({ status: 200, json: { notArmed } });
    expect(await auditOf(house, 'rules.reload')).toMatchObject([
      { actor: 'anna', reason: 'two are enough here', session: expect.any(String) },
    ]);
    const inForce = await until('the reload', async () => {
      const { json } = await vera.get('/rules.json');
      return z.looseObject({ set: z.string() }).parse(json).set === rules ? true : undefined;
    });
    expect(inForce).toBe(true);
  });

  it('sees the mistakes of the files in the place of a preview', async () => {
    const path = join(house.config.rules.directory, 'broken.yaml');
    writeFileSync(path, 'rules:\n  - id: b\n');
    const { text, status } = await anna.get('/rules/reload');
    expect(status).toBe(200);
    expect(text).toContain('They cannot be loaded');
    expect(text).toContain('broken.yaml:2');
    writeFileSync(path, 'rules: []\n');
  });

  it('arms a reject one match after the other, once nothing is missing', async () => {
    const early = await anna.form('/rules/reject-many/arm', { reason: 'agreed', days: '7' });
    expect(early.status).toBe(409);
    expect(early.text).toContain('0 of 2 matches looked at');
    const { id } = await tryRules(anna, {});
    expect(await vera.json(`/rules/trial/${id}/keep`, { reason: 'for arming' })).toMatchObject({
      ...{ status: 403, json: { code: 'console.role' } },
    });
    const kept = await anna.form(`/rules/trial/${id}/keep`, { reason: 'for arming' });
    expect(kept.status).toBe(303);
    const look = async () => {
      const { text } = await anna.get('/rules/reject-many/arm');
      const [, decisionId = ''] = /name="decisionId" value="(\d+)"/.exec(text) ?? [];
      return { text, decisionId };
    };
    const first = await look();
    const [, older = ''] = /href="([^"]+\?before=\d+)"/.exec(first.text) ?? [];
    expect((await anna.get(older)).text).not.toContain(`value="${first.decisionId}"`);
    const fields = { decisionId: first.decisionId, reason: 'far too many' };
    expect(await olaf.json('/rules/reject-many/seen', fields)).toMatchObject({ status: 403 });
    expect((await anna.form('/rules/reject-many/seen', fields)).status).toBe(303);
    const second = await look();
    expect(second.decisionId).not.toBe(first.decisionId);
    expect(second.text).toContain('1 of 2 matches');
    await anna.form('/rules/reject-many/seen', { ...fields, decisionId: second.decisionId });
    const ready = await look();
    expect(ready.text).toContain('Nothing is missing any more.');
    const arm = { reason: 'agreed with sales', days: '7' };
    expect(await olaf.json('/rules/reject-many/arm', arm)).toMatchObject({ status: 403 });
    expect((await anna.form('/rules/reject-many/arm', arm)).status).toBe(303);
    const { json } = await vera.get('/rules/reject-many.json');
    expect(json).toMatchObject({ row: { armed: { actor: 'anna', inForce: true } } });
    expect((await vera.get('/rules')).text).toMatch(/>armed, (?:7d|6d 23h) left</);
    const actors = { actor: 'anna', session: expect.any(String) };
    expect(await auditOf(house, 'rules.seen')).toMatchObject([
      { ...actors, subject: 'rule:reject-many', reason: 'far too many' },
      { ...actors, subject: 'rule:reject-many' },
    ]);
    expect(await auditOf(house, 'rules.report')).toMatchObject([
      { ...actors, reason: 'for arming' },
    ]);
    expect(await auditOf(house, 'rules.arm')).toMatchObject([
      { ...actors, reason: 'agreed with sales' },
    ]);
  });

  it('disarms it, and an operator may not', async () => {
    const reason = { reason: 'wrong after all' };
    expect(await olaf.json('/rules/reject-many/disarm', reason)).toMatchObject({ status: 403 });
    const { status, json } = await anna.json('/rules/reject-many/disarm', reason);
    expect([status, json]).toEqual([200, { withdrawn: 0, canceled: 0 }]);
    expect(await anna.json('/rules/reject-many/disarm', reason)).toMatchObject({ status: 409 });
    expect(await anna.json('/rules/hold-all/disarm', reason)).toMatchObject({ status: 404 });
    expect(await auditOf(house, 'rules.disarm')).toMatchObject([
      { actor: 'anna', reason: 'wrong after all' },
    ]);
  });

  it('compares a rule with an earlier text of it', async () => {
    const text = `rules:\n${HOLD_RULE}${REJECT_RULE.replace('quantity > 0', 'quantity > 9')}`;
    writeFileSync(join(house.config.rules.directory, 'rules.yaml'), text);
    await house.daemon.reload({ actor: 'test', reason: '' });
    const { text: page } = await anna.get('/rules/reject-many');
    const [, address = ''] = /href="([^"]+\?version=\w+)#versions"/.exec(page) ?? [];
    const { text: compared } = await anna.get(address);
    expect(compared).toContain('<del>when: <code>delivery.quantity &gt; 0</code></del>');
    expect(compared).toContain('<ins>when: <code>delivery.quantity &gt; 9</code></ins>');
  });
});

it('an operator pauses decisions on the page of rules, an approver resumes them', async () => {
  const fields = { target: 'decisions', name: '', back: '/rules' };
  const paused = await olaf.form('/pause', { ...fields, reason: 'stock is counted' });
  expect(paused.headers.get('location')).toBe('/rules');
  expect((await olaf.get('/rules')).text).toMatch(
    /Paused<\/b>: decisions are[^<]*stock is counted/,
  );
  expect((await anna.form('/resume', { ...fields, reason: 'done' })).status).toBe(303);
  expect((await anna.get('/rules')).text).toContain('Pause decisions');
});
