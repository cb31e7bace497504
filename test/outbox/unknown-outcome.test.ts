/** Doubts that cannot be settled as fast as others. */
import { describe, expect, it } from 'vitest';
import { ConflictError, RetryLaterError } from '../../src/lib/errors.ts';
import { knownBefore } from '../../src/outbox/evidence/records.ts';
import { settlementDelay } from '../../src/outbox/reconcile.ts';
import { readState, writeState } from '../../src/store/state.ts';
import { createBench, lost, NO, reviewOf, unanswered, YES } from './support.ts';

const MINUTE = 60_000;
const LATENESS = 'outbox.latest_effect_ms';
const WHO = { actor: 'anna', reason: 'asked support' };

/**
 * An order was sent, nobody has answered, and the daemon rests for longer than until a person is
 * asked.
 */
async function rested() {
  const bench = await createBench();
  bench.creates = true;
  bench.limits.reviewAfterMs = 20 * MINUTE;
  const id = await bench.add(1);
  bench.script.send = lost;
  const { stop } = bench.start();
  await bench.clock.advance(MINUTE);
  await stop();
  await bench.clock.advance(120 * MINUTE);
  return { bench, id };
}

const TAKEN = 'the service answered that it took it; ';

describe('what can never be looked for', () => {
  it.each([
    ['in doubt', lost, ''],
    ['taken by the service', () => ({ orderId: 7 }), TAKEN],
  ])('%s, is for a person in the end', async (_, send, taken) => {
    const bench = await createBench();
    bench.creates = true;
    bench.limits.reviewAfterMs = 20 * MINUTE;
    const id = await bench.add(1);
    bench.script.lookUp = () => {
      if (bench.sends.length === 0) return NO;
      throw new RetryLaterError('transport.broken_answer', 'its answer cannot be read');
    };
    bench.script.send = send;
    bench.start();
    await bench.clock.advance(19 * MINUTE);
    expect(await bench.row(id)).toMatchObject({ blocked_reason: null, ended_at: null });
    await bench.clock.advance(3 * MINUTE);
    expect(await bench.row(id)).toMatchObject({
      state: 'in_doubt',
      blocked_reason: `${taken}for too long it could not be looked up: its answer cannot be read`,
    });
    const looks = bench.looks.length;
    await bench.clock.advance(60 * MINUTE);
    expect([bench.looks.length, bench.sends]).toEqual([looks, [id]]);
  });

  it('waits while the service is away, however long that is', async () => {
    const bench = await createBench();
    bench.creates = true;
    bench.limits.reviewAfterMs = 20 * MINUTE;
    const id = await bench.add(1);
    let isAway = false;
    bench.script.lookUp = () => {
      if (isAway) throw new RetryLaterError('transport.not_sent', 'nothing listens there');
      return bench.sends.length === 0 ? NO : YES;
    };
    bench.script.send = () => {
      isAway = true;
      return lost();
    };
    bench.start();
    await bench.clock.advance(120 * MINUTE);
    expect(await bench.row(id)).toMatchObject({ state: 'in_doubt', blocked_reason: null });
    isAway = false;
    await bench.clock.advance(60 * MINUTE);
    expect(await bench.row(id)).toMatchObject({ state: 'confirmed' });
    expect(bench.sends).toEqual([id]);
  });

  it.each([
    [
      'page about maintenance',
      () => {
        throw new RetryLaterError('transport.broken_answer', 'a page about maintenance');
      },
    ],
    ['list that is cut short', () => ({ ...NO, complete: false }) as const],
  ])('is not left to a person for one %s after a rest of days', async (_, odd) => {
    const { bench, id } = await rested();
    const restarted = bench.clock.now();
    bench.script.lookUp = () => (bench.clock.now() - restarted < MINUTE / 2 ? odd() : YES);
    bench.start();
    await bench.clock.advance(3 * MINUTE);
    expect(await bench.row(id)).toMatchObject({ state: 'confirmed', blocked_reason: null });
  });

  it('is proved absent by two looks also after an outage of days', async () => {
    const bench = await createBench();
    bench.creates = true;
    bench.limits.reviewAfterMs = 20 * MINUTE;
    const id = await bench.add(1);
    let isAway = false;
    bench.script.lookUp = () => {
      if (isAway) throw new RetryLaterError('transport.not_sent', 'nothing listens there');
      return bench.sends.length < 2 ? NO : YES;
    };
    bench.script.send = () => {
      isAway = bench.sends.length === 1;
      if (isAway) return lost();
      return { orderId: 7 };
    };
    bench.start();
    await bench.clock.advance(120 * MINUTE);
    isAway = false;
    await bench.clock.advance(0.9 * MINUTE);
    expect(await bench.row(id)).toMatchObject({ state: 'in_doubt', blocked_reason: null });
    expect(bench.sends).toEqual([id]);
    await bench.clock.advance(2.4 * MINUTE);
    expect(await bench.row(id)).toMatchObject({ state: 'confirmed' });
    expect(bench.sends).toEqual([id, id]);
  });

  it('is watched for one more quiet time before that after a rest of days', async () => {
    const { bench, id } = await rested();
    bench.script.send = () => ({ orderId: 7 });
    bench.script.lookUp = () => (bench.sends.length === 1 ? NO : YES);
    bench.start();
    await bench.clock.advance(12.9 * MINUTE);
    expect(await bench.row(id)).toMatchObject({ state: 'in_doubt', blocked_reason: null });
    expect(bench.sends).toEqual([id]);
    await bench.clock.advance(0.2 * MINUTE);
    expect(await bench.row(id)).toMatchObject({ state: 'confirmed' });
    expect(bench.sends).toEqual([id, id]);
  });
});

