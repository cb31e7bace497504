import { describe, expect, it } from 'vitest';
import { verifyDecisions } from '../../../src/decisions/simulation/replay.ts';
import { type Court, createCourt, DAY, HOUR, settingsWith, UNLUCKY } from './support.ts';

/** What a stopped reject looks like: nothing is pushed, and the hold has the rail's name. */
async function expectStopped(court: Court, rail: string, text: RegExp): Promise<void> {
  const latest = await court.latest();
  expect(latest).toMatchObject({ actor: 'daemon', outcome: 'hold', rules: '["reject-unlucky"]' });
  expect(latest.reason).toMatch(new RegExp(`^rail ${rail}: `));
  expect(latest.reason).toMatch(text);
  expect(await court.meant()).toEqual([]);
  const proof = await verifyDecisions(court.store.db, 100);
  expect(proof).toMatchObject({ chain: { brokenAt: undefined }, different: [] });
}

describe('a reject whose grace is over', () => {
  it('is meant for exactly what was read, and counted', async () => {
    const court = await createCourt();
    await court.waiting();
    expect(await court.decide()).toEqual([]);
    await court.execute();
    expect(await court.meant()).toEqual([]);
    await court.afterGrace();
    expect(await court.meant()).toEqual(['1 rejected']);
    const { content_hash: contentHash } = await court.store.db
      .selectFrom('delivery')
      .select('content_hash')
      .executeTakeFirstOrThrow();
    const push = await court.store.db.selectFrom('outbox').selectAll().executeTakeFirstOrThrow();
    const sendBefore = court.clock.now() + 15 * 60_000;
    expect(JSON.parse(push.body)).toMatchObject({ contentHash, sendBefore });
    expect(push.expected_from).toBe('pending');
    expect(await court.latest()).toMatchObject({ outcome: 'reject', trigger: 'grace' });
    expect(await court.entry()).toMatchObject({
      ...{ state: 'pushing', intent_at: court.clock.now(), account_no: 'C-1' },
      ...{ amount: 1_300_0000, currency: 'DKK' },
    });
    await court.endPush('confirmed', { answered: true });
    await court.execute();
    expect(await court.entry()).toMatchObject({ state: 'rejected', ended_by: 'daemon' });
    expect((await verifyDecisions(court.store.db, 100)).different).toEqual([]);
  });

  it('is left alone by a decider that had found it due before', async () => {
    const court = await createCourt();
    await court.unlucky(2);
    await court.decide();
    await court.arm();
    await court.decide();
    await court.clock.advance(DAY);
    await court.fresh();
    await court.unlucky(1, {}, 12);
    let executed: Promise<void> | undefined;
    const onDecided = (): void => {
      executed ??= court.execute();
    };
    await court.decide({ onDecided });
    await executed;
    expect(await court.meant()).toEqual(['2 rejected']);
    expect(await court.entry(2)).toMatchObject({ state: 'pushing' });
    const incidents = await court.store.db.selectFrom('incident').select('kind').execute();
    expect(incidents).toEqual([]);
  });
});

