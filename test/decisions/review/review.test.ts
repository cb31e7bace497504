import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { verifyChain } from '../../../src/decisions/journal.ts';
import { deliveryCard } from '../../../src/decisions/review/card.ts';
import { createReviewOperations } from '../../../src/decisions/review/operations.ts';
import { createReview, type ReviewRequest } from '../../../src/decisions/review/review.ts';
import { deliveryActs } from '../../../src/decisions/review/surface.ts';
import { undoLatest } from '../../../src/decisions/review/undo.ts';
import { replayDecision } from '../../../src/decisions/simulation/replay.ts';
import { explain } from '../../../src/rules/explain.ts';
import type { Given } from '../../../src/surface/given.ts';
import { answersSchema } from '../../../src/surface/many.ts';
import { bind, perform, type Request } from '../../../src/surface/perform.ts';
import {
  ACCEPT_SMALL,
  createDeciderFixture,
  type DeciderFixture,
  journal,
  loadedRules,
} from '../support.ts';

/** A fixture with one held delivery (30 pieces) and one accepted, and a reviews to act at. */
async function createReviewFixture(rulesText = ACCEPT_SMALL) {
  const fixture = await createDeciderFixture();
  const rules = loadedRules(rulesText);
  const told = { pushes: 0, reviewed: 0 };
  const review = createReview({
    ...{ store: fixture.store, clock: fixture.clock, rules: () => rules },
    onPush: () => (told.pushes += 1),
    onReviewed: () => (told.reviewed += 1),
  });
  await fixture.delivery({ id: 1, lines: [['a', 30]], more: { deliveryNo: 'DN-1' } });
  await fixture.decide({ rules: () => rules });
  const act = (action: ReviewRequest['action'], more: Partial<ReviewRequest> = {}) =>
    review.act({ action, delivery: '1', actor: 'ada', reason: 'because', ...more });
  const look = (action: ReviewRequest['action']) =>
    review.preview({ action, delivery: '1', actor: 'ada', reason: '' });
  return { ...fixture, review, told, act, look };
}

const outbox = ({ store }: DeciderFixture) =>
  store.db.selectFrom('outbox').select(['body', 'expected_from', 'state']).execute();

const latest = ({ store }: DeciderFixture) =>
  store.db
    .selectFrom('decision')
    .select(['actor', 'trigger', 'mode', 'outcome', 'reason'])
    .orderBy('decision_id', 'desc')
    .executeTakeFirst();