it('is for a person where the daemon never runs for a whole quiet time', async () => {
  const bench = await createBench();
  bench.creates = true;
  bench.limits.reviewAfterMs = 60 * MINUTE;
  const id = await bench.add(1);
  bench.script.send = lost;
  for (let passed = 0; passed < 80; passed += 10) {
    expect(await bench.row(id)).toMatchObject({ blocked_reason: null });
    const { stop } = bench.start();
    await bench.clock.advance(10 * MINUTE);
    await stop();
  }
  expect(bench.sends).toEqual([id]);
  expect((await bench.row(id)).blocked_reason).toContain('neither found nor proved absent');
});

it('waits for twice the time after which an effect was last seen to come', async () => {
  const bench = await createBench();
  bench.creates = true;
  await writeState(bench.store.db, LATENESS, String(9 * MINUTE), bench.clock);
  const id = await bench.add(1);
  bench.script.send = lost;
  bench.start();
  await bench.clock.advance(17 * MINUTE);
  await expect(reviewOf(bench).resolve(id, { as: 'absent' }, WHO)).rejects.toMatchObject({
    code: 'outbox.too_early',
  });
  await bench.clock.advance(1.9 * MINUTE);
  expect(bench.sends).toEqual([id]);
  await bench.clock.advance(1.2 * MINUTE);
  expect(bench.sends).toEqual([id, id]);
});

it('learns no lateness from a clock that was ahead when the daemon started', async () => {
  const bench = await createBench();
  bench.creates = true;
  bench.script.send = lost;
  const id = await bench.add(1);
  const { stop } = bench.start();
  await bench.clock.advance(MINUTE);
  await stop();
  bench.clock.step(365 * 24 * 60 * MINUTE);
  const restartedAt = bench.clock.now();
  bench.script.lookUp = () => (bench.clock.now() - restartedAt < MINUTE ? NO : YES);
  bench.start();
  await bench.clock.advance(3 * MINUTE);
  expect(await bench.row(id)).toMatchObject({ state: 'confirmed' });
  expect(Number(await readState(bench.store.db, LATENESS))).toBeLessThanOrEqual(MINUTE);
});