describe('the rail', () => {
  it.each(['observe', 'shadow', 'paused'] as const)('mode: waits while it is %s', async (mode) => {
    const court = await createCourt();
    await court.waiting();
    await court.afterGrace({ mode: () => mode });
    await expectStopped(court, 'mode', new RegExp(mode));
    await court.clock.advance(HOUR);
    await court.fresh();
    await court.execute();
    expect(await court.meant()).toEqual(['1 rejected']);
  });

  it('no grace ends while no daemon runs, or by a clock that was set ahead meanwhile', async () => {
    const court = await createCourt();
    await court.waiting();
    await court.begin()();
    court.clock.step(DAY);
    const end = court.begin();
    await court.clock.advance(HOUR);
    const { due_at: due, ...entry } = await court.entry();
    expect(entry).toMatchObject({ state: 'waiting', rail: null });
    expect(due - court.clock.now()).toBe(23 * HOUR);
    await end();
  });

  it('re-read: what changed while it waited is decided again', async () => {
    const court = await createCourt();
    await court.waiting();
    await court.afterGrace({ readDelivery: () => court.unlucky(1, {}, 14).then(() => ({})) });
    await expectStopped(court, 're-read', /has changed/);
    expect(await court.entry()).toMatchObject({ state: 'withdrawn' });
    expect(await court.decide()).toEqual(['1 reject']);
    expect(await court.entry()).toMatchObject({ due_at: court.clock.now() + DAY });
  });

  it('re-read: a service that cannot be asked puts it off', async () => {
    const court = await createCourt();
    await court.waiting();
    const silent = () => Promise.reject(new Error('no answer'));
    await court.afterGrace({ readDelivery: silent });
    await expectStopped(court, 're-read', /cannot be asked: no answer/);
    expect(await court.entry()).toMatchObject({ due_at: court.clock.now() + 300_000 });
    expect(await court.decide()).toEqual([]);
    await court.clock.advance(HOUR);
    await court.fresh();
    await court.execute();
    expect(await court.meant()).toEqual(['1 rejected']);
  });

  it('re-read: what the service does not know any more is decided again', async () => {
    const court = await createCourt();
    await court.waiting();
    await court.afterGrace({ readDelivery: () => Promise.reject(new Error('no answer')) });
    await court.clock.advance(10 * 60_000);
    await court.fresh();
    await court.execute({ readDelivery: async () => undefined });
    await expectStopped(court, 're-read', /does not know it any more/);
    expect(await court.decide()).toEqual(['1 reject']);
    expect(await court.entry()).toMatchObject({ due_at: court.clock.now() + DAY });
  });

  it('person: who holds a delivery stops its reject', async () => {
    const court = await createCourt();
    await court.waiting();
    const asked = { action: 'hold', delivery: 'DN-1', actor: 'bo', reason: 'ask' } as const;
    const request = { ...asked, ifRejectWaits: true };
    await court.review.act(request);
    await court.afterGrace();
    expect(await court.meant()).toEqual([]);
    expect(await court.latest()).toMatchObject({ actor: 'person:bo', outcome: 'hold' });
    expect(await court.entry()).toMatchObject({ state: 'stopped', ended_by: 'bo', detail: 'ask' });
  });

  it('person: who is faster by a moment is heard, even while the service is asked', async () => {
    const court = await createCourt();
    await court.waiting();
    const request = { action: 'accept', delivery: 'DN-1', actor: 'bo', reason: 'sold' } as const;
    await court.afterGrace({ readDelivery: () => court.review.act(request) });
    expect(await court.meant()).toEqual(['1 accepted']);
    expect(await court.entry()).toMatchObject({ state: 'stopped', ended_by: 'bo' });
    // Another one behind it would keep the accept from leaving.
    expect(await court.latest()).toMatchObject({ actor: 'person:bo', outcome: 'accept' });
  });

  it('arming: an arming that runs out at the last moment rejects nothing', async () => {
    const court = await createCourt();
    await court.waiting(DAY + HOUR);
    await court.afterGrace({ readDelivery: () => court.clock.advance(HOUR).then(Object) });
    await expectStopped(court, 'arming', /not armed any more/);
    await court.decide();
    expect(await court.latest()).toMatchObject({ outcome: 'nothing' });
  });

  it('arming: editing a list that the rule reads disarms it', async () => {
    const court = await createCourt();
    await court.waiting();
    const settings = settingsWith({}).replace('"SE"', '"SE","NO"');
    court.useRules(UNLUCKY, settings);
    await court.afterGrace();
    await expectStopped(court, 'arming', /has changed/);
    expect(await court.decide()).toEqual(['1 nothing']);
    const rule = court.rules().ruleSet.rules[0];
    expect((await court.overview()).armed[0]?.ruleHash).not.toBe(rule?.hash);
  });

  it('re-evaluation: what the rules want otherwise by then is decided again', async () => {
    const court = await createCourt();
    await court.waiting();
    await court.afterGrace({
      readDelivery: () => court.order(1, { comment: 'keep' }).then(Object),
    });
    await expectStopped(court, 're-evaluation', /accept by accept-kept/);
    expect(await court.decide()).toEqual(['1 accept']);
  });

  it('re-evaluation: another rule that rejects it by then has a grace of its own', async () => {
    const other = `    reject: { grace: 48h }
    tests:
      - { name: kept, given: { order: { comment: keep } }, expect: reject }
      - { name: not kept, given: { order: { comment: "" } }, expect: none }
`;
    const text = UNLUCKY.replace('accept-kept', 'reject-kept').replace('accept', 'reject') + other;
    const court = await createCourt(text, settingsWith({ matches_seen: 0 }));
    await court.waiting();
    await court.arm(90 * DAY, 'reject-kept');
    await court.afterGrace({
      readDelivery: () => court.order(1, { comment: 'keep' }).then(Object),
    });
    await expectStopped(court, 're-evaluation', /reject by reject-kept/);
    expect(await court.decide()).toEqual(['1 reject']);
    const due = court.clock.now() + 2 * DAY;
    expect(await court.entry()).toMatchObject({ rule_id: 'reject-kept', due_at: due });
  });

  it('freshness: a mirror that lags, stock or credit that is old put it off', async () => {
    const court = await createCourt(
      UNLUCKY.replace(
        '      - order.country in',
        '      - delivery.lines.exists(line, line.stock_free == 0)\n' +
          '      - customer.credit.overdue_days > 3\n      - order.country in',
      ).replaceAll('thirteen to Denmark', 'x'),
    );
    await court.stock({ a: 0 });
    await court.customer({ overdueDays: 5 });
    await court.unlucky(1);
    await court.decide();
    const { store, clock } = court;
    const [rule] = court.rules().ruleSet.rules;
    const arming = { rule_id: rule?.id ?? '', rule_hash: rule?.hash ?? '', reason: '', actor: 'x' };
    const open = { ended_at: null, ended_by: null, end_reason: null };
    await store.db
      .insertInto('arming')
      .values({ ...arming, ...open, at: 0, report_id: 1, expires_at: clock.now() + 9 * DAY })
      .execute();
    await clock.advance(HOUR);
    expect(await court.decide()).toEqual(['1 reject']);
    await clock.advance(DAY);
    await court.execute();
    await expectStopped(court, 'freshness', /the mirror is 1d 1h old, allowed are 15m/);
    await court.fresh();
    await clock.advance(10 * 60_000);
    await court.execute();
    expect((await court.entry()).detail).toMatch(/the stock is .* old, allowed are 60m/);
    await court.stock({ a: 0 });
    await clock.advance(2 * HOUR);
    await court.fresh();
    await court.stock({ a: 0 });
    await court.execute();
    expect((await court.entry()).detail).toMatch(
      /row of the customer \(as_of\) is 1d 3h old, allowed are 26h/,
    );
    await court.customer({ overdueDays: 6 });
    await clock.advance(10 * 60_000);
    await court.execute();
    expect(await court.meant()).toEqual(['1 rejected']);
  });

  it('freshness: an order that an event told of and that is not read yet puts it off', async () => {
    const court = await createCourt();
    await court.waiting();
    const asked = { requested_at: court.clock.now(), due_at: court.clock.now(), cause: 'event:1' };
    await court.store.db
      .insertInto('refresh')
      .values({ order_id: 77, ...asked })
      .execute();
    await court.afterGrace();
    await expectStopped(court, 'freshness', /an order to be read is 1d old, allowed are 15m/);
    await court.store.db.deleteFrom('refresh').execute();
    await court.clock.advance(10 * 60_000);
    await court.execute();
    expect(await court.meant()).toEqual(['1 rejected']);
  });

  it('freshness: what was heard while the clock went ahead says nothing', async () => {
    const court = await createCourt();
    await court.waiting();
    court.clock.step(30 * DAY);
    await court.fresh();
    court.clock.step(-30 * DAY);
    await court.clock.advance(DAY);
    await court.execute();
    await expectStopped(court, 'freshness', /the mirror: its age is not known/);
    await court.fresh();
    await court.clock.advance(10 * 60_000);
    await court.execute();
    expect(await court.meant()).toEqual(['1 rejected']);
  });

  it.each([24, -24])(
    'has its whole grace though the clock is moved by %i h meanwhile',
    async (h) => {
      const court = await createCourt();
      await court.waiting();
      const end = court.begin();
      const { due_at: before } = await court.entry();
      await court.clock.advance(10 * HOUR);
      court.clock.step(h * HOUR);
      await court.clock.advance(13 * HOUR);
      expect(await court.entry()).toMatchObject({ state: 'waiting', due_at: before + h * HOUR });
      await court.fresh();
      await court.clock.advance(2 * HOUR);
      await court.fresh();
      await court.clock.advance(HOUR);
      expect(await court.meant()).toEqual(['1 rejected']);
      await end();
    },
  );

  it.each([1, -1])('has its whole grace though the clock is moved by -2 and by %i h', async (h) => {
    const court = await createCourt();
    await court.waiting();
    const end = court.begin();
    const { due_at: before } = await court.entry();
    await court.clock.advance(HOUR);
    for (const step of [-2, h]) {
      court.clock.step(step * HOUR);
      await court.clock.advance(60_000);
    }
    expect(await court.entry()).toMatchObject({
      state: 'waiting',
      due_at: before + (h - 2) * HOUR,
    });
    await end();
  });

  it('has its whole grace also where it was queued since the clock was set back', async () => {
    const court = await createCourt();
    const end = court.begin();
    await court.clock.advance(HOUR);
    court.clock.step(-20 * HOUR);
    await court.clock.advance(5_000);
    await court.waiting();
    const { due_at: due } = await court.entry();
    await court.clock.advance(HOUR);
    expect(await court.entry()).toMatchObject({ state: 'waiting', due_at: due });
    await end();
  });

  it('has no more than its grace where the daemon began by a wrong clock', async () => {
    const court = await createCourt();
    await court.waiting();
    court.clock.step(-20_000 * 24 * HOUR);
    const end = court.begin();
    await court.clock.advance(HOUR);
    court.clock.step(20_000 * 24 * HOUR);
    await court.clock.advance(HOUR);
    const { due_at: due } = await court.entry();
    expect(due - court.clock.now()).toBeLessThanOrEqual(24 * HOUR);
    await end();
  });

  it('hours: at night it waits for the next opening', async () => {
    const court = await createCourt();
    await court.clock.advance(10 * HOUR);
    await court.waiting();
    await court.afterGrace();
    await expectStopped(court, 'hours', /nobody is at work/);
    expect(new Date((await court.entry()).due_at).toISOString()).toBe('2026-01-07T08:00:00.000Z');
    await court.clock.advance(13 * HOUR);
    expect(await court.decide()).toEqual([]);
    await court.clock.advance(HOUR);
    await court.fresh();
    await court.execute();
    expect(await court.meant()).toEqual(['1 rejected']);
  });

  it('hours: at night it is rejected where the settings say so', async () => {
    const court = await createCourt(UNLUCKY, settingsWith({ business_hours_only: false }));
    await court.clock.advance(10 * HOUR);
    await court.waiting();
    await court.afterGrace();
    expect(await court.meant()).toEqual(['1 rejected']);
  });
});

