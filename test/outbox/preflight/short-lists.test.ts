/** Short lists that are read once more before an order is refused for a name. */
import { expect, it, onTestFinished } from 'vitest';
import { createV1Client } from '../../../src/client/v1/client.ts';
import { VARIANT_LIST_DEFAULTS } from '../../../src/client/v1/variants.ts';
import { type ManualClock, manualClock } from '../../../src/lib/clock.ts';
import { createShortLists } from '../../../src/outbox/preflight/ask-service.ts';
import { createReadSequence } from '../../../src/store/state.ts';
import { answerJson, envelope, impatient, rejection, startFaulty } from '../../client/support.ts';
import { temporaryStore } from '../../support/store.ts';

const HOUR = 3_600_000;
const SEASONS = envelope(200, { seasons: [{ seasonName: 'SS27', deliveryNames: [] }] });

/** A service whose list of seasons has gone through a cache for so many seconds. */
async function startLists(clock: ManualClock, ageSeconds: number) {
  const store = await temporaryStore(clock);
  const server = await startFaulty((_request, response) => {
    if (ageSeconds > 0) response.setHeader('age', String(ageSeconds));
    answerJson(response, 200, SEASONS);
  });
  const transport = impatient({}, clock);
  onTestFinished(async () => {
    await transport[Symbol.asyncDispose]();
    await server[Symbol.asyncDispose]();
  });
  const v1 = createV1Client(
    {
      baseUrl: `${server.url}/api/v1`,
      variants: VARIANT_LIST_DEFAULTS,
      seasonParameter: 'seasonName',
      idempotencyHeader: undefined,
    },
    { sender: transport },
  );
  const sequence = createReadSequence(store, clock);
  const lists = createShortLists({ store, clock, read: v1.shortList, sequence });
  const { signal } = new AbortController();
  return {
    server,
    refresh: (since: number) => lists.refresh('seasons', since, signal),
  };
}

it('a list out of a cache is read once, and the order waits for a newer one', async () => {
  const clock = manualClock();
  const { server, refresh } = await startLists(clock, 600);
  const error = await rejection(refresh(clock.now()));
  expect(error).toMatchObject({ code: 'outbox.list_from_cache' });
  expect(String(error)).toMatch(/list of seasons as it was 10m/);
  expect(server.seen).toHaveLength(1);
  await clock.advance(600_000);
  await refresh(clock.now() - 600_000);
  expect(server.seen).toHaveLength(2);
});

it('a list that was read before the clock was set back is read again', async () => {
  const clock = manualClock();
  const { server, refresh } = await startLists(clock, 0);
  await refresh(clock.now());
  clock.step(-HOUR);
  await clock.advance(HOUR / 2);
  await refresh(clock.now());
  await refresh(clock.now());
  expect(server.seen).toHaveLength(2);
});

it('orders that come together share the read of a list', async () => {
  const clock = manualClock();
  const { server, refresh } = await startLists(clock, 0);
  await Promise.all([refresh(clock.now()), refresh(clock.now()), refresh(clock.now())]);
  expect(server.seen).toHaveLength(1);
});
