/** What only watches sends nothing and takes nothing back, and no refusal is forgotten for it. */
import { describe, expect, it } from 'vitest';
import { deliveryView } from '../../../src/console/read/delivery.ts';
import { createReview } from '../../../src/decisions/review/review.ts';
import { countWaiting } from '../../../src/ops/waiting.ts';
import { endAttempt, markSending, waitingFor } from '../../../src/outbox/queue.ts';
import { createOutboxReview } from '../../../src/outbox/review/operations.ts';
import { createDeciderFixture, type DeciderFixture, loadedRules } from '../support.ts';

const HOUR = 3_600_000;
const WHO = { actor: 'ada', reason: 'agreed by phone' };

/** Rules that read the stock beside one that accepts whatever it is. */
const RULES = `
rules:
  - id: accept-stocked
    title: Small, and in stock
    action: accept
    mode: live
    when: [ delivery.quantity <= 20, 'delivery.lines.all(line, has(line.stock_free))' ]
  - id: hold-sold-out
    title: Sold out
    action: hold
    mode: live
    when: [ 'delivery.lines.exists(line, line.stock_free < 1)' ]
  - id: watch-short
    title: Nearly sold out
    action: hold
    mode: shadow
    when: [ 'delivery.lines.exists(line, line.stock_free < 5)' ]
  - id: watch-few
    title: Few
    action: reject
    mode: shadow
    when: [ 'delivery.lines.exists(line, line.stock_free < 9)' ]
    reject: { grace: 24h }
    tests:
      - { name: few, given: { delivery: { lines: [{ stock_free: 3 }] } }, expect: reject }
      - { name: many, given: { delivery: { lines: [{ stock_free: 9 }] } }, expect: none }
      - { name: more, given: { delivery: { lines: [{ stock_free: 10 }] } }, expect: none }
`;
const LIVE = { rules: () => loadedRules(RULES), freshness: { stock: HOUR, season: HOUR } };
type Parts = Parameters<DeciderFixture['decide']>[0];

/** The push leaves, and the service says no. */
async function refuse({ store, clock }: DeciderFixture): Promise<void> {
  const free = { busy: new Set<string>(), paused: new Map<string, string>() };
  const [item] = (await waitingFor(store.db, 'send', clock.now(), free)).due;
  if (!item) throw new Error('nothing is due');
  const at = { now: clock.now(), isPaused: () => false };
  await markSending(store, item, { send: true, baseline: {}, warnings: [] }, at);
  const answer = { httpStatus: 422, errorCode: 'service.refused', answer: 'locked', problems: [] };
  const end = { attempt: 1, class: 'refused', ...answer } as const;
  await clock.advance(1_000);
  await endAttempt(store, item, end, clock.now(), clock.now());
  await clock.advance(1_000);
}

/** A person cancels the push before it leaves. */
async function cancel({ store, clock }: DeciderFixture): Promise<void> {
  const nothing = () => undefined;
  const review = createOutboxReview({
    ...{ store, clock, confirm: async () => ({}), wakeUp: nothing, onMoved: nothing },
    ...{ reconcileAfterMs: HOUR, processStartedAt: () => 0 },
  });
  await clock.advance(1_000);
  await review.cancel({ outboxId: 1 }, WHO);
  await clock.advance(1_000);
}

function reviewOf({ store, clock }: DeciderFixture) {
  const nothing = () => undefined;
  return createReview({ store, clock, ...LIVE, onPush: nothing, onReviewed: nothing });
}

async function accepted(): Promise<DeciderFixture> {
  const fixture = await createDeciderFixture();
  await fixture.stock({ a: 100 });
  await fixture.delivery({ id: 1 });
  expect(await fixture.decide(LIVE)).toEqual(['1 accept']);
  return fixture;
}

/** Decides while things are so, and then as they were before. */
async function thereAndBack(fixture: DeciderFixture, stock: number, parts: Parts = {}) {
  await fixture.stock({ a: stock });
  await fixture.decide({ ...LIVE, ...parts });
  await fixture.clock.advance(1_000);
  await fixture.stock({ a: 100 });
  await fixture.decide(LIVE);
}

