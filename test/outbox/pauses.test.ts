import { expect, it, onTestFinished } from 'vitest';
import { createV1Client } from '../../src/client/v1/client.ts';
import { VARIANT_LIST_DEFAULTS } from '../../src/client/v1/variants.ts';
import { createV2Client } from '../../src/client/v2/client.ts';
import { handOffOfThread } from '../../src/store/writers/write-hand-off.ts';
import { answerJson, envelope, impatient, startFaulty } from '../client/support.ts';
import { createBench, NO, OVERTAKEN } from './support.ts';

it('a pause holds what was cleared and waits for its turn to be written down', async () => {
  const bench = await createBench();
  const outboxId = await bench.add(1);
  const { dispatcher } = bench.start();
  const thread = handOffOfThread(bench.store.writeHandOff);
  bench.script.lookUp = async () => {
    // The thread of a pull writes from now on.
    await thread.acquire();
    return NO;
  };
  await bench.clock.advance(0);
  expect(bench.looks).toEqual([outboxId]);
  bench.paused = true;
  bench.script.lookUp = () => NO;
  thread.release();
  await bench.clock.advance(0);
  expect(bench.sends).toEqual([]);
  expect(await bench.row(outboxId)).toMatchObject({ state: 'queued', last_error: 'paused' });
  bench.paused = false;
  dispatcher.wakeUp();
  await bench.clock.advance(0);
  expect(bench.sends).toEqual([outboxId]);
});

/** A push that may leave in 50 seconds, because another request has just left. */
async function waitingPush(api: string) {
  const service = await startFaulty((_, response) =>
    answerJson(response, 200, envelope(200, { status: 'accepted' })),
  );
  const bench = await createBench();
  const transport = impatient({ requestsPerSecond: 0.02 }, bench.clock);
  onTestFinished(async () => {
    await transport[Symbol.asyncDispose]();
    await service[Symbol.asyncDispose]();
  });
  const baseUrl = service.url;
  const v1 = createV1Client(
    {
      ...{ baseUrl, variants: VARIANT_LIST_DEFAULTS },
      ...{ seasonParameter: 'seasonName', idempotencyHeader: undefined },
    },
    { sender: transport },
  );
  const v2 = createV2Client({ baseUrl, paging: { pageRows: 7, follow: 'token' } }, transport);
  await transport.request({ method: 'GET', url: `${baseUrl}/first`, priority: 'push' });
  bench.script.send = async (_, call) => {
    if (api === 'v1') await v1.setDeliveryStatus(1, 1, 'accepted', call);
    else await v2.update('style', '1', {}, call);
    return {};
  };
  const outboxId = await bench.add(1);
  const { dispatcher } = bench.start();
  await bench.clock.advance(0);
  expect([bench.sends, await bench.row(outboxId)]).toMatchObject([[1], { state: 'sending' }]);
  return { bench, dispatcher, outboxId, seen: service.seen };
}

it.each(['v1', 'v2'])(
  'a pause holds what waits for its turn with %s, and lets it leave once it is over',
  async (api) => {
    const { bench, dispatcher, outboxId, seen } = await waitingPush(api);
    bench.paused = true;
    await bench.clock.advance(50_000);
    await bench.clock.advance(50_000);
    expect(seen).toEqual(['GET /first']);
    expect(await bench.row(outboxId)).toMatchObject({ state: 'queued', last_error: 'paused' });
    expect(await bench.attempts(outboxId)).toEqual(['not_processed']);
    expect(bench.sends).toHaveLength(1);
    bench.paused = false;
    bench.script.send = () => ({ status: 'accepted' });
    dispatcher.wakeUp();
    await bench.clock.advance(0);
    expect(bench.sends).toHaveLength(2);
  },
);

it('what waited for its turn through a whole pause is checked again', async () => {
  const { bench, dispatcher, outboxId, seen } = await waitingPush('v1');
  bench.paused = true;
  dispatcher.wakeUp();
  bench.paused = false;
  dispatcher.wakeUp();
  bench.script.lookUp = () => OVERTAKEN;
  await bench.clock.advance(50_000);
  expect(seen).toEqual(['GET /first']);
  expect(await bench.row(outboxId)).toMatchObject({ state: 'refused', attempts: 1 });
  expect(await bench.attempts(outboxId)).toEqual(['not_processed']);
});

it('what was being checked through a whole pause is checked again', async () => {
  const bench = await createBench();
  const outboxId = await bench.add(1);
  const { dispatcher } = bench.start();
  const answered = Promise.withResolvers<typeof NO>();
  bench.script.lookUp = () => answered.promise;
  await bench.clock.advance(0);
  for (const isPaused of [true, false]) {
    bench.paused = isPaused;
    dispatcher.wakeUp();
  }
  bench.script.lookUp = () => OVERTAKEN;
  answered.resolve(NO);
  await bench.clock.advance(0);
  expect([bench.sends, bench.looks]).toEqual([[], [outboxId, outboxId]]);
});