it('keeps the worst lateness that was seen', async () => {
  const bench = await createBench();
  bench.creates = true;
  bench.script.send = lost;
  bench.script.lookUp = ({ state }) => (state === 'queued' || bench.looks.length < 8 ? NO : YES);
  await writeState(bench.store.db, LATENESS, String(9 * MINUTE), bench.clock);
  const id = await bench.add(1);
  bench.start();
  await bench.clock.advance(10 * MINUTE);
  expect(await bench.row(id)).toMatchObject({ state: 'confirmed' });
  expect(await readState(bench.store.db, LATENESS)).toBe(String(9 * MINUTE));
});

describe('a lateness that was seen once', () => {
  const DAY = 86_400_000;
  const delayOf = ({ store, clock }: Awaited<ReturnType<typeof createBench>>) =>
    settlementDelay(store.db, MINUTE, clock.now());

  it('is forgotten after 90 days', async () => {
    const bench = await createBench();
    await writeState(bench.store.db, LATENESS, String(9 * MINUTE), bench.clock);
    await bench.clock.advance(90 * DAY - 1);
    expect(await delayOf(bench)).toBe(18 * MINUTE);
    await bench.clock.advance(1);
    expect(await delayOf(bench)).toBe(MINUTE);
  });

  it('is kept as long as effects come later than half the settlement delay', async () => {
    const bench = await createBench();
    bench.creates = true;
    await writeState(bench.store.db, LATENESS, String(9 * MINUTE), bench.clock);
    const lateBy = async (delivery: number, ms: number) => {
      const since = bench.clock.now();
      bench.script.send = lost;
      bench.script.lookUp = () => (bench.clock.now() - since < ms ? NO : YES);
      const id = await bench.add(delivery);
      const { stop } = bench.start();
      await bench.clock.advance(10 * MINUTE);
      await stop();
      expect(await bench.row(id)).toMatchObject({ state: 'confirmed' });
    };
    await bench.clock.advance(60 * DAY);
    await lateBy(1, 7 * MINUTE);
    await bench.clock.advance(60 * DAY);
    expect(await delayOf(bench)).toBe(18 * MINUTE);
    await lateBy(2, 3 * MINUTE);
    await bench.clock.advance(60 * DAY);
    expect(await delayOf(bench)).toBe(MINUTE);
  });
});

