import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { ConflictError, RefusedError, RetryLaterError, StoreError } from '../../src/lib/errors.ts';
import type { JsonObject } from '../../src/lib/json.ts';
import { createBench, lost, NO, OVERTAKEN, reviewOf, unanswered, YES } from './support.ts';

const HOUR = 3_600_000;

function fail(error: Error) {
  return () => {
    throw error;
  };
}

describe('one push', () => {
  it('is looked at, sent, looked at again and confirmed', async () => {
    const bench = await createBench();
    const id = await bench.add(1);
    bench.script.lookUp = () => (bench.sends.length === 0 ? NO : YES);
    bench.start();
    await bench.clock.advance(10);
    expect(await bench.row(id)).toMatchObject({ state: 'confirmed', attempts: 1 });
    expect(await bench.attempts(id)).toEqual(['done']);
    expect(bench.ends).toEqual([`${id} confirmed`]);
    expect(bench.moves).toEqual([`${id} sent`, `${id} confirmed`]);
    const evidence = await bench.store.db.selectFrom('outbox_evidence').selectAll().execute();
    expect(evidence).toMatchObject([{ outbox_id: id, outcome: 'matched' }]);
  });

  it('that is good is sent at once beside 100 that fail', async () => {
    const bench = await createBench();
    const bad = new Set<number>();
    for (let nth = 1; nth <= 100; nth += 1) bad.add(await bench.add(nth));
    bench.script.lookUp = ({ outboxId }) => {
      if (bad.has(outboxId)) throw new RetryLaterError('transport.connect', 'refused');
      return bench.sends.includes(outboxId) ? YES : NO;
    };
    const { dispatcher } = bench.start();
    await bench.clock.advance(5 * 60_000);
    const good = await bench.add(1_000);
    dispatcher.wakeUp();
    await bench.clock.advance(10);
    expect(bench.sends).toEqual([good]);
  });

  it('whose effect is there already is confirmed without being sent', async () => {
    const bench = await createBench();
    const id = await bench.add(1);
    bench.script.lookUp = () => YES;
    bench.start();
    await bench.clock.advance(10);
    expect(await bench.row(id)).toMatchObject({ state: 'confirmed', attempts: 0 });
    expect(bench.sends).toEqual([]);
  });

  it('whose answer left something open is completed by the look', async () => {
    const bench = await createBench();
    const id = await bench.add(1);
    const answer = { orderId: 7, orderNo: null, deliveries: [], styleId: 'a' };
    const result = { orderId: 7, orderNo: 'SO-7', deliveries: [{ orderDeliveryId: 1 }] };
    bench.script.lookUp = () =>
      bench.sends.length === 0 ? NO : { ...YES, result: { ...result, styleId: null } };
    bench.script.send = () => answer;
    bench.start();
    await bench.clock.advance(10);
    const row = await bench.row(id);
    expect(JSON.parse(row.result ?? '')).toEqual({ ...result, styleId: 'a' });
  });

  it('that the world has overtaken is refused without being sent', async () => {
    const bench = await createBench();
    const id = await bench.add(1);
    bench.script.lookUp = () => OVERTAKEN;
    bench.start();
    await bench.clock.advance(10);
    expect(await bench.row(id)).toMatchObject({
      state: 'refused',
      last_error: 'decided elsewhere',
    });
    expect(bench.sends).toEqual([]);
  });

  it('that the service refuses ends with the words of the service', async () => {
    const bench = await createBench();
    const id = await bench.add(1);
    bench.script.send = (_, { onStatus }) => {
      onStatus(422);
      throw new RefusedError('service.invalid', 'no', { lines: ['a: b'] });
    };
    bench.start();
    await bench.clock.advance(HOUR);
    expect(await bench.row(id)).toMatchObject({ state: 'refused', last_error: '‹a: b›' });
    expect(bench.moves).toEqual([`${id} refused`]);
    const attempts = await bench.store.db.selectFrom('outbox_attempt').selectAll().execute();
    expect(attempts).toMatchObject([{ class: 'refused', http_status: 422 }]);
  });

  it('that nobody answers behind a log-in does not show the 401 from before it', async () => {
    const bench = await createBench();
    const id = await bench.add(1);
    bench.script.lookUp = () => (bench.sends.length === 0 ? NO : YES);
    bench.script.send = (_, { beforeSend, onStatus }) => {
      beforeSend();
      onStatus(401);
      beforeSend();
      return lost();
    };
    bench.start();
    await bench.clock.advance(HOUR);
    expect(await bench.row(id)).toMatchObject({ state: 'confirmed' });
    const attempts = await bench.store.db.selectFrom('outbox_attempt').selectAll().execute();
    expect(attempts).toMatchObject([{ class: 'ambiguous', http_status: null }]);
  });

  it('that the service refuses for each of its lines shows a few, and keeps them all', async () => {
    const bench = await createBench();
    const id = await bench.add(1);
    const lines = Array.from({ length: 5_000 }, (_, at) => `orderLineItems.${at}.barcode: unknown`);
    bench.script.send = fail(new RefusedError('service.invalid', 'no', { lines }));
    bench.start();
    await bench.clock.advance(10);
    const row = await bench.row(id);
    expect(row.last_error).toMatch(/^‹orderLineItems.0.barcode: unknown; .*›; and 4980 more$/);
    expect(row.last_error?.length).toBeLessThan(1_000);
    expect(JSON.parse(row.problems ?? '')).toHaveLength(5_000);
  });

  it('that meets a conflict is looked at, and closed as decided elsewhere', async () => {
    const bench = await createBench();
    const id = await bench.add(1);
    bench.script.lookUp = () => (bench.sends.length === 0 ? NO : OVERTAKEN);
    bench.script.send = fail(new ConflictError('service.conflict', 'rejected is final'));
    bench.start();
    await bench.clock.advance(10);
    expect(await bench.row(id)).toMatchObject({
      state: 'refused',
      last_error: 'decided elsewhere',
    });
    expect(await bench.attempts(id)).toEqual(['conflict']);
  });

  it('that was not processed is sent again after the wait that was asked for', async () => {
    const bench = await createBench();
    const id = await bench.add(1);
    bench.script.lookUp = () => (bench.sends.length < 2 ? NO : YES);
    bench.script.send = () => {
      if (bench.sends.length > 1) return {};
      throw new RetryLaterError('service.too_fast', '429', { retryAfterMs: 20_000 });
    };
    bench.start();
    await bench.clock.advance(19_000);
    expect(bench.sends).toHaveLength(1);
    expect(await bench.row(id)).toMatchObject({ state: 'queued', last_error: '429' });
    await bench.clock.advance(2_000);
    expect(await bench.row(id)).toMatchObject({ state: 'confirmed', attempts: 2 });
  });

  it('waits as long as was asked for, also while others are looked up', async () => {
    const bench = await createBench();
    for (let nth = 1; nth <= 20; nth += 1) await bench.add(nth);
    bench.script.send = fail(new RetryLaterError('service.fault', '503', { retryAfterMs: 50_000 }));
    bench.start();
    await bench.clock.advance(45_000);
    expect(bench.sends).toHaveLength(20);
  });
});

