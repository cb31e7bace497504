import { dirname } from 'node:path';
import { sql } from 'kysely';
import { expect, it, onTestFinished } from 'vitest';
import { createV1Client } from '../../src/client/v1/client.ts';
import { VARIANT_LIST_DEFAULTS } from '../../src/client/v1/variants.ts';
import { createV2Client } from '../../src/client/v2/client.ts';
import { manualClock } from '../../src/lib/clock.ts';
import { silentLogger } from '../../src/lib/log.ts';
import { openOutboxStops } from '../../src/outbox/stops.ts';
import { createWatch } from '../../src/outbox/watch/watch.ts';
import { pausePushes, pauseReason, resumePushes } from '../../src/store/care/pause.ts';
import { turnsOfThread } from '../../src/store/writers/turns.ts';
import { answerJson, envelope, impatient, startFaulty } from '../client/support.ts';
import { temporaryStore } from '../support/store.ts';
import { createBench, NO, OVERTAKEN } from './support.ts';

const ASKER = { actor: 'ada', reason: 'wrong prices' };

it('goes on when its end could not be written down', async () => {
  const clock = manualClock();
  const store = await temporaryStore(clock);
  const stops = await openOutboxStops({ store, clock, log: silentLogger() });
  const stopping = stops.stop('order', ASKER);
  // Before it is written down: what is about to be sent must not slip through.
  expect(stops.brake('order')).toBe('ada stopped order: wrong prices');
  await stopping;
  await sql`create trigger full before insert on audit begin
    select raise(abort, 'the disk is full'); end`.execute(store.db);
  await expect(stops.resume('order', ASKER)).rejects.toThrow('the disk is full');
  expect(stops.brake('order')).toBe('ada stopped order: wrong prices');
  await sql`drop trigger full`.execute(store.db);
  await stops.resume('order', ASKER);
  expect(stops.brake('order')).toBeUndefined();
});

it('may be thrown again when it could not be written down', async () => {
  const clock = manualClock();
  const store = await temporaryStore(clock);
  const open = () => openOutboxStops({ store, clock, log: silentLogger() });
  const stops = await open();
  await sql`create trigger full before insert on audit begin
    select raise(abort, 'the disk is full'); end`.execute(store.db);
  await expect(stops.stop('order', ASKER)).rejects.toThrow('the disk is full');
  expect(stops.brake('order')).toBeUndefined();
  await sql`drop trigger full`.execute(store.db);
  await stops.stop('order', ASKER);
  for (const { brake } of [stops, await open()]) {
    expect(brake('order')).toBe('ada stopped order: wrong prices');
  }
});

it('outlives restarts, each kind and everything by itself', async () => {
  const clock = manualClock();
  const store = await temporaryStore(clock);
  const open = () => openOutboxStops({ store, clock, log: silentLogger() });
  const first = await open();
  await first.stop('order', ASKER);
  await first.stop(null, { ...ASKER, reason: 'the service is being moved' });
  const second = await open();
  expect(second.brake('style')).toBe('ada stopped everything: the service is being moved');
  await second.resume(null, ASKER);
  const third = await open();
  expect(third.brake('style')).toBeUndefined();
  expect(third.brake('order')).toBe('ada stopped order: wrong prices');
  await expect(third.resume(null, ASKER)).rejects.toMatchObject({ code: 'outbox.not_stopped' });
  await third.resume('order', ASKER);
  expect((await open()).brake('order')).toBeUndefined();
  const audit = await store.db.selectFrom('audit').select(['action', 'subject']).execute();
  expect(audit.map(({ action, subject }) => `${action} ${subject}`)).toEqual([
    'outbox.stop outbox:order',
    'outbox.stop outbox',
    'outbox.resume outbox',
    'outbox.resume outbox:order',
  ]);
});

it('stops what was cleared and waits for its turn to be written down', async () => {
  const bench = await createBench();
  const outboxId = await bench.add(1);
  const { dispatcher } = bench.start();
  const thread = turnsOfThread(bench.store.turns);
  bench.script.look = async () => {
    // The thread of a pull writes from now on.
    await thread.enter();
    return NO;
  };
  await bench.clock.advance(0);
  expect(bench.looks).toEqual([outboxId]);
  bench.brake = true;
  bench.script.look = () => NO;
  thread.leave();
  await bench.clock.advance(0);
  expect(bench.sends).toEqual([]);
  expect(await bench.row(outboxId)).toMatchObject({ state: 'queued', last_error: 'stopped' });
  bench.brake = false;
  dispatcher.nudge();
  await bench.clock.advance(0);
  expect(bench.sends).toEqual([outboxId]);
});

