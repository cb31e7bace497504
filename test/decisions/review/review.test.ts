import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { verifyChain } from '../../../src/decisions/journal.ts';
import { deliveryCard } from '../../../src/decisions/review/card.ts';
import { createReview, type ReviewRequest } from '../../../src/decisions/review/review.ts';
import { replayDecision } from '../../../src/decisions/simulation/replay.ts';
import { explain } from '../../../src/rules/explain.ts';
import { ACCEPT_SMALL, createHouse, type House, journal, loadedRules } from '../support.ts';

/** A house with one held delivery (30 pieces) and one accepted, and a desk to act at. */
async function createDesk(rulesText = ACCEPT_SMALL) {
  const house = await createHouse();
  const rules = loadedRules(rulesText);
  const told = { pushes: 0, reviewed: 0 };
  const review = createReview({
    ...{ store: house.store, clock: house.clock, rules: () => rules },
    onPush: () => (told.pushes += 1),
    onReviewed: () => (told.reviewed += 1),
  });
  await house.delivery({ id: 1, lines: [['a', 30]], more: { deliveryNo: 'DN-1' } });
  await house.decide({ rules: () => rules });
  const act = (action: ReviewRequest['action'], more: Partial<ReviewRequest> = {}) =>
    review.act({ action, delivery: '1', actor: 'ada', reason: 'because', ...more });
  return { ...house, review, told, act };
}

const outbox = ({ store }: House) =>
  store.db.selectFrom('outbox').select(['body', 'expected_from', 'state']).execute();

const latest = ({ store }: House) =>
  store.db
    .selectFrom('decision')
    .select(['actor', 'trigger', 'mode', 'outcome', 'reason'])
    .orderBy('decision_id', 'desc')
    .executeTakeFirst();

describe('a person who accepts a held delivery', () => {
  it('leaves journal entry, audit row and push, all under the own name', async () => {
    const desk = await createDesk();
    const reviewed = await desk.act('accept', { delivery: 'DN-1', reason: 'agreed by phone' });
    expect(reviewed).toMatchObject({ orderDeliveryId: 1, deliveryNo: 'DN-1' });
    expect(await latest(desk)).toEqual({
      ...{ actor: 'person:ada', trigger: 'person', mode: 'live' },
      ...{ outcome: 'accept', reason: 'agreed by phone' },
    });
    const [push] = await outbox(desk);
    expect(push).toMatchObject({ expected_from: 'pending', state: 'queued' });
    expect(JSON.parse(push?.body ?? '')).toMatchObject({
      ...{ orderDeliveryId: 1, status: 'accepted', linesHash: expect.any(String) },
    });
    const audit = await desk.store.db.selectFrom('audit').selectAll().executeTakeFirstOrThrow();
    expect(audit).toMatchObject({ actor: 'ada', action: 'delivery.accept', subject: 'delivery:1' });
    expect(audit.reason).toBe('agreed by phone');
    expect(desk.told).toEqual({ pushes: 1, reviewed: 1 });
    expect(await verifyChain(desk.store.db)).toMatchObject({ entries: 2, brokenAt: undefined });
  });

  it('sees in the journal that a hold had lasted its time', async () => {
    const desk = await createDesk(`${ACCEPT_SMALL}    hold: { at_most: 3h, then: accept }
  - { id: hold-all, title: All, action: hold, mode: live, when: [ delivery.quantity > 0 ] }
`);
    await desk.clock.advance(3 * 3_600_000);
    await desk.act('accept');
    const [accepted] = (await deliveryCard(desk.store.db, '1')).decisions;
    const text = accepted ? explain(accepted.evaluation) : '';
    expect(text).toContain('hold-large (hold, live, its time is up: now accept): matches');
    expect(text).toContain('hold-all (hold, live): matches');
  });

  it('has a decision that replays to what the rules said then', async () => {
    const desk = await createDesk();
    const { decisionId } = await desk.act('accept');
    const replay = await replayDecision(desk.store.db, decisionId);
    expect(replay).toMatchObject({ outcome: 'accept', differences: [] });
    expect(replay.replayed.live.kind).toBe('hold');
  });

  it('ends what is told of one that the rules could not decide', async () => {
    const desk = await createDesk();
    await sql`create trigger full before insert on decision when new.actor = 'daemon' begin
      select raise(abort, 'the disk is full'); end`.execute(desk.store.db);
    await desk.delivery({ id: 1, lines: [['a', 40]], more: { deliveryNo: 'DN-1' } });
    await desk.decide();
    const open = desk.store.db
      .selectFrom('incident')
      .select('kind')
      .where('resolved_at', 'is', null);
    expect(await open.execute()).toEqual([{ kind: 'evaluation_error' }]);
    await desk.act('hold');
    await sql`drop trigger full`.execute(desk.store.db);
    await desk.clock.advance(3_600_000);
    await desk.decide();
    expect(await open.execute()).toEqual([]);
  });

  it('is refused while a push of it is on its way, and changes nothing', async () => {
    const desk = await createDesk();
    await desk.act('accept');
    await expect(desk.act('hold')).rejects.toMatchObject({ code: 'review.push_open' });
    expect(await outbox(desk)).toHaveLength(1);
    expect((await desk.decisions()).length).toBe(2);
  });
});