describe('a person who accepts a held delivery', () => {
  it('leaves journal entry, audit row and push, all under the own name', async () => {
    const reviews = await createReviewFixture();
    const reviewed = await reviews.act('accept', { delivery: 'DN-1', reason: 'agreed by phone' });
    expect(reviewed).toMatchObject({ orderDeliveryId: 1, deliveryNo: 'DN-1' });
    expect(await latest(reviews)).toEqual({
      ...{ actor: 'person:ada', trigger: 'person', mode: 'live' },
      ...{ outcome: 'accept', reason: 'agreed by phone' },
    });
    const [push] = await outbox(reviews);
    expect(push).toMatchObject({ expected_from: 'pending', state: 'queued' });
    expect(JSON.parse(push?.body ?? '')).toMatchObject({
      ...{ orderDeliveryId: 1, status: 'accepted', linesHash: expect.any(String) },
    });
    const audit = await reviews.store.db.selectFrom('audit').selectAll().executeTakeFirstOrThrow();
    expect(audit).toMatchObject({ actor: 'ada', action: 'delivery.accept', subject: 'delivery:1' });
    expect(audit.reason).toBe('agreed by phone');
    expect(reviews.told).toEqual({ pushes: 1, reviewed: 1 });
    expect(await verifyChain(reviews.store.db)).toMatchObject({ entries: 2, brokenAt: undefined });
  });

  it('sees in the journal that a hold had lasted its time', async () => {
    const reviews =
      await createReviewFixture(`${ACCEPT_SMALL}    hold: { at_most: 3h, then: accept }
  - { id: hold-all, title: All, action: hold, mode: live, when: [ delivery.quantity > 0 ] }
`);
    await reviews.clock.advance(3 * 3_600_000);
    await reviews.act('accept');
    const [accepted] = (await deliveryCard(reviews.store.db, '1')).decisions;
    const text = accepted ? explain(accepted.evaluation) : '';
    expect(text).toContain('hold-large (hold, live, its time is up: now accept): matches');
    expect(text).toContain('hold-all (hold, live): matches');
  });

  it('has a decision that replays to what the rules said then', async () => {
    const reviews = await createReviewFixture();
    const { decisionId } = await reviews.act('accept');
    const replay = await replayDecision(reviews.store.db, decisionId);
    expect(replay).toMatchObject({ outcome: 'accept', differences: [] });
    expect(replay.replayed.live.kind).toBe('hold');
  });

  it('ends what is told of one that the rules could not decide', async () => {
    const reviews = await createReviewFixture();
    await sql`create trigger full before insert on decision when new.actor = 'daemon' begin
      select raise(abort, 'the disk is full'); end`.execute(reviews.store.db);
    await reviews.delivery({ id: 1, lines: [['a', 40]], more: { deliveryNo: 'DN-1' } });
    await reviews.decide();
    const open = reviews.store.db
      .selectFrom('incident')
      .select('kind')
      .where('resolved_at', 'is', null);
    expect(await open.execute()).toEqual([{ kind: 'evaluation_error' }]);
    await reviews.act('hold');
    await sql`drop trigger full`.execute(reviews.store.db);
    await reviews.clock.advance(3_600_000);
    await reviews.decide();
    expect(await open.execute()).toEqual([]);
  });

  it('is refused while a push of it is on its way, and changes nothing', async () => {
    const reviews = await createReviewFixture();
    await reviews.act('accept');
    await expect(reviews.act('hold')).rejects.toMatchObject({ code: 'review.push_open' });
    expect(await outbox(reviews)).toHaveLength(1);
    expect((await reviews.decisions()).length).toBe(2);
  });
});

describe('what a person has touched', () => {
  it('is left alone by the rules until its lines change', async () => {
    const reviews = await createReviewFixture();
    await reviews.act('hold', { reason: 'ask first' });
    const generous = loadedRules(ACCEPT_SMALL.replaceAll('20', '100'));
    expect(await reviews.decide({ rules: () => generous })).toEqual([]);
    await reviews.delivery({ id: 1, lines: [['a', 31]], more: { deliveryNo: 'DN-1' } });
    expect(await reviews.decide({ rules: () => generous })).toEqual(['1 accept']);
  });

  it('is left alone again after another word, until a price of it changes', async () => {
    const reviews = await createReviewFixture();
    const packed = (price: number) => {
      const fulfilledLineItems = [{ barcode: 'a', fulfilledQuantity: 40, price }];
      return reviews.delivery({ id: 1, more: { deliveryNo: 'DN-1', fulfilledLineItems } });
    };
    await reviews.act('hold');
    await packed(100);
    expect(await reviews.decide()).toEqual(['1 hold']);
    await reviews.act('hold', { reason: 'still asking' });
    const generous = loadedRules(ACCEPT_SMALL.replaceAll('20', '100'));
    expect(await reviews.decide({ rules: () => generous })).toEqual([]);
    await packed(90);
    expect(await reviews.decide({ rules: () => generous })).toEqual(['1 accept']);
  });

  it('goes back to the rules when it is released to them', async () => {
    const reviews = await createReviewFixture();
    await reviews.act('hold');
    await reviews.act('release', { why: 'paid', toRules: true });
    expect(await latest(reviews)).toMatchObject({ actor: 'person:ada', outcome: 'release' });
    expect(await reviews.decide()).toEqual(['1 hold']);
    expect(await latest(reviews)).toMatchObject({ actor: 'daemon', reason: '30 pieces' });
  });

  it('stays with the person when it is only released', async () => {
    const reviews = await createReviewFixture();
    await reviews.act('release', { why: 'checked' });
    await reviews.clock.advance(86_400_000);
    expect(await reviews.decide()).toEqual([]);
    expect(await latest(reviews)).toMatchObject({ actor: 'person:ada', outcome: 'release' });
    const word = await reviews.store.db.selectFrom('review').selectAll().executeTakeFirst();
    expect(word).toMatchObject({ action: 'release', why: 'checked', actor: 'ada' });
    await expect(reviews.act('release', { why: 'checked' })).rejects.toMatchObject({
      code: 'review.not_held',
      hint: expect.stringContaining('goes back to the rules by "hold"'),
    });
  });
});