describe('a push in doubt', () => {
  it('is not confirmed by what a person knew before it was sent once more', async () => {
    const bench = await createBench();
    const id = await bench.add(1);
    bench.creates = true;
    bench.script.send = lost;
    bench.start();
    await bench.clock.advance(2_000);
    const reading = Promise.withResolvers<JsonObject>();
    const review = reviewOf(bench, { reconcileAfterMs: 0, confirm: () => reading.promise });
    const who = { actor: 'anna', reason: 'asked support' };
    const confirming = review.resolve(id, { as: 'confirmed', id: '7' }, who);
    await review.resolve(id, { as: 'absent' }, { ...who, actor: 'bo' });
    await bench.clock.advance(10_000);
    expect(await bench.row(id)).toMatchObject({ state: 'in_doubt', attempts: 2 });
    reading.resolve({ orderId: 7 });
    await expect(confirming).rejects.toMatchObject({ code: 'outbox.wrong_state' });
    expect(await bench.row(id)).toMatchObject({ state: 'in_doubt', result: null });
  });

  it('whose effect is found is confirmed and never sent again', async () => {
    const bench = await createBench();
    const id = await bench.add(1);
    bench.script.lookUp = () => (bench.sends.length === 0 ? NO : YES);
    bench.script.send = lost;
    bench.start();
    await bench.clock.advance(HOUR);
    expect(await bench.row(id)).toMatchObject({ state: 'confirmed', in_doubt_since: null });
    expect(bench.sends).toHaveLength(1);
    expect(await bench.attempts(id)).toEqual(['ambiguous']);
  });

  it('is sent again with growing pauses, and after five attempts left to a person', async () => {
    const bench = await createBench();
    const id = await bench.add(1);
    bench.script.send = lost;
    bench.start();
    await bench.clock.advance(900);
    expect(bench.sends).toHaveLength(1);
    expect(await bench.row(id)).toMatchObject({ state: 'queued', in_doubt_since: null });
    await bench.clock.advance(1_000);
    expect(bench.sends).toHaveLength(2);
    await bench.clock.advance(1_000);
    expect(bench.sends).toHaveLength(2);
    await bench.clock.advance(HOUR);
    expect(bench.sends).toHaveLength(5);
    expect(await bench.row(id)).toMatchObject({
      state: 'dead',
      last_error: 'tried 5 times without an effect',
    });
    expect(bench.ends).toEqual([`${id} dead`]);
  });

  it('begins its pauses anew once it could be looked for', async () => {
    const bench = await createBench();
    await bench.add(1);
    bench.creates = true;
    bench.script.send = lost;
    let isAway = false;
    bench.script.lookUp = () => {
      if (isAway) throw new RetryLaterError('transport.timeout', 'no answer');
      return NO;
    };
    const looksOf = async (minutes: number) => {
      const before = bench.looks.length;
      await bench.clock.advance((minutes * HOUR) / 60);
      return bench.looks.length - before;
    };
    bench.start();
    await bench.clock.advance(10);
    isAway = true;
    const looks = await looksOf(5);
    isAway = false;
    await looksOf(3);
    isAway = true;
    expect(await looksOf(5)).toBeGreaterThan(looks - 3);
  });

  it('waits for as long as nothing can be found out, without a busy loop', async () => {
    const bench = await createBench();
    const id = await bench.add(1);
    bench.script.lookUp = () => {
      if (bench.sends.length === 0) return NO;
      throw new RetryLaterError('transport.timeout', 'no answer');
    };
    bench.script.send = lost;
    bench.start();
    await bench.clock.advance(HOUR);
    expect(await bench.row(id)).toMatchObject({ state: 'in_doubt', last_error: 'no answer' });
    expect(bench.sends).toHaveLength(1);
    // Pauses of 1, 2, 4 … 60 s: some 65 looks in an hour.
    expect(bench.looks.length).toBeGreaterThan(40);
    expect(bench.looks.length).toBeLessThan(75);
    expect(bench.sleeps()).toBeLessThan(250);
  });

  it('is what a push becomes that a stop cut off while it was sent', async () => {
    const bench = await createBench();
    const id = await bench.add(1);
    bench.script.send = (_, call) => unanswered(call);
    const first = bench.start();
    await bench.clock.advance(10);
    expect(await bench.row(id)).toMatchObject({ state: 'sending' });
    await first.stop();
    expect(await bench.row(id)).toMatchObject({ state: 'in_doubt' });
  });

  it('is what a push becomes that was on its way when the process died', async () => {
    const bench = await createBench();
    const id = await bench.add(1);
    bench.script.send = (_, call) => unanswered(call);
    bench.start();
    await bench.clock.advance(10);
    bench.script.lookUp = () => YES;
    // The first dispatcher never hears of it again, as after a kill.
    bench.start();
    await bench.clock.advance(10);
    expect(await bench.row(id)).toMatchObject({ state: 'confirmed', attempts: 1 });
    expect(await bench.attempts(id)).toEqual(['interrupted']);
    expect(bench.sends).toHaveLength(1);
  });
});