describe('what makes something new', () => {
  it('is not sent again where the service answered that it took it, and has it not', async () => {
    const bench = await createBench();
    bench.creates = true;
    const id = await bench.add(1);
    bench.script.send = () => ({ orderId: 7 });
    bench.start();
    await bench.clock.advance(60 * MINUTE);
    expect(bench.sends).toEqual([id]);
    expect(await bench.row(id)).toMatchObject({
      state: 'in_doubt',
      blocked_reason: 'the service answered that it took it, and has it not',
    });
  });

  it('is for a person where it is too old before its quiet time is over', async () => {
    const bench = await createBench();
    bench.creates = true;
    bench.limits.reviewAfterMs = 10 * MINUTE;
    const id = await bench.add(1);
    bench.script.send = lost;
    bench.start();
    await bench.clock.advance(9 * MINUTE);
    expect(await bench.row(id)).toMatchObject({ state: 'in_doubt', blocked_reason: null });
    await bench.clock.advance(2 * MINUTE);
    expect((await bench.row(id)).blocked_reason).toContain('neither found nor proved absent');
    await bench.clock.advance(10 * MINUTE);
    expect(bench.sends).toEqual([id]);
  });

  it('is sent again as soon as it is proved absent', async () => {
    const bench = await createBench();
    bench.creates = true;
    const id = await bench.add(1);
    bench.script.send = lost;
    bench.start();
    // A pause before it would be a second at least.
    await bench.clock.advance(13 * MINUTE + 500);
    expect(bench.sends).toEqual([id, id]);
  });

  it('is not proved absent by a look that began in its quiet time', async () => {
    const bench = await createBench();
    bench.creates = true;
    const id = await bench.add(1);
    const begun = bench.clock.now();
    bench.script.send = lost;
    // Begun half a minute before the quiet time is over, it ends as long after it.
    bench.script.lookUp = async ({ state }) => {
      const since = bench.clock.now() - begun;
      if (state === 'in_doubt' && since > 11 * MINUTE && since < 12 * MINUTE)
        await bench.clock.sleep(MINUTE);
      return NO;
    };
    bench.start();
    await bench.clock.advance(14.4 * MINUTE);
    expect(bench.sends).toEqual([id]);
    await bench.clock.advance(0.2 * MINUTE);
    expect(bench.sends).toEqual([id, id]);
  });

  it('is not proved absent by looks that a person had to judge', async () => {
    const bench = await createBench();
    bench.creates = true;
    const id = await bench.add(1);
    const UNCLEAR = {
      outcome: 'ambiguous',
      reason: 'two have this reference',
      detail: {},
    } as const;
    let isClear = false;
    bench.script.send = lost;
    bench.script.lookUp = ({ state }) => (state === 'queued' || isClear ? NO : UNCLEAR);
    bench.start();
    const retry = async () => {
      await reviewOf(bench).retry({ outboxId: id }, WHO);
      await bench.clock.advance(MINUTE / 2);
    };
    await bench.clock.advance(13 * MINUTE);
    await retry();
    await bench.clock.advance(2 * MINUTE);
    expect((await bench.row(id)).blocked_reason).toBe('two have this reference');
    isClear = true;
    await retry();
    expect(bench.sends).toEqual([id]);
    await bench.clock.advance(2 * MINUTE);
    expect(bench.sends).toEqual([id, id]);
  });

  it('is dead after so many tries that may have had an effect, others do not count', async () => {
    const bench = await createBench();
    bench.creates = true;
    bench.limits.attemptsMax = 2;
    const id = await bench.add(1);
    bench.script.send = () => {
      if (bench.sends.length === 1) throw new RetryLaterError('service.too_fast', '429');
      return lost();
    };
    bench.start();
    await bench.clock.advance(15 * MINUTE);
    expect(await bench.attempts(id)).toEqual(['not_processed', 'ambiguous', 'ambiguous']);
    await bench.clock.advance(15 * MINUTE);
    expect(await bench.row(id)).toMatchObject({ state: 'dead', attempts: 3 });
    // Tried again by a person it has as many tries as before.
    await reviewOf(bench).retry({ outboxId: id }, WHO);
    await bench.clock.advance(20 * MINUTE);
    expect(await bench.row(id)).toMatchObject({ state: 'in_doubt', attempts: 5 });
    await bench.clock.advance(10 * MINUTE);
    expect(await bench.row(id)).toMatchObject({ state: 'dead', attempts: 5 });
  });

  it('cut off by a kill waits for its quiet time, and other tries keep their outcome', async () => {
    const bench = await createBench();
    bench.creates = true;
    const id = await bench.add(1);
    bench.script.send = (_, call) => {
      if (bench.sends.length === 1) throw new RetryLaterError('service.too_fast', '429');
      return unanswered(call);
    };
    bench.start();
    await bench.clock.advance(MINUTE);
    // The first dispatcher never hears of it again, as after a kill.
    bench.start();
    await bench.clock.advance(12.9 * MINUTE);
    expect(bench.sends).toEqual([id, id]);
    await bench.clock.advance(0.3 * MINUTE);
    expect(bench.sends).toEqual([id, id, id]);
    expect(await bench.attempts(id)).toEqual(['not_processed', 'interrupted', null]);
  });
});

it('is looked for although it waited for the very reason that holds others now', async () => {
  const bench = await createBench();
  bench.paused = true;
  const id = await bench.add(1);
  const { dispatcher } = bench.start();
  await bench.clock.advance(10);
  expect(await bench.row(id)).toMatchObject({ state: 'queued', last_error: 'paused' });
  bench.script.send = (_, call) => unanswered(call);
  bench.paused = false;
  dispatcher.wakeUp();
  await bench.clock.advance(10);
  expect(await bench.row(id)).toMatchObject({ state: 'sending' });
  bench.paused = true;
  bench.script.lookUp = () => YES;
  bench.start();
  await bench.clock.advance(10);
  expect(await bench.row(id)).toMatchObject({ state: 'confirmed' });
});