it('a reject does not begin to wait while the rules only observe', async () => {
  const court = await createCourt();
  await court.unlucky(1);
  await court.decide();
  await court.arm();
  expect(await court.decide({ mode: 'observe' })).toEqual(['1 reject']);
  expect(await court.overview()).toMatchObject({ waiting: [] });
  await court.clock.advance(HOUR);
  expect(await court.decide()).toEqual(['1 reject']);
  expect(await court.entry()).toMatchObject({ due_at: court.clock.now() + DAY });
});

describe('two reject rules that match the same delivery', () => {
  const LATER = UNLUCKY.replace('reject-unlucky', 'reject-later').replace('24h', '48h');
  const [head = '', ...rest] = LATER.split('  - id: ');
  const [sooner = ''] = UNLUCKY.split('  - id: ').slice(1);

  it.each([
    ['before', [head, ...rest, sooner]],
    ['behind', [head, sooner, ...rest]],
  ])('make it wait for the longer grace, which stands %s the shorter one', async (_, parts) => {
    const court = await createCourt(parts.join('  - id: '));
    await court.unlucky(1);
    await court.decide();
    for (const { id, action } of court.rules().ruleSet.rules) {
      if (action === 'reject') await court.arm(90 * DAY, id);
    }
    expect(await court.decide()).toEqual(['1 reject']);
    const { rule_id: rule, queued_at: from, due_at: to } = await court.entry();
    expect([rule, to - from]).toEqual(['reject-later', 48 * HOUR]);
  });
});