describe('a push that was answered', () => {
  it('and is undone by somebody is not sent again', async () => {
    const bench = await createBench();
    const id = await bench.add(1);
    bench.start();
    await bench.clock.advance(HOUR);
    expect(bench.sends).toHaveLength(1);
    expect(await bench.row(id)).toMatchObject({ state: 'refused' });
    expect((await bench.row(id)).last_error).toContain('somebody put it back');
  });

  it('is confirmed when the service shows it a moment later', async () => {
    const bench = await createBench();
    const id = await bench.add(1);
    bench.script.lookUp = () => (bench.looks.length < 3 ? NO : YES);
    bench.start();
    await bench.clock.advance(900);
    expect(await bench.row(id)).toMatchObject({ state: 'in_doubt' });
    await bench.clock.advance(HOUR);
    expect(bench.sends).toHaveLength(1);
    expect(await bench.row(id)).toMatchObject({ state: 'confirmed' });
  });

  it('and then overtaken is refused', async () => {
    const bench = await createBench();
    const id = await bench.add(1);
    bench.script.lookUp = () => (bench.sends.length === 0 ? NO : OVERTAKEN);
    bench.start();
    await bench.clock.advance(10);
    expect(await bench.row(id)).toMatchObject({
      state: 'refused',
      last_error: 'decided elsewhere',
    });
  });
});