it('may be thrown again while its end is being written down', async () => {
  const clock = manualClock();
  const store = await temporaryStore(clock);
  const open = () => openOutboxStops({ store, clock, log: silentLogger() });
  const stops = await open();
  await stops.stop('order', ASKER);
  const resuming = stops.resume('order', ASKER);
  await stops.stop('order', { ...ASKER, reason: 'they are wrong again' });
  await resuming;
  for (const { brake } of [stops, await open()]) {
    expect(brake('order')).toBe('ada stopped order: they are wrong again');
  }
});

it('is the only one of its kind though the end of one before could not be written', async () => {
  const clock = manualClock();
  const store = await temporaryStore(clock);
  const open = () => openOutboxStops({ store, clock, log: silentLogger() });
  const stops = await open();
  await stops.stop('order', ASKER);
  await sql`create trigger full before insert on audit when new.action = 'outbox.resume' begin
    select raise(abort, 'the disk is full'); end`.execute(store.db);
  const resuming = stops.resume('order', ASKER);
  const again = stops.stop('order', { ...ASKER, reason: 'they are wrong again' });
  await expect(resuming).rejects.toThrow('the disk is full');
  await again;
  await sql`drop trigger full`.execute(store.db);
  for (const { brake } of [stops, await open()]) {
    expect(brake('order')).toBe('ada stopped order: they are wrong again');
  }
  await stops.resume('order', ASKER);
  for (const { brake } of [stops, await open()]) expect(brake('order')).toBeUndefined();
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
  'stops what waits for its turn with %s, and sends it at once when it may',
  async (api) => {
    const { bench, dispatcher, outboxId, seen } = await waitingPush(api);
    bench.brake = true;
    await bench.clock.advance(50_000);
    await bench.clock.advance(50_000);
    expect(seen).toEqual(['GET /first']);
    expect(await bench.row(outboxId)).toMatchObject({ state: 'queued', last_error: 'stopped' });
    expect(await bench.attempts(outboxId)).toEqual(['not_processed']);
    expect(bench.sends).toHaveLength(1);
    bench.brake = false;
    bench.script.send = () => ({ status: 'accepted' });
    dispatcher.nudge();
    await bench.clock.advance(0);
    expect(bench.sends).toHaveLength(2);
  },
);

it('checks anew what waited for its turn through a whole stop', async () => {
  const { bench, dispatcher, outboxId, seen } = await waitingPush('v1');
  bench.brake = true;
  dispatcher.nudge();
  bench.brake = false;
  dispatcher.nudge();
  bench.script.look = () => OVERTAKEN;
  await bench.clock.advance(50_000);
  expect(seen).toEqual(['GET /first']);
  expect(await bench.row(outboxId)).toMatchObject({ state: 'refused', attempts: 1 });
  expect(await bench.attempts(outboxId)).toEqual(['not_processed']);
});

it('checks anew what was being checked through a whole stop', async () => {
  const bench = await createBench();
  const outboxId = await bench.add(1);
  const { dispatcher } = bench.start();
  const answered = Promise.withResolvers<typeof NO>();
  bench.script.look = () => answered.promise;
  await bench.clock.advance(0);
  for (const isStopped of [true, false]) {
    bench.brake = isStopped;
    dispatcher.nudge();
  }
  bench.script.look = () => OVERTAKEN;
  answered.resolve(NO);
  await bench.clock.advance(0);
  expect([bench.sends, bench.looks]).toEqual([[], [outboxId, outboxId]]);
});

it('leaves a pause and its end in the audit, also where a restart lies between them', async () => {
  const clock = manualClock();
  const store = await temporaryStore(clock);
  const dataDir = dirname(store.path);
  const limits = { alertAfterMs: 60_000, refundAlertAfterMs: 60_000, quietMs: 60_000 };
  const round = async (): Promise<void> => {
    const stop = new AbortController();
    const watch = createWatch({
      ...{ store, clock, log: silentLogger() },
      ...{
        limits: { ...limits, auditEveryMs: 60_000 },
        brake: () => undefined,
        pauseReason: () => pauseReason(dataDir),
      },
    });
    const done = watch.run(stop.signal);
    await clock.advance(61_000);
    stop.abort();
    await done;
  };
  await round();
  pausePushes(dataDir, 'wrong prices (ada)');
  await round();
  await round();
  resumePushes(dataDir);
  await round();
  const rows = await store.db.selectFrom('audit').select(['action', 'actor', 'reason']).execute();
  expect(rows).toEqual([
    { action: 'sending.pause', actor: 'file', reason: 'wrong prices (ada)' },
    { action: 'sending.resume', actor: 'file', reason: 'it was paused: wrong prices (ada)' },
  ]);
});
