import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { DECISIONS, pausesIn } from '../../support/pauses.ts';
import {
  acceptByHand,
  createDeciderFixture,
  type DeciderFixture,
  loadedRules,
} from '../support.ts';

const RULES = loadedRules(
  `
rules:
  - id: accept-all
    title: Everything
    action: accept
    mode: live
    when: [ delivery.quantity > 0 ]
  - id: hold-blocked
    title: The customer is blocked
    action: hold
    mode: live
    applies_to: [pending, accepted]
    when: [ has(customer.blocked) && customer.blocked ]
`,
  'version: 1\nsafeguards: { revocation: { cooldown: 1h, max_per_day: 2 } }\n',
);
const set = { rules: () => RULES };
const ACCEPTING = loadedRules(`
rules:
  - { id: accept-all, title: All, action: accept, mode: live, when: [delivery.quantity > 0] }
`);
const HOUR = 3_600_000;
const C1 = { shippingAddress: { accountNo: 'C-1' } };

/** The service took the open push, and the mirror shows it. */
async function confirm(fixture: DeciderFixture, status: string): Promise<void> {
  const { db } = fixture.store;
  await db.updateTable('outbox').set({ attempts: 1 }).where('ended_at', 'is', null).execute();
  await fixture.clock.advance(1_000);
  await fixture.delivery({ id: 1, status });
  await fixture.endPush('confirmed', { answered: true });
  await fixture.clock.advance(1_000);
}

async function accepted(): Promise<DeciderFixture> {
  const fixture = await createDeciderFixture();
  await fixture.customer();
  await fixture.order(1, C1);
  await fixture.delivery({ id: 1 });
  expect(await fixture.decide(set)).toEqual(['1 accept']);
  await confirm(fixture, 'accepted');
  expect(await fixture.decide(set)).toEqual([]);
  return fixture;
}

async function wanted(fixture: DeciderFixture): Promise<string[]> {
  const rows = await fixture.store.db.selectFrom('outbox').select('body').execute();
  return rows.map(({ body }) => JSON.parse(body).status);
}

async function incidents(fixture: DeciderFixture): Promise<string[]> {
  const open = fixture.store.db.selectFrom('incident').where('resolved_at', 'is', null);
  const rows = await open.select('kind').execute();
  return rows.map(({ kind }) => kind);
}