describe('a failing database', () => {
  it('ends the run, and the next run settles what was on its way without sending it', async () => {
    const bench = await createBench();
    const id = await bench.add(1);
    bench.script.lookUp = () => (bench.sends.length === 0 ? NO : YES);
    await sql`create trigger broken before update on outbox_attempt
      begin select raise(abort, 'the disk is full'); end`.execute(bench.store.db);
    const first = bench.start();
    const ended = expect(first.done).rejects.toThrow('the disk is full');
    await bench.clock.advance(10);
    await ended;
    expect(await bench.row(id)).toMatchObject({ state: 'sending' });
    await sql`drop trigger broken`.execute(bench.store.db);
    bench.start();
    await bench.clock.advance(10);
    expect(await bench.row(id)).toMatchObject({ state: 'confirmed' });
    expect(bench.sends).toHaveLength(1);
  });

  it('ends the run where it fails during a look, and puts nothing off', async () => {
    const bench = await createBench();
    const id = await bench.add(1);
    bench.script.lookUp = fail(new StoreError('store.failed', 'the disk is full'));
    const outcome = bench.start().done.catch((error: Error) => error.message);
    await bench.clock.advance(10);
    expect(await bench.row(id)).toMatchObject({ last_error: null });
    expect(await outcome).toBe('the disk is full');
  });

  it('ends the run only once nothing is on its way any more', async () => {
    const bench = await createBench();
    const slow = await bench.add(1);
    const broken = await bench.add(2);
    const answer = Promise.withResolvers<JsonObject>();
    bench.script.send = (item) => (item.outboxId === slow ? answer.promise : {});
    await sql`create trigger broken before update on outbox_attempt when new.outbox_id = 2
      begin select raise(abort, 'the disk is full'); end`.execute(bench.store.db);
    const { done } = bench.start();
    let isOver = false;
    const ended = expect(done).rejects.toThrow('the disk is full');
    void ended.then(() => {
      isOver = true;
    });
    await bench.clock.advance(HOUR / 60);
    expect([...bench.sends].sort()).toEqual([slow, broken]);
    expect(isOver).toBe(false);
    answer.resolve({});
    await ended;
    expect(await bench.attempts(slow)).toEqual(['done']);
  });
});

it('does not wait, after a restart, until a clock that was set back has caught up', async () => {
  const bench = await createBench();
  const id = await bench.add(1);
  let isThere = false;
  bench.script.lookUp = () => {
    if (!isThere)
      throw new RetryLaterError('transport.connect', 'its certificate is not valid yet');
    return YES;
  };
  bench.clock.step(24 * HOUR);
  const { stop } = bench.start();
  await bench.clock.advance(HOUR / 60);
  await stop();
  expect(await bench.row(id)).toMatchObject({ state: 'queued' });
  bench.clock.step(-24 * HOUR);
  isThere = true;
  bench.start();
  await bench.clock.advance(HOUR / 60);
  expect(await bench.row(id)).toMatchObject({ state: 'confirmed' });
});