const off = RULES.replace('mode: live', 'mode: off');

/** What may come and go beside an accept that has come to nothing. */
const COME_AND_GO: readonly (readonly [string, (fixture: DeciderFixture) => Promise<void>])[] = [
  ['a hold rule that only watches', (fixture) => thereAndBack(fixture, 4)],
  ['a reject rule that only watches', (fixture) => thereAndBack(fixture, 8)],
  ['a hold of the rules', (fixture) => thereAndBack(fixture, 0)],
  ['the mode observe', (fixture) => thereAndBack(fixture, 100, { mode: 'observe' })],
  ['the mode shadow', (fixture) => thereAndBack(fixture, 100, { mode: 'shadow' })],
  ['a pause', (fixture) => thereAndBack(fixture, 100, { mode: 'paused' })],
  [
    'its rule, switched off',
    (fixture) => thereAndBack(fixture, 100, { rules: () => loadedRules(off) }),
  ],
  [
    'stock that is too old',
    async (fixture) => {
      await fixture.clock.advance(2 * HOUR);
      await fixture.decide(LIVE);
      await thereAndBack(fixture, 100);
    },
  ],
];

const NOTHING_CAME: readonly (readonly [string, (fixture: DeciderFixture) => Promise<void>])[] = [
  ['the service has refused', refuse],
  ['a person has canceled', cancel],
];

describe.each(NOTHING_CAME)('an accept that %s', (_, end) => {
  it('is not made again by what comes and goes, and is what one sees of the delivery', async () => {
    const fixture = await accepted();
    await end(fixture);
    const latest = fixture.store.db.selectFrom('evaluation').select('decision_id');
    for (const [what, comeAndGo] of COME_AND_GO) {
      await comeAndGo(fixture);
      expect([what, await fixture.pushes()]).toEqual([what, ['delivery/1/decision/1']]);
      expect([what, await latest.execute()]).toEqual([what, [{ decision_id: 1 }]]);
      expect(await fixture.decide(LIVE), what).toEqual([]);
    }
    await fixture.delivery({ id: 1, lines: [['a', 3]] });
    expect(await fixture.decide(LIVE)).toEqual(['1 accept']);
  });

  it('waits for a person, who can decide on its card after a hold came and went', async () => {
    const fixture = await accepted();
    const { store, clock } = fixture;
    await end(fixture);
    expect(await fixture.decide(LIVE)).toEqual([]);
    expect((await countWaiting(store.db)).total).toBe(1);
    await thereAndBack(fixture, 0);
    const { latestDecisionId, contentHash, card } = await deliveryView(store.db, '1', clock.now());
    expect(card.decisions.map(({ decisionId }) => decisionId)).toEqual([1, 2]);
    const seen = { decisionId: latestDecisionId, contentHash };
    const act = { ...WHO, action: 'accept', delivery: '1', seen } as const;
    expect(await reviewOf(fixture).act(act)).toMatchObject({ orderDeliveryId: 1 });
  });

  it('is made again once the order is another, whatever the rules read of it', async () => {
    const fixture = await accepted();
    await end(fixture);
    await fixture.order(1, { comment: 'unlocked' });
    expect(await fixture.decide(LIVE)).toEqual(['1 accept']);
  });

  it('is made again once a person has given the delivery back to the rules', async () => {
    const fixture = await accepted();
    await end(fixture);
    const review = reviewOf(fixture);
    await review.act({ ...WHO, action: 'hold', delivery: '1' });
    expect(await fixture.decide(LIVE)).toEqual([]);
    await review.act({ ...WHO, action: 'release', delivery: '1', why: 'other', toRules: true });
    expect(await fixture.decide(LIVE)).toEqual(['1 accept']);
    expect(await fixture.pushes()).toHaveLength(2);
  });
});