describe('a reject by hand', () => {
  it('wants the delivery number, and is meant for exactly what was seen', async () => {
    const reviews = await createReviewFixture();
    const unsure = reviews.act('reject', { confirmed: ['DN-2'] });
    await expect(unsure).rejects.toMatchObject({ code: 'review.unconfirmed' });
    expect(await outbox(reviews)).toEqual([]);
    await reviews.act('reject', { confirmed: ['DN-1'] });
    const seen = await reviews.store.db
      .selectFrom('delivery')
      .select('content_hash')
      .executeTakeFirstOrThrow();
    const [push] = await outbox(reviews);
    expect(JSON.parse(push?.body ?? '')).toMatchObject({
      ...{ status: 'rejected', contentHash: seen.content_hash },
    });
  });

  it('of a delivery that is final is refused', async () => {
    const reviews = await createReviewFixture();
    await reviews.delivery({ id: 1, status: 'rejected', more: { deliveryNo: 'DN-1' } });
    const again = reviews.act('reject', { confirmed: ['DN-1'] });
    await expect(again).rejects.toMatchObject({ code: 'review.status' });
  });

  it('or any word but "hold" on what is accepted is refused; that one takes it back', async () => {
    const reviews = await createReviewFixture();
    await reviews.delivery({ id: 2, status: 'accepted', more: { deliveryNo: 'DN-2' } });
    for (const action of ['accept', 'reject', 'release'] as const) {
      const asked = reviews.act(action, { delivery: '2', confirmed: ['DN-2'] });
      await expect(asked, action).rejects.toMatchObject({
        code: 'review.status',
        hint: expect.stringContaining('deliveries hold 2'),
      });
    }
    const stopping = reviews.act('hold', { delivery: '2', ifRejectWaits: true });
    await expect(stopping).rejects.toMatchObject({ code: 'review.no_reject' });
    expect(await outbox(reviews)).toEqual([]);
    await reviews.act('hold', { delivery: '2' });
    const [push] = await outbox(reviews);
    expect(push).toMatchObject({ expected_from: 'accepted' });
    expect(JSON.parse(push?.body ?? '')).toMatchObject({ orderDeliveryId: 2, status: 'pending' });
  });

  it('or another word on what is final or gone tells since when', async () => {
    const reviews = await createReviewFixture();
    const since = new Date(reviews.clock.now()).toISOString();
    await reviews.delivery({ id: 1, status: 'canceled', more: { deliveryNo: 'DN-1' } });
    await reviews.clock.advance(3_600_000);
    for (const action of ['accept', 'reject', 'hold', 'release'] as const) {
      await expect(reviews.act(action, { confirmed: ['DN-1'] }), action).rejects.toMatchObject({
        message: `it is canceled already, unchanged since ${since}`,
        hint: expect.stringContaining('that is final'),
      });
    }
    const gone = { deleted_at: reviews.clock.now() };
    const goneAt = new Date(gone.deleted_at).toISOString();
    await reviews.store.transaction((tx) => tx.updateTable('delivery').set(gone).execute());
    for (const delivery of ['1', 'DN-1', 'id:1']) {
      await expect(reviews.act('accept', { delivery }), delivery).rejects.toMatchObject({
        code: 'deliveries.gone',
        message: `the service no longer has delivery ${delivery}, since ${goneAt}`,
      });
    }
    expect(await outbox(reviews)).toEqual([]);
  });
});

