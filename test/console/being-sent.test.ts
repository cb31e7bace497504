/** A decision that the service has not confirmed reads as being sent wherever it is shown. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { program, seenRows, signIn, startConsole } from './support.ts';

it('is said of an accept and of a reject on pages, in lists and in answers', async () => {
  const house = await startConsole({ held: 3 });
  writeFileSync(join(house.config.dataDir, 'pushes.paused'), 'stocktaking');
  const ada = await signIn(house, 'ada', 'approver');
  const bi = await program(house, 'approver');
  const [one, two, three] = await seenRows(bi);
  if (!one || !two || !three) throw new Error('nothing is held');
  const { orderDeliveryId: id, deliveryNo, ...seen } = one;
  const fields = { reason: 'price agreed', decisionId: String(seen.decisionId), back: '/review' };
  await ada.form(`/deliveries/id:${id}/accept`, { ...fields, contentHash: seen.contentHash });
  expect((await ada.get('/review')).text).toContain(`${deliveryNo} is accepted, being sent.`);
  const card = (await ada.get(`/deliveries/${id}`)).text;
  expect(card).toMatch(/<b class="state s-queued">accepted, being sent<\/b>/);
  expect(card).toContain('Its push is on its way');

  const { json } = await bi.json(`/deliveries/id:${two.orderDeliveryId}/reject`, {
    ...{ reason: 'ordered twice', confirmed: two.deliveryNo },
    ...{ decisionId: two.decisionId, contentHash: two.contentHash },
  });
  expect(json).toMatchObject({ state: 'rejected, being sent', outboxId: expect.any(Number) });
  const held = await bi.json(`/deliveries/id:${three.orderDeliveryId}/hold`, {
    ...{ reason: 'ask', decisionId: three.decisionId, contentHash: three.contentHash },
  });
  expect(held.json).toMatchObject({ state: 'held', outboxId: null });

  const all = await bi.get('/review.json?shown=all&sort=number');
  expect(all.json).toMatchObject({
    rows: [
      { state: 'accepted, being sent', push: 'queued' },
      { state: 'rejected, being sent' },
      { state: 'held', push: null },
    ],
  });
  const csv = (await bi.get('/review.csv?shown=all&sort=number')).text.split('\r\n');
  expect(csv[0]).toMatch(/,state,assigned_to,/);
  expect(csv[1]).toMatch(/,"accepted, being sent",/);
});