it('is not sent any more once a stop of the daemon has begun', async () => {
  const bench = await createBench();
  const id = await bench.add(1);
  const looked = Promise.withResolvers<typeof NO>();
  bench.script.lookUp = () => looked.promise;
  const { stop } = bench.start();
  await bench.clock.advance(10);
  const stopped = stop();
  looked.resolve(NO);
  await stopped;
  expect(bench.sends).toEqual([]);
  expect(await bench.row(id)).toMatchObject({ state: 'queued', attempts: 0, last_error: null });
});

it('is not sent where a person has canceled it while it was checked', async () => {
  const bench = await createBench();
  const id = await bench.add(1);
  const looked = Promise.withResolvers<typeof NO>();
  bench.script.lookUp = () => looked.promise;
  bench.start();
  await bench.clock.advance(10);
  await reviewOf(bench).cancel({ outboxId: id }, WHO);
  bench.script.lookUp = () => YES;
  looked.resolve(NO);
  const other = await bench.add(2);
  await bench.clock.advance(MINUTE);
  expect([bench.sends, bench.ends]).toEqual([[], [`${other} confirmed`]]);
  expect(await bench.row(id)).toMatchObject({ state: 'canceled', attempts: 0 });
});

it('looks down to what was known before the first try that may have had an effect', async () => {
  const { store } = await createBench();
  const item = { outboxId: 1, createdAt: 0 };
  const told = { outbox_id: 1, http_status: null, error_code: null, answer: null };
  const tried = (attempt: number, way: string | null, max: number, count: number) =>
    store.db
      .insertInto('outbox_attempt')
      .values({
        ...{ ...told, attempt, started_at: 0, ended_at: 0, class: way },
        ...{ max_order_id_before: max, count_before: count },
      })
      .execute();
  await tried(1, 'not_processed', 10, 0);
  await tried(2, 'interrupted', 20, 1);
  await tried(3, 'ambiguous', 30, 2);
  expect(await knownBefore(store.db, item)).toMatchObject({ maxOrderId: 20, count: 1 });
  // Restored while it was on its way: nobody has said how it ended.
  await store.db.updateTable('outbox_attempt').set({ class: null }).execute();
  expect(await knownBefore(store.db, item)).toMatchObject({ maxOrderId: 10, count: 0 });
});

it('goes out, and what is behind it, once a person has it tried', async () => {
  const bench = await createBench();
  const [id, behind] = [await bench.add(1, 1), await bench.add(1, 2)];
  bench.script.lookUp = () => ({ outcome: 'ambiguous', reason: 'two are like it', detail: {} });
  const { dispatcher } = bench.start();
  await bench.clock.advance(10);
  expect(await bench.row(id)).toMatchObject({ state: 'in_doubt', attempts: 0 });
  expect(bench.looks).toEqual([id]);
  bench.script.lookUp = () => (bench.sends.length === 0 ? NO : YES);
  await reviewOf(bench).retry({ outboxId: id }, WHO);
  dispatcher.wakeUp();
  await bench.clock.advance(2_000);
  expect(await bench.row(id)).toMatchObject({ state: 'confirmed', attempts: 1 });
  expect(bench.ends).toEqual([`${id} confirmed`, `${behind} confirmed`]);
});

describe('what a conflict forbids', () => {
  const forbidden = () => {
    throw new ConflictError('service.conflict', 'it is shipped');
  };
  it.each([
    ['is refused with the words of the service', true, forbidden, 'it is shipped', 1],
    ['is tried again where its kind says so', false, forbidden, 'without an effect', 2],
    ['is not what got no answer, which is tried again', true, lost, 'without an effect', 2],
  ])('%s', async (_, ends, send, words, attempts) => {
    const bench = await createBench();
    bench.conflictEnds = ends;
    bench.limits.attemptsMax = 2;
    const id = await bench.add(1);
    bench.script.send = send;
    bench.start();
    await bench.clock.advance(MINUTE);
    const row = await bench.row(id);
    expect(row).toMatchObject({ state: attempts === 1 ? 'refused' : 'dead', attempts });
    expect(row.last_error).toContain(words);
  });
});
