/** Doubts that cannot be settled as fast as others. */
import { describe, expect, it } from 'vitest';
import { InDoubtError, RetryLaterError } from '../../src/lib/errors.ts';
import { createBench, NO } from './support.ts';

const MINUTE = 60_000;

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