describe('what the rules accepted', () => {
  it('is taken back when a rule for such holds it, and accepted again later', async () => {
    const fixture = await accepted();
    await fixture.customer({ blocked: true });
    expect(await fixture.decide(set)).toEqual(['1 hold']);
    expect(await wanted(fixture)).toEqual(['accepted', 'pending']);
    await confirm(fixture, 'pending');
    await fixture.decide(set);
    await fixture.customer({ blocked: false });
    const rules = RULES.ruleSet;
    const [tried] = await fixture.tried({ rules });
    expect(await fixture.decide(set)).toEqual(['1 hold']);
    const [latest] = await fixture.store.db
      .selectFrom('decision')
      .select('reason')
      .orderBy('decision_id', 'desc')
      .limit(1)
      .execute();
    expect(latest?.reason).toContain('not accepted again until');
    expect(tried).toMatchObject({ after: 'hold', ...latest });
    await fixture.clock.advance(HOUR);
    expect(await fixture.decide(set)).toEqual(['1 accept']);
  });

  it('is asked about again when its order or its lines change', async () => {
    const rules = loadedRules(`
rules:
  - { id: accept-all, title: All, action: accept, mode: live, when: [ delivery.quantity > 0 ] }
  - id: hold-stopped
    title: The buyer says stop, or more was packed
    action: hold
    mode: live
    applies_to: [pending, accepted]
    when: [ order.comment == "stop" || delivery.quantity > 20 ]
`);
    const stopping = { rules: () => rules };
    for (const changed of ['order', 'lines']) {
      const fixture = await createDeciderFixture();
      await fixture.order(1, { comment: '' });
      await fixture.delivery({ id: 1 });
      expect(await fixture.decide(stopping)).toEqual(['1 accept']);
      await confirm(fixture, 'accepted');
      expect(await fixture.decide(stopping)).toEqual([]);
      if (changed === 'order') await fixture.order(1, { comment: 'stop' });
      else await fixture.delivery({ id: 1, status: 'accepted', lines: [['a', 30]] });
      expect(await fixture.decide(stopping), changed).toEqual(['1 hold']);
    }
  });

  it('is asked about by a rule that came later once something changes', async () => {
    const fixture = await createDeciderFixture();
    const first = { rules: () => ACCEPTING };
    await fixture.customer({ blocked: true });
    await fixture.order(1, C1);
    await fixture.delivery({ id: 1 });
    expect(await fixture.decide(first)).toEqual(['1 accept']);
    await confirm(fixture, 'accepted');
    await fixture.decide(first);
    expect(await fixture.decide(set)).toEqual([]);
    await fixture.customer({ blocked: false });
    expect(await fixture.decide(set)).toEqual([]);
    await fixture.customer({ blocked: true });
    expect(await fixture.decide(set)).toEqual(['1 hold']);
  });

  it('is taken back by what happens as a rule that only watches is edited', async () => {
    const fixture = await accepted();
    const late = 'id: watch-late, title: Late, action: hold, when: [delivery.quantity > 50]';
    const edited = loadedRules(`${RULES.files[0]?.text}  - { ${late} }\n`);
    await fixture.customer({ blocked: true });
    expect(await fixture.decide({ rules: () => edited })).toEqual(['1 hold']);
  });

  it.each(['hold', 'reject'])('stays so whatever a %s says that only watches', async (action) => {
    const fixture = await createDeciderFixture();
    await fixture.customer({ blocked: true });
    await fixture.order(1, C1);
    await fixture.delivery({ id: 1 });
    expect(await fixture.decide({ rules: () => ACCEPTING })).toEqual(['1 accept']);
    await confirm(fixture, 'accepted');
    const late = `{ id: watch-late, title: Late, action: ${action}, mode: shadow,
      when: [customer.credit.overdue_days > 5], applies_to: [pending, accepted]`;
    const tests = [10, 0, 1].map((days) => {
      const given = `{ customer: { credit: { overdue_days: ${days} } } }`;
      return `{ name: d${days}, given: ${given}, expect: ${days === 10 ? 'reject' : 'none'} }`;
    });
    const more = action === 'reject' ? `, reject: { grace: 24h }, tests: [${tests}]` : '';
    const watching = loadedRules(`${RULES.files[0]?.text}  - ${late}${more} }\n`);
    const decide = () => fixture.decide({ rules: () => watching });
    // The hold of a new rule is noted, and takes back nothing.
    expect(await decide()).toEqual([]);
    for (const overdueDays of [10, 0]) {
      await fixture.customer({ blocked: true, overdueDays });
      expect(await decide()).toEqual([]);
    }
    expect(await wanted(fixture)).toEqual(['accepted']);
    await fixture.customer({ blocked: false });
    expect(await decide()).toEqual([]);
    await fixture.customer({ blocked: true });
    expect(await decide()).toEqual(['1 hold']);
  });

  it('waits no longer where it was taken back while the clock was ahead', async () => {
    const fixture = await accepted();
    fixture.clock.step(24 * HOUR);
    await fixture.customer({ blocked: true });
    expect(await fixture.decide(set)).toEqual(['1 hold']);
    await confirm(fixture, 'pending');
    await fixture.decide(set);
    fixture.clock.step(-24 * HOUR);
    await fixture.customer({ blocked: false });
    expect(await fixture.decide(set)).toEqual(['1 accept']);
  });

  it('is taken back as often as ever once a clock that was ahead has been set back', async () => {
    const fixture = await accepted();
    for (const step of [24 * HOUR, HOUR, -25 * HOUR]) {
      fixture.clock.step(step);
      await fixture.customer({ blocked: true, overdueDays: step });
      expect(await fixture.decide(set)).toEqual(['1 hold']);
      await confirm(fixture, 'pending');
      await fixture.decide(set);
      await fixture.customer({ blocked: false });
      await fixture.clock.advance(HOUR);
      expect(await fixture.decide(set)).toEqual(['1 accept']);
      await confirm(fixture, 'accepted');
      await fixture.decide(set);
    }
    expect(await incidents(fixture)).toEqual([]);
  });

  it('is not taken back by the hold whose time was up and that then said accept', async () => {
    const fixture = await createDeciderFixture();
    const text = `
rules:
  - id: hold-large
    title: Large
    action: hold
    mode: live
    applies_to: [pending, accepted]
    when: [ delivery.quantity > 1, delivery.age >= minutes(0) ]
    hold: { at_most: 3h, then: accept }
`;
    const rules = loadedRules(text);
    const large = { rules: () => rules };
    await fixture.delivery({ id: 1 });
    expect(await fixture.decide(large)).toEqual(['1 hold']);
    await fixture.clock.advance(3 * HOUR);
    expect(await fixture.decide(large)).toEqual(['1 accept']);
    await confirm(fixture, 'accepted');
    await fixture.clock.advance(HOUR);
    expect(await fixture.decide(large)).toEqual([]);
    expect(await wanted(fixture)).toEqual(['accepted']);
  });

  it('is taken back twice a day and then left to a person', async () => {
    const fixture = await accepted();
    for (const round of [1, 2, 3]) {
      await fixture.customer({ blocked: true, overdueDays: round });
      const decided = await fixture.decide(set);
      expect(decided).toEqual(round < 3 ? ['1 hold'] : []);
      if (round === 3) break;
      await confirm(fixture, 'pending');
      await fixture.customer({ blocked: false, overdueDays: round });
      await fixture.clock.advance(HOUR);
      await fixture.decide(set);
      await confirm(fixture, 'accepted');
      await fixture.decide(set);
    }
    expect(await wanted(fixture)).toEqual([
      'accepted',
      'pending',
      'accepted',
      'pending',
      'accepted',
    ]);
    expect(await incidents(fixture)).toContain('revoked_too_often');
    await fixture.customer({ blocked: false });
    expect(await fixture.decide(set)).toEqual([]);
    expect(await incidents(fixture)).toEqual([]);
  });

  it('is told to need a person no longer than it does', async () => {
    const fixture = await accepted();
    const { db } = fixture.store;
    await sql`drop trigger decision_is_final`.execute(db);
    const intact = await db.selectFrom('decision').select('evaluation').executeTakeFirstOrThrow();
    await db
      .updateTable('decision')
      .set({ evaluation: Buffer.from('{"li') })
      .execute();
    await fixture.customer({ blocked: true });
    await fixture.delivery({ id: 2 });
    expect(await fixture.decide(set)).toEqual(['2 hold']);
    expect(await incidents(fixture)).toEqual(['evaluation_error']);
    await db.updateTable('decision').set(intact).where('order_delivery_id', '=', 1).execute();
    await fixture.clock.advance(HOUR);
    expect(await fixture.decide(set)).toEqual(['1 hold']);
    expect(await incidents(fixture)).toEqual([]);
  });

  it.each(['paused', 'observe'])('is taken back after all when the mode was %s', async (mode) => {
    const fixture = await accepted();
    await fixture.customer({ blocked: true });
    expect(await fixture.decide(set)).toEqual(['1 hold']);
    const who = { actor: 'anna', reason: 'a look at the rules' };
    const pauses = await pausesIn(fixture);
    await fixture.clock.advance(1_000);
    if (mode === 'paused') await pauses.pause(DECISIONS, who);
    const still = mode === 'paused' ? { pauses } : { mode: 'observe' as const };
    expect(await fixture.decide({ ...set, ...still })).toEqual([]);
    if (mode === 'paused') await pauses.resume(DECISIONS, who);
    await fixture.clock.advance(HOUR / 4);
    expect(await fixture.decide({ ...set, pauses })).toEqual(['1 hold']);
    const pushes = fixture.store.db.selectFrom('outbox').select('state').orderBy('outbox_id');
    const rows = await pushes.execute();
    expect(rows.map(({ state }) => state)).toEqual(['confirmed', 'canceled', 'queued']);
  });

  it('is not canceled by a pause while that is on its way: pending harms nobody', async () => {
    const fixture = await accepted();
    await fixture.customer({ blocked: true });
    expect(await fixture.decide(set)).toEqual(['1 hold']);
    const { db } = fixture.store;
    await db
      .updateTable('outbox')
      .set({ state: 'in_doubt' })
      .where('ended_at', 'is', null)
      .execute();
    const pauses = await pausesIn(fixture);
    await pauses.pause(DECISIONS, { actor: 'anna', reason: 'a look at the rules' });
    const open = db.selectFrom('outbox').select('body').where('ended_at', 'is', null);
    expect(JSON.parse((await open.executeTakeFirstOrThrow()).body)).not.toHaveProperty(
      'cancelRequested',
    );
  });

  it('is taken back soon after the decisions go on', async () => {
    const fixture = await accepted();
    await fixture.customer({ blocked: true });
    expect(await fixture.decide({ ...set, mode: 'observe' })).toEqual([]);
    await fixture.clock.advance(HOUR / 4);
    expect(await fixture.decide(set)).toEqual(['1 hold']);
  });

  it('stays accepted when a person has canceled that it is taken back', async () => {
    const fixture = await accepted();
    await fixture.customer({ blocked: true });
    expect(await fixture.decide(set)).toEqual(['1 hold']);
    const canceled = { state: 'canceled', ended_at: fixture.clock.now() } as const;
    await fixture.store.db
      .updateTable('outbox')
      .set(canceled)
      .where('state', '=', 'queued')
      .execute();
    await fixture.clock.advance(24 * HOUR);
    expect(await fixture.decide(set)).toEqual([]);
  });

  it('stays accepted where a rule cannot be evaluated, and after a fortnight', async () => {
    const owing = loadedRules(`
rules:
  - { id: accept-all, title: All, action: accept, mode: live, when: [delivery.quantity > 0] }
  - id: hold-owing
    title: Owes
    action: hold
    mode: live
    applies_to: [accepted]
    when: [ customer.credit.overdue_days > 14 ]
`);
    const fixture = await accepted();
    await fixture.customer({ overdueDays: null });
    expect(await fixture.decide({ rules: () => owing })).toEqual([]);
    await fixture.clock.advance(14 * 24 * HOUR);
    await fixture.customer({ overdueDays: 20, blocked: true });
    expect(await fixture.decide({ rules: () => owing })).toEqual([]);
    expect(await fixture.decide(set)).toEqual([]);
    expect(await wanted(fixture)).toEqual(['accepted']);
  });

  it('stays accepted once it has shipped', async () => {
    const fixture = await accepted();
    const more = { trackAndTrace: { trackingNumbers: ['T-1'], trackingLinks: [] } };
    await fixture.delivery({ id: 1, status: 'accepted', more });
    await fixture.customer({ blocked: true });
    expect(await fixture.decide(set)).toEqual([]);
    expect(await wanted(fixture)).toEqual(['accepted']);
  });
});

