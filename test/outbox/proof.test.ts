import { describe, expect, it } from 'vitest';
import type { LookupResult } from '../../src/outbox/item.ts';
import { nextLookupAt } from '../../src/outbox/retry-policy.ts';
import { createBench, lost, NO, reviewOf, YES } from './support.ts';

const MINUTE = 60_000;
const WHO = { actor: 'anna', reason: 'asked support' };

describe('what makes something new, in doubt', () => {
  it('is sent again only after two complete looks past the quiet time', async () => {
    const bench = await createBench();
    bench.creates = true;
    const id = await bench.add(1);
    bench.script.lookUp = () => (bench.sends.length < 2 ? NO : YES);
    bench.script.send = () => {
      if (bench.sends.length > 1) return {};
      return lost();
    };
    bench.start();
    await bench.clock.advance(12.9 * MINUTE);
    expect(bench.sends).toEqual([id]);
    expect(await bench.row(id)).toMatchObject({ state: 'in_doubt' });
    await bench.clock.advance(0.2 * MINUTE);
    expect(bench.sends).toEqual([id, id]);
    expect(await bench.row(id)).toMatchObject({ state: 'confirmed', attempts: 2 });
  });

  it.each([1, -1])(
    'waits for its quiet time though the clock is moved by %i h meanwhile',
    async (hours) => {
      const bench = await createBench();
      bench.creates = true;
      const id = await bench.add(1);
      bench.script.lookUp = () => (bench.sends.length < 2 ? NO : YES);
      bench.script.send = () => {
        if (bench.sends.length > 1) return {};
        return lost();
      };
      bench.start();
      await bench.clock.advance(3 * MINUTE);
      bench.clock.step(hours * 60 * MINUTE);
      await bench.clock.advance(9 * MINUTE);
      expect(bench.sends).toEqual([id]);
      // On the safe side: the quiet time is waited for once more.
      await bench.clock.advance(5 * MINUTE);
      expect(bench.sends).toEqual([id, id]);
      expect(await bench.row(id)).toMatchObject({ state: 'confirmed', attempts: 2 });
    },
  );

  it('needs looks of its own after the clock was set back since the last doubt', async () => {
    const bench = await createBench();
    bench.creates = true;
    const id = await bench.add(1);
    const answer = Promise.withResolvers<void>();
    bench.script.lookUp = () => NO;
    bench.script.send = async () => {
      if (bench.sends.length === 2) await answer.promise;
      return lost();
    };
    bench.start();
    await bench.clock.advance(14 * MINUTE);
    expect(bench.sends).toEqual([id, id]);
    bench.clock.step(-60 * MINUTE);
    answer.resolve();
    await bench.clock.advance(11 * MINUTE);
    expect(bench.sends).toEqual([id, id]);
    await bench.clock.advance(3 * MINUTE);
    expect(bench.sends).toEqual([id, id, id]);
  });

  it('is not proved absent by a look during which the clock was set back', async () => {
    const bench = await createBench();
    bench.creates = true;
    const id = await bench.add(1);
    const start = bench.clock.now();
    let isSetBack = false;
    bench.script.lookUp = async () => {
      if (isSetBack || bench.clock.now() < start + 12.5 * MINUTE) return NO;
      isSetBack = true;
      bench.clock.step(-60 * MINUTE);
      await bench.clock.sleep(20_000);
      return NO;
    };
    bench.script.send = lost;
    bench.start();
    await bench.clock.advance(13.5 * MINUTE);
    expect(isSetBack).toBe(true);
    await bench.clock.advance(11.5 * MINUTE);
    expect(bench.sends).toEqual([id]);
    await bench.clock.advance(MINUTE);
    expect(bench.sends).toEqual([id, id]);
  });

  it('is looked for as often as before after the clock was set back', async () => {
    const bench = await createBench();
    bench.creates = true;
    const id = await bench.add(1);
    let isThere = false;
    bench.script.lookUp = () => (isThere ? YES : NO);
    bench.script.send = lost;
    bench.start();
    await bench.clock.advance(3 * MINUTE);
    bench.clock.step(-60 * MINUTE);
    await bench.clock.advance(3 * MINUTE);
    isThere = true;
    await bench.clock.advance(1.1 * MINUTE);
    expect(await bench.row(id)).toMatchObject({ state: 'confirmed', attempts: 1 });
  });

  it.each([
    ['while it was looked for', false],
    ['while nobody worked on it', true],
  ])('ends in its quiet time also where the clock was set back %s', async (_, restarts) => {
    const bench = await createBench();
    bench.creates = true;
    const id = await bench.add(1);
    bench.script.lookUp = () => NO;
    bench.script.send = lost;
    bench.clock.step(24 * 60 * MINUTE);
    const { stop } = bench.start();
    await bench.clock.advance(12.5 * MINUTE);
    if (restarts) await stop();
    bench.clock.step(-24 * 60 * MINUTE);
    if (restarts) bench.start();
    await bench.clock.advance(9 * MINUTE);
    expect(bench.sends).toEqual([id]);
    await bench.clock.advance(5 * MINUTE);
    expect(bench.sends).toEqual([id, id]);
  });

  it.each([24, 0])(
    'waits for a whole quiet time behind a start whose clock is %i h ahead',
    async (hours) => {
      const bench = await createBench();
      bench.creates = true;
      const id = await bench.add(1);
      bench.script.lookUp = () => (bench.sends.length < 2 ? NO : YES);
      bench.script.send = () => {
        if (bench.sends.length > 1) return {};
        return lost();
      };
      const { stop } = bench.start();
      await bench.clock.advance(3 * MINUTE);
      await stop();
      bench.clock.step(hours * 60 * MINUTE);
      const { processStartedAt } = bench.start();
      const quietUntil = new Date(bench.clock.now() + 12 * MINUTE).toISOString();
      await bench.clock.advance(11.9 * MINUTE);
      const review = reviewOf(bench, { processStartedAt });
      await expect(review.resolve(id, { as: 'absent' }, WHO)).rejects.toMatchObject({
        code: 'outbox.too_early',
        message: expect.stringContaining('the daemon has just started'),
        hint: expect.stringContaining(quietUntil),
      });
      await bench.clock.advance(MINUTE);
      expect(bench.sends).toEqual([id]);
      expect(await bench.row(id)).toMatchObject({ state: 'in_doubt', blocked_reason: null });
      await bench.clock.advance(0.2 * MINUTE);
      expect(bench.sends).toEqual([id, id]);
      expect(await bench.row(id)).toMatchObject({ state: 'confirmed', attempts: 2 });
    },
  );

  it('proves nothing by what was found due before a person had it sent again', async () => {
    const bench = await createBench();
    bench.creates = true;
    const ids: number[] = [];
    for (const delivery of [1, 2, 3, 4, 5]) ids.push(await bench.add(delivery));
    const last = ids.at(-1) ?? 0;
    const hands = Promise.withResolvers<void>();
    let isSlow = false;
    bench.script.lookUp = async ({ outboxId, state }) => {
      // Every hand that looks is busy with one of the others.
      if (isSlow && state === 'in_doubt' && outboxId !== last) await hands.promise;
      return NO;
    };
    bench.script.send = lost;
    bench.start();
    await bench.clock.advance(12.5 * MINUTE);
    isSlow = true;
    await bench.clock.advance(0.1 * MINUTE);
    expect(await bench.row(last)).toMatchObject({ state: 'in_doubt', attempts: 1 });
    await bench.clock.advance(1 * MINUTE);
    await reviewOf(bench).resolve(last, { as: 'absent' }, WHO);
    await bench.clock.advance(1.5 * MINUTE);
    expect(await bench.row(last)).toMatchObject({ state: 'in_doubt', attempts: 2 });
    hands.resolve();
    await bench.clock.advance(5 * MINUTE);
    expect(bench.sends.filter((id) => id === last)).toHaveLength(2);
  });

  it('forgets the answer of before once a person had it sent again', async () => {
    const bench = await createBench();
    bench.creates = true;
    bench.limits.reviewAfterMs = 20 * MINUTE;
    const id = await bench.add(1);
    const results: (string | null)[] = [];
    // The answered id is shown no more, which by itself proves nothing.
    bench.script.lookUp = ({ result, state }) => {
      if (state === 'in_doubt') results.push(result);
      return { ...NO, complete: result === null };
    };
    bench.script.send = () => {
      if (bench.sends.length === 1) return { orderId: 7 };
      return lost();
    };
    bench.start();
    await bench.clock.advance(22 * MINUTE);
    expect((await bench.row(id)).blocked_reason).toContain('neither found nor proved absent');
    results.length = 0;
    await reviewOf(bench).resolve(id, { as: 'absent' }, WHO);
    await bench.clock.advance(MINUTE);
    expect(await bench.row(id)).toMatchObject({ state: 'in_doubt', attempts: 2, result: null });
    await bench.clock.advance(15 * MINUTE);
    expect(new Set(results)).toEqual(new Set([null]));
    expect(bench.sends).toHaveLength(3);
  });

  it('is never sent again for looks that may have missed it; then a person has it', async () => {
    const bench = await createBench();
    bench.creates = true;
    bench.limits.reviewAfterMs = 20 * MINUTE;
    const id = await bench.add(1);
    bench.script.lookUp = () => (bench.sends.length === 0 ? NO : { ...NO, complete: false });
    bench.script.send = lost;
    bench.start();
    await bench.clock.advance(19 * MINUTE);
    expect(await bench.row(id)).toMatchObject({ state: 'in_doubt', blocked_reason: null });
    await bench.clock.advance(3 * MINUTE);
    expect(bench.sends).toEqual([id]);
    expect((await bench.row(id)).blocked_reason).toContain('neither found nor proved absent');
  });

  it('is proved absent by complete looks only, whatever others between them missed', async () => {
    const bench = await createBench();
    bench.creates = true;
    const id = await bench.add(1);
    const begun = bench.clock.now();
    bench.script.lookUp = () => ({ ...NO, complete: bench.clock.now() - begun > 12.5 * MINUTE });
    bench.script.send = lost;
    bench.start();
    await bench.clock.advance(13.9 * MINUTE);
    expect(bench.sends).toEqual([id]);
    await bench.clock.advance(1 * MINUTE);
    expect(bench.sends).toEqual([id, id]);
  });

  it('is not sent beside what may be it, and left to a person after its quiet time', async () => {
    const bench = await createBench();
    bench.creates = true;
    const id = await bench.add(1);
    const MAYBE = {
      outcome: 'possible',
      reason: 'order 7 may be it',
      detail: { orderIds: [7] },
    } as const;
    bench.script.lookUp = () => (bench.sends.length === 0 ? NO : MAYBE);
    bench.script.send = lost;
    bench.start();
    await bench.clock.advance(11.9 * MINUTE);
    expect(await bench.row(id)).toMatchObject({ state: 'in_doubt', blocked_reason: null });
    await bench.clock.advance(0.2 * MINUTE);
    expect((await bench.row(id)).blocked_reason).toBe('order 7 may be it');
    await bench.clock.advance(20 * MINUTE);
    expect(bench.sends).toEqual([id]);
  });

  it('is sent once what may have been it was found to be another', async () => {
    const bench = await createBench();
    bench.creates = true;
    const id = await bench.add(1);
    const begun = bench.clock.now();
    const MAYBE = { outcome: 'possible', reason: 'order 7 may be it', detail: {} } as const;
    bench.script.lookUp = () =>
      bench.sends.length === 1 && bench.clock.now() - begun < 11 * MINUTE ? MAYBE : NO;
    bench.script.send = lost;
    bench.start();
    await bench.clock.advance(12.9 * MINUTE);
    expect(bench.sends).toEqual([id]);
    await bench.clock.advance(0.3 * MINUTE);
    expect(bench.sends).toEqual([id, id]);
  });

  it('becomes no order that another document has become meanwhile', async () => {
    const bench = await createBench();
    bench.creates = true;
    const ids = [await bench.addOrder('A-1'), await bench.addOrder('A-2')];
    // Both were looked for before either was confirmed.
    const both = Promise.withResolvers<void>();
    let looking = 0;
    bench.script.lookUp = async () => {
      if (bench.sends.length < 2) return NO;
      looking += 1;
      if (looking === 2) both.resolve();
      await both.promise;
      return { ...YES, result: { orderId: 7 } };
    };
    bench.script.send = lost;
    bench.start();
    await bench.clock.advance(MINUTE);
    const rows = await Promise.all(ids.map(bench.row));
    const [own, other] = rows.sort((a, b) => a.state.localeCompare(b.state));
    expect(own).toMatchObject({ state: 'confirmed', order_id: 7 });
    expect(other).toMatchObject({ state: 'in_doubt', order_id: null });
    const whose = `what outbox ${own?.outbox_id} (${own?.reference}) has become`;
    expect(other?.blocked_reason).toBe(`order 7 is ${whose}`);
  });

  it('is named with the orders that it may be, as long as nobody knows', async () => {
    const bench = await createBench();
    bench.creates = true;
    const id = await bench.addOrder('A-1');
    const detail = { orderIds: [7, 8] };
    let lookup: LookupResult = { outcome: 'possible', reason: 'one of them may be it', detail };
    bench.script.lookUp = () => (bench.sends.length === 0 ? NO : lookup);
    bench.script.send = lost;
    bench.start();
    const candidates = () => bench.store.db.selectFrom('outbox_candidate').selectAll().execute();
    await bench.clock.advance(MINUTE);
    const seven = { order_id: 7, outbox_id: id };
    expect(await candidates()).toEqual([seven, { ...seven, order_id: 8 }]);
    lookup = { outcome: 'ambiguous', reason: 'it has another address', detail: { orderId: 7 } };
    await bench.clock.advance(2 * MINUTE);
    expect(await candidates()).toEqual([seven]);
  });

  it('is looked at soon, then every minute, and exactly when the quiet time is over', () => {
    const pace = { reconcileAfterMs: 12 * MINUTE, everyMs: MINUTE };
    const times: number[] = [];
    for (let at = 0; at < 14 * MINUTE; at = nextLookupAt(0, pace, at)) times.push(at / 1_000);
    expect(times.slice(0, 6)).toEqual([0, 2, 10, 30, 90, 150]);
    expect(times).toContain(720);
    expect(times).toContain(780);
  });
});
