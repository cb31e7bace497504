/** A doubt that waits for most of a day, while the service answers for others. */
import { expect, it } from 'vitest';
import { RetryLaterError } from '../../src/lib/errors.ts';
import { createBench, NO, reviewOf, YES } from './support.ts';

const MINUTE = 60_000;
const WHO = { actor: 'anna', reason: 'asked support' };
const TAKEN = 'the service answered that it took it; ';

it('a push is for a person when it alone is not answered, unlike others of its kind', async () => {
  const bench = await createBench();
  bench.creates = true;
  bench.limits.reviewAfterMs = 20 * MINUTE;
  // The push is worked on when it is due; more looks, for a day, show nothing.
  bench.limits.idleMsMax = 60 * MINUTE;
  const id = await bench.add(1);
  bench.script.lookUp = ({ outboxId, state }) => {
    if (outboxId === id && state === 'sent') {
      throw new RetryLaterError('service.fault', 'GET /orders/7: HTTP 500');
    }
    return state === 'queued' ? NO : YES;
  };
  bench.script.send = () => ({ orderId: 7 });
  bench.start();
  await bench.clock.advance(180 * MINUTE);
  // Nothing tells that the service is there at all.
  expect(await bench.row(id)).toMatchObject({ state: 'sent', blocked_reason: null });
  const goOn = async (hours: number, other: () => Promise<number>): Promise<void> => {
    for (let passed = 0; passed < hours * 60; passed += 10) {
      await other();
      await bench.clock.advance(10 * MINUTE);
    }
  };
  const delivery = () => bench.add(1_000 + bench.clock.now());
  // Nor does what another part of the service answers for.
  await goOn(8, () => bench.addStyle(`S-${bench.clock.now()}`));
  expect(await bench.row(id)).toMatchObject({ state: 'sent', blocked_reason: null });
  await goOn(5.5, delivery);
  expect(await bench.row(id)).toMatchObject({ state: 'sent', blocked_reason: null });
  await goOn(1, delivery);
  expect(await bench.row(id)).toMatchObject({
    state: 'in_doubt',
    blocked_reason:
      `${TAKEN}for too long it could not be looked up, while others of its kind could: ` +
      'GET /orders/7: HTTP 500',
  });
  // Tried again it is looked for, and never sent twice.
  await reviewOf(bench).retry({ outboxId: id }, WHO);
  await goOn(2, delivery);
  expect(bench.sends.filter((one) => one === id)).toEqual([id]);
});