describe('what somebody else accepted', () => {
  it('is not taken back either when its lines have changed since', async () => {
    const fixture = await createDeciderFixture();
    await fixture.customer({ blocked: true });
    await fixture.order(1, C1);
    await fixture.delivery({ id: 1 });
    expect(await fixture.decide(set)).toEqual(['1 hold']);
    await acceptByHand(fixture, 1);
    await confirm(fixture, 'accepted');
    await fixture.delivery({ id: 1, status: 'accepted', lines: [['a', 3]] });
    await fixture.customer({ blocked: true, overdueDays: 5 });
    expect(await fixture.decide(set)).toEqual([]);
    expect(await wanted(fixture)).toEqual(['accepted']);
  });

  it('is never taken back', async () => {
    const fixture = await createDeciderFixture();
    await fixture.customer({ blocked: true });
    await fixture.order(1, C1);
    await fixture.delivery({ id: 1 });
    expect(await fixture.decide(set)).toEqual(['1 hold']);
    await fixture.clock.advance(1_000);
    await fixture.delivery({ id: 1, status: 'accepted' });
    expect(await fixture.decide(set)).toEqual([]);
    await fixture.customer({ blocked: true, overdueDays: 5 });
    expect(await fixture.decide(set)).toEqual([]);
    expect(await wanted(fixture)).toEqual([]);
  });
});
