import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { manualClock } from '../../src/lib/clock.ts';
import { silentLogger } from '../../src/lib/log.ts';
import { openOutboxStops } from '../../src/outbox/stops.ts';
import { turnsOfThread } from '../../src/store/writers/turns.ts';
import { temporaryStore } from '../support/store.ts';
import { createBench, NO } from './support.ts';

const ASKER = { actor: 'ada', reason: 'wrong prices' };

it('goes on when its end could not be written down', async () => {
  const clock = manualClock();
  const store = await temporaryStore(clock);
  const stops = await openOutboxStops({ store, clock, log: silentLogger() });
  await stops.stop('order', ASKER);
  await sql`create trigger full before insert on audit begin
    select raise(abort, 'the disk is full'); end`.execute(store.db);
  await expect(stops.resume('order', ASKER)).rejects.toThrow('the disk is full');
  expect(stops.brake('order')).toBe('ada stopped order: wrong prices');
  await sql`drop trigger full`.execute(store.db);
  await stops.resume('order', ASKER);
  expect(stops.brake('order')).toBeUndefined();
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