it('a number that several deliveries have decides about none of them', async () => {
  const reviews = await createReviewFixture();
  for (const id of [2, 3]) {
    await reviews.delivery({
      id,
      lines: [['a', 30]],
      more: { deliveryNo: id === 2 ? 'DN-1' : '1' },
    });
  }
  for (const action of ['accept', 'reject', 'hold'] as const) {
    const asked = reviews.act(action, { delivery: 'DN-1', confirmed: ['DN-1'] });
    await expect(asked).rejects.toMatchObject({
      code: 'deliveries.ambiguous',
      message: 'more than one delivery has the number DN-1: 1 and 2',
    });
  }
  expect(await reviews.pushes()).toEqual([]);
  expect(await reviews.act('accept', { delivery: '2' })).toMatchObject({ orderDeliveryId: 2 });
});

it('a number that is the id of another delivery decides about neither of them', async () => {
  const reviews = await createReviewFixture();
  await reviews.delivery({ id: 2, lines: [['a', 30]], more: { deliveryNo: '1' } });
  const asked = reviews.act('accept', { delivery: '1' });
  await expect(asked).rejects.toMatchObject({
    code: 'deliveries.ambiguous',
    message: '1 is the id of one delivery and the number of another',
    hint: 'name it by its id: id:1 or id:2',
  });
  expect(await reviews.pushes()).toEqual([]);
  expect(await reviews.act('accept', { delivery: 'id:1' })).toMatchObject({ orderDeliveryId: 1 });
  expect(await reviews.act('accept', { delivery: 'id:2' })).toMatchObject({ orderDeliveryId: 2 });
});

describe('an act on several deliveries', () => {
  /** Acts as the doors have them, in the name of ada. */
  async function createActs() {
    const reviews = await createReviewFixture();
    await reviews.delivery({ id: 2, lines: [['a', 40]], more: { deliveryNo: 'DN-2' } });
    const operations = createReviewOperations({
      ...{ store: reviews.store, clock: reviews.clock, review: reviews.review },
      rules: () => loadedRules(ACCEPT_SMALL),
      cancelPush: () => Promise.reject(new Error('not asked')),
    });
    const acts = bind(deliveryActs, () => operations);
    const actor = (reason: string) => ({ actor: 'ada', reason });
    const ask = async (act: string, request: Partial<Request>) => {
      const whole = { given: {}, reason: 'all seen', dryRun: false, ...request, act };
      const asker = { role: null, seesAddresses: true, actor };
      return answersSchema.parse(await perform(acts, whole, asker, reviews.clock.now())).answers;
    };
    const things = async (...names: readonly string[]): Promise<Given[]> => {
      const named = names.map((delivery) => ({ delivery }));
      const looked = await ask('deliveries.accept', { things: named, dryRun: true });
      return looked.map((one, index) => ({ ...named[index], ...Object(one.ok ? one.seen : {}) }));
    };
    return { ...reviews, ask, things };
  }

  it('has one answer each: one that cannot be done stops no other', async () => {
    const { delivery, ask, things } = await createActs();
    await delivery({ id: 3, status: 'canceled', more: { deliveryNo: 'DN-3' } });
    const seen = { decisionId: 0, contentHash: '' };
    const [first = {}, second = {}] = await things('DN-1', '2');
    const gone = [
      { delivery: 'nowhere', ...seen },
      { delivery: 'DN-3', ...seen },
    ];
    const answers = await ask('deliveries.accept', { things: [first, ...gone, second] });
    expect(answers.map((one) => (one.ok ? one.deliveryNo : one.code))).toEqual([
      ...['DN-1', 'deliveries.unknown', 'review.changed', 'DN-2'],
    ]);
  });

  it('is answered also where one of them could not be written', async () => {
    const { store, delivery, ask, things } = await createActs();
    await delivery({ id: 3, lines: [['a', 50]], more: { deliveryNo: 'DN-3' } });
    const seen = await things('DN-1', 'DN-2', 'DN-3');
    await sql`create trigger full before insert on audit when new.subject = 'delivery:2' begin
      select raise(abort, 'the disk is full'); end`.execute(store.db);
    const answers = await ask('deliveries.accept', { things: seen });
    expect(answers.map((one) => (one.ok ? one.deliveryNo : one.message))).toEqual([
      ...['DN-1', 'the disk is full', 'DN-3'],
    ]);
  });

  it('tells beforehand what it would do, and writes nothing', async () => {
    const { store, clock, delivery, ask, pushes, decisions } = await createActs();
    for (const status of ['accepted', 'pending']) {
      await clock.advance(1_000);
      await delivery({ id: 1, status, lines: [['a', 30]], more: { deliveryNo: 'DN-1' } });
    }
    const before = await decisions();
    const named = ['DN-1', 'DN-3'].map((one) => ({ delivery: one }));
    const [first, none] = await ask('deliveries.accept', { things: named, dryRun: true });
    expect(first).toMatchObject({
      lines: [expect.stringContaining('30 pieces, by the rules "hold": would be accepted, the')],
    });
    expect(none).toMatchObject({ ok: false, code: 'deliveries.unknown' });
    expect([await decisions(), await pushes()]).toEqual([before, []]);
    expect(await store.db.selectFrom('audit').select('id').execute()).toEqual([]);
    const things = [{ ...named[0], ...Object(first?.ok && first.seen) }];
    expect(await ask('deliveries.accept', { things })).toMatchObject([{ ok: true }]);
    expect(await ask('deliveries.accept', { things })).toMatchObject([{ code: 'review.changed' }]);
  });
});

