/** The service packs again what a rule had rejected, because the order still wants it. */
import { expect, it } from 'vitest';
import { createRejectFixture, type RejectFixture, settingsWith, UNLUCKY } from './support.ts';

const WHO = { actor: 'ada', reason: 'looked at it' };

/** The order's delivery of this id, with these pieces. */
async function packed({ delivery }: RejectFixture, id: number, more: object = {}) {
  await delivery({ id, order: 1, lines: [['a', 13]], more: { deliveryNo: `DN-${id}` }, ...more });
}

/** Delivery 1 was rejected by its rule, with a limit of one reject a day. */
async function rejected(): Promise<RejectFixture> {
  const rejects = await createRejectFixture(UNLUCKY, settingsWith({ max_per_day: 1 }));
  await rejects.waiting();
  await rejects.afterGrace();
  await rejects.endPush('confirmed', { answered: true });
  await packed(rejects, 1, { status: 'rejected' });
  expect(await rejects.intendedPushes()).toEqual(['1 rejected']);
  return rejects;
}

it('three repacks in a day of what a rule rejected wait for a person, each', async () => {
  const rejects = await rejected();
  for (const id of [2, 3, 4]) {
    await rejects.clock.advance(3_600_000);
    await packed(rejects, id);
    expect(await rejects.decide()).toContain(`${id} hold`);
    expect(await rejects.latest()).toMatchObject({
      ...{ id, outcome: 'hold', rules: '["reject-unlucky"]' },
      reason: 'safeguard repacked: packed again after reject-unlucky had DN-1 rejected',
    });
    await rejects.afterGrace();
    const said = { action: 'reject', delivery: `id:${id}`, confirmed: [`DN-${id}`] } as const;
    await rejects.review.act({ ...WHO, ...said });
    await rejects.endPush('confirmed', { answered: true });
    await packed(rejects, id, { status: 'rejected' });
  }
  const entries = await rejects.store.db.selectFrom('reject_entry').select('state').execute();
  expect(entries).toEqual([{ state: 'rejected' }]);
  expect(await rejects.overview()).toMatchObject({ breaker: null, waiting: [] });
});

it('what was packed again waits in another spelling of its barcode, too', async () => {
  const rejects = await rejected();
  await packed(rejects, 1, { status: 'rejected', lines: [['0712345678901', 13]] });
  await packed(rejects, 2, { lines: [['712345678901 ', 13]] });
  expect(await rejects.decide()).toContain('2 hold');
  expect(await rejects.latest()).toMatchObject({ reason: /^safeguard repacked/ });
});

it('what was packed again is not accepted by a rule either', async () => {
  const rejects = await rejected();
  await rejects.order(1, { comment: 'keep' });
  await packed(rejects, 2);
  expect(await rejects.decide()).toContain('2 hold');
  expect(await rejects.intendedPushes()).toEqual(['1 rejected']);
});

it('what was packed again is for the rules once a person gives it to them', async () => {
  const rejects = await rejected();
  await packed(rejects, 2);
  await rejects.decide();
  await rejects.review.act({ ...WHO, action: 'release', delivery: 'id:2', toRules: true });
  expect(await rejects.decide()).toContain('2 reject');
});

it('other goods of the order, or packed before the reject, are for the rules', async () => {
  const rejects = await createRejectFixture();
  await rejects.unlucky(1);
  await packed(rejects, 2);
  await rejects.decide();
  await rejects.arm();
  expect(await rejects.decide()).toEqual(['1 reject', '2 reject']);
  await rejects.afterGrace();
  expect(await rejects.intendedPushes()).toEqual(['1 rejected', '2 rejected']);
  await rejects.clock.advance(1_000);
  await packed(rejects, 3, { lines: [['b', 13]] });
  expect(await rejects.decide()).toContain('3 reject');
});