describe('what a person has touched', () => {
  it('is left alone by the rules until its lines change', async () => {
    const desk = await createDesk();
    await desk.act('hold', { reason: 'ask first' });
    const generous = loadedRules(ACCEPT_SMALL.replaceAll('20', '100'));
    expect(await desk.decide({ rules: () => generous })).toEqual([]);
    await desk.delivery({ id: 1, lines: [['a', 31]], more: { deliveryNo: 'DN-1' } });
    expect(await desk.decide({ rules: () => generous })).toEqual(['1 accept']);
  });

  it('is left alone again after another word, until a price of it changes', async () => {
    const desk = await createDesk();
    const packed = (price: number) => {
      const fulfilledLineItems = [{ barcode: 'a', fulfilledQuantity: 40, price }];
      return desk.delivery({ id: 1, more: { deliveryNo: 'DN-1', fulfilledLineItems } });
    };
    await desk.act('hold');
    await packed(100);
    expect(await desk.decide()).toEqual(['1 hold']);
    await desk.act('hold', { reason: 'still asking' });
    const generous = loadedRules(ACCEPT_SMALL.replaceAll('20', '100'));
    expect(await desk.decide({ rules: () => generous })).toEqual([]);
    await packed(90);
    expect(await desk.decide({ rules: () => generous })).toEqual(['1 accept']);
  });

  it('goes back to the rules when it is released to them', async () => {
    const desk = await createDesk();
    await desk.act('hold');
    await desk.act('release', { why: 'paid', toRules: true });
    expect(await latest(desk)).toMatchObject({ actor: 'person:ada', outcome: 'release' });
    expect(await desk.decide()).toEqual(['1 hold']);
    expect(await latest(desk)).toMatchObject({ actor: 'daemon', reason: '30 pieces' });
  });

  it('stays with the person when it is only released', async () => {
    const desk = await createDesk();
    await desk.act('release', { why: 'checked' });
    await desk.clock.advance(86_400_000);
    expect(await desk.decide()).toEqual([]);
    expect(await latest(desk)).toMatchObject({ actor: 'person:ada', outcome: 'release' });
    const word = await desk.store.db.selectFrom('review').selectAll().executeTakeFirst();
    expect(word).toMatchObject({ action: 'release', why: 'checked', actor: 'ada' });
    await expect(desk.act('release', { why: 'checked' })).rejects.toMatchObject({
      code: 'review.not_held',
      hint: expect.stringContaining('goes back to the rules by "hold"'),
    });
  });
});

describe('a reject by hand', () => {
  it('wants the delivery number, and is meant for exactly what was seen', async () => {
    const desk = await createDesk();
    const unsure = desk.act('reject', { confirmed: ['DN-2'] });
    await expect(unsure).rejects.toMatchObject({ code: 'review.unconfirmed' });
    expect(await outbox(desk)).toEqual([]);
    await desk.act('reject', { confirmed: ['DN-1'] });
    const seen = await desk.store.db
      .selectFrom('delivery')
      .select('content_hash')
      .executeTakeFirstOrThrow();
    const [push] = await outbox(desk);
    expect(JSON.parse(push?.body ?? '')).toMatchObject({
      ...{ status: 'rejected', contentHash: seen.content_hash },
    });
  });

  it('of a delivery that is final is refused', async () => {
    const desk = await createDesk();
    await desk.delivery({ id: 1, status: 'rejected', more: { deliveryNo: 'DN-1' } });
    const again = desk.act('reject', { confirmed: ['DN-1'] });
    await expect(again).rejects.toMatchObject({ code: 'review.status' });
  });

  it('or any word but "hold" on what is accepted is refused; that one takes it back', async () => {
    const desk = await createDesk();
    await desk.delivery({ id: 2, status: 'accepted', more: { deliveryNo: 'DN-2' } });
    for (const action of ['accept', 'reject', 'release'] as const) {
      const asked = desk.act(action, { delivery: '2', confirmed: ['DN-2'] });
      await expect(asked, action).rejects.toMatchObject({
        code: 'review.status',
        hint: expect.stringContaining('deliveries hold 2'),
      });
    }
    const stopping = desk.act('hold', { delivery: '2', ifRejectWaits: true });
    await expect(stopping).rejects.toMatchObject({ code: 'review.no_reject' });
    expect(await outbox(desk)).toEqual([]);
    await desk.act('hold', { delivery: '2' });
    const [push] = await outbox(desk);
    expect(push).toMatchObject({ expected_from: 'accepted' });
    expect(JSON.parse(push?.body ?? '')).toMatchObject({ orderDeliveryId: 2, status: 'pending' });
  });

  it('or another word on what is final or gone tells since when', async () => {
    const desk = await createDesk();
    const since = new Date(desk.clock.now()).toISOString();
    await desk.delivery({ id: 1, status: 'canceled', more: { deliveryNo: 'DN-1' } });
    await desk.clock.advance(3_600_000);
    for (const action of ['accept', 'reject', 'hold', 'release'] as const) {
      await expect(desk.act(action, { confirmed: ['DN-1'] }), action).rejects.toMatchObject({
        message: `it is canceled already, unchanged since ${since}`,
        hint: expect.stringContaining('that is final'),
      });
    }
    const gone = { deleted_at: desk.clock.now() };
    const goneAt = new Date(gone.deleted_at).toISOString();
    await desk.store.transaction((tx) => tx.updateTable('delivery').set(gone).execute());
    for (const delivery of ['1', 'DN-1', 'id:1']) {
      await expect(desk.act('accept', { delivery }), delivery).rejects.toMatchObject({
        code: 'deliveries.gone',
        message: `the service no longer has delivery ${delivery}, since ${goneAt}`,
      });
    }
    expect(await outbox(desk)).toEqual([]);
  });
});