describe('an undo', () => {
  it.each<Partial<ReviewRequest>>([{ action: 'hold' }, { action: 'release', toRules: true }])(
    'is refused where somebody else does "$action" in the same moment',
    async (theirs) => {
      const reviews = await createReviewFixture();
      const mine = await reviews.act('hold');
      const undone = undoLatest(
        {
          db: reviews.store.db,
          cancelPush: () => Promise.reject(new Error('none waits')),
          review: {
            ...reviews.review,
            async act(request) {
              await reviews.act('hold', { actor: 'bo', reason: 'customer called', ...theirs });
              return reviews.review.act(request);
            },
          },
        },
        1,
        { actor: 'ada', reason: 'undone' },
        mine.decisionId,
      );
      await expect(undone).rejects.toMatchObject({
        code: 'review.changed',
        message: expect.stringContaining('bo decided'),
      });
      expect((await latest(reviews))?.actor).toBe('person:bo');
    },
  );
});

it('a delivery in a status that nobody knows is refused in words', async () => {
  const reviews = await createReviewFixture();
  await sql`update delivery set status = 'lost'`.execute(reviews.store.db);
  for (const asked of [reviews.act('accept'), reviews.look('accept')]) {
    await expect(asked).rejects.toMatchObject({ code: 'review.unknown_status' });
  }
});

it('shows no stock of a barcode that the service no longer lists', async () => {
  const { store, stock, delivery } = await createDeciderFixture();
  await stock({ a: 5, b: 7 }, { a: { details: { styleNo: 'S-1' } } });
  await delivery({
    id: 1,
    lines: [
      ['a', 2],
      ['b', 2],
    ],
  });
  await store.db
    .updateTable('stock_variant_row')
    .set({ deleted_at: 1 })
    .where('barcode', '=', 'a')
    .execute();
  const { lines } = await deliveryCard(store.db, '1');
  expect(lines).toMatchObject([{ style: 'S-1', stock: null }, { stock: 7 }]);
});

it('comes after what somebody did in the service before, though nobody told it yet', async () => {
  const reviews = await createReviewFixture();
  for (const status of ['accepted', 'pending']) {
    await reviews.clock.advance(1_000);
    await reviews.delivery({ id: 1, status, lines: [['a', 30]], more: { deliveryNo: 'DN-1' } });
  }
  await reviews.clock.advance(1_000);
  await reviews.act('accept');
  await reviews.decide();
  expect(await journal(reviews)).toEqual(['daemon hold', 'external hold', 'person:ada accept']);
});
