/** Doubts that cannot be settled as fast as others. */
import { describe, expect, it } from 'vitest';
import { InDoubtError, RetryLaterError } from '../../src/lib/errors.ts';
import { createDesk } from '../../src/outbox/desk/operations.ts';
import { writeState } from '../../src/store/state.ts';
import { type Bench, createBench, NO } from './support.ts';

const MINUTE = 60_000;
const LATENESS = 'outbox.latest_effect_ms';
const WHO = { actor: 'anna', reason: 'asked support' };

function deskOf({ store, clock }: Bench) {
  return createDesk({
    ...{ store, clock, quietMs: 12 * MINUTE, confirm: async () => ({}) },
    ...{ nudge: () => undefined, onMoved: () => undefined },
  });
}

function lost(): never {
  throw new InDoubtError('transport.in_doubt', 'reset');
}

describe('what can never be looked for', () => {
  it.each([
    ['in doubt', lost],
    ['taken by the service', () => ({ orderId: 7 })],
  ])('%s, is for a person in the end', async (_, send) => {
    const bench = await createBench();
    bench.creates = true;
    bench.limits.deskAfterMs = 20 * MINUTE;
    const id = await bench.add(1);
    bench.script.look = () => {
      if (bench.sends.length === 0) return NO;
      throw new RetryLaterError('service.odd_answer', 'its answer cannot be read');
    };
    bench.script.send = send;
    bench.start();
    await bench.clock.advance(19 * MINUTE);
    expect(await bench.row(id)).toMatchObject({ desk_reason: null, ended_at: null });
    await bench.clock.advance(3 * MINUTE);
    expect(await bench.row(id)).toMatchObject({
      state: 'in_doubt',
      desk_reason: 'for too long it could not be looked for: its answer cannot be read',
    });
    const looks = bench.looks.length;
    await bench.clock.advance(60 * MINUTE);
    expect([bench.looks.length, bench.sends]).toEqual([looks, [id]]);
  });
});

it('waits for twice the time after which an effect was last seen to come', async () => {
  const bench = await createBench();
  bench.creates = true;
  await writeState(bench.store.db, LATENESS, String(9 * MINUTE), bench.clock);
  const id = await bench.add(1);
  bench.script.send = lost;
  bench.start();
  await bench.clock.advance(17 * MINUTE);
  await expect(deskOf(bench).resolve(id, { as: 'absent' }, WHO)).rejects.toMatchObject({
    code: 'outbox.too_early',
  });
  await bench.clock.advance(1.9 * MINUTE);
  expect(bench.sends).toEqual([id]);
  await bench.clock.advance(1.2 * MINUTE);
  expect(bench.sends).toEqual([id, id]);
});