it('a number that several deliveries have decides about none of them', async () => {
  const desk = await createDesk();
  for (const id of [2, 3]) {
    await desk.delivery({ id, lines: [['a', 30]], more: { deliveryNo: id === 2 ? 'DN-1' : '1' } });
  }
  for (const action of ['accept', 'reject', 'hold'] as const) {
    const asked = desk.act(action, { delivery: 'DN-1', confirmed: ['DN-1'] });
    await expect(asked).rejects.toMatchObject({
      code: 'deliveries.ambiguous',
      message: 'more than one delivery has the number DN-1: 1 and 2',
    });
  }
  expect(await desk.pushes()).toEqual([]);
  expect(await desk.act('accept', { delivery: '2' })).toMatchObject({ orderDeliveryId: 2 });
});

it('a number that is the id of another delivery decides about neither of them', async () => {
  const desk = await createDesk();
  await desk.delivery({ id: 2, lines: [['a', 30]], more: { deliveryNo: '1' } });
  const asked = desk.act('accept', { delivery: '1' });
  await expect(asked).rejects.toMatchObject({
    code: 'deliveries.ambiguous',
    message: '1 is the id of one delivery and the number of another',
    hint: 'name it by its id: id:1 or id:2',
  });
  expect(await desk.pushes()).toEqual([]);
  expect(await desk.act('accept', { delivery: 'id:1' })).toMatchObject({ orderDeliveryId: 1 });
  expect(await desk.act('accept', { delivery: 'id:2' })).toMatchObject({ orderDeliveryId: 2 });
});

describe('several deliveries at once', () => {
  it('have one answer each: one that cannot be done stops no other', async () => {
    const desk = await createDesk();
    await desk.delivery({ id: 2, lines: [['a', 40]], more: { deliveryNo: 'DN-2' } });
    await desk.delivery({ id: 3, status: 'canceled', more: { deliveryNo: 'DN-3' } });
    const request = { action: 'accept', actor: 'ada', reason: 'all seen' } as const;
    const answers = await desk.review.actOnAll(request, ['DN-1', 'nowhere', 'DN-3', '2']);
    expect(answers.map((one) => (one.ok ? one.deliveryNo : one.code))).toEqual([
      ...['DN-1', 'deliveries.unknown', 'review.status', 'DN-2'],
    ]);
  });

  it('are answered also where one of them could not be written', async () => {
    const desk = await createDesk();
    await desk.delivery({ id: 2, lines: [['a', 40]], more: { deliveryNo: 'DN-2' } });
    await desk.delivery({ id: 3, lines: [['a', 50]], more: { deliveryNo: 'DN-3' } });
    await sql`create trigger full before insert on audit when new.subject = 'delivery:2' begin
      select raise(abort, 'the disk is full'); end`.execute(desk.store.db);
    const request = { action: 'accept', actor: 'ada', reason: 'all seen' } as const;
    const answers = await desk.review.actOnAll(request, ['DN-1', 'DN-2', 'DN-3']);
    expect(answers.map((one) => (one.ok ? one.deliveryNo : one.message))).toEqual([
      ...['DN-1', 'the disk is full', 'DN-3'],
    ]);
  });
});

it('shows no stock of a barcode that the service no longer lists', async () => {
  const { store, stock, delivery } = await createHouse();
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
  const desk = await createDesk();
  for (const status of ['accepted', 'pending']) {
    await desk.clock.advance(1_000);
    await desk.delivery({ id: 1, status, lines: [['a', 30]], more: { deliveryNo: 'DN-1' } });
  }
  await desk.clock.advance(1_000);
  await desk.act('accept');
  await desk.decide();
  expect(await journal(desk)).toEqual(['daemon hold', 'external hold', 'person:ada accept']);
});
