import { describe, expect, it } from 'vitest';
import { collectAtRest, type Heap, ownHeap } from '../../src/daemon/memory.ts';
import { manualClock } from '../../src/lib/clock.ts';

const MIB = 1_048_576;
const LOOK_MS = 30_000;

describe('a heap', () => {
  it('is collected once its thread rests, and again only when enough is garbage', async () => {
    const clock = manualClock();
    const heap = { usedMiB: 40, busy: 0.5, collected: 0 };
    const asked: Heap = {
      usedBytes: () => heap.usedMiB * MIB,
      busyShare: () => heap.busy,
      collect() {
        heap.collected += 1;
        heap.usedMiB = 40;
      },
    };
    collectAtRest(asked, clock);
    heap.usedMiB = 60;
    await clock.advance(LOOK_MS);
    expect(heap.collected).toBe(0);
    heap.busy = 0.01;
    await clock.advance(LOOK_MS);
    expect(heap.collected).toBe(1);
    heap.usedMiB = 43;
    await clock.advance(LOOK_MS);
    expect(heap.collected).toBe(1);
    heap.usedMiB = 44;
    await clock.advance(LOOK_MS);
    expect(heap.collected).toBe(2);
    // V8 has found more than that.
    heap.usedMiB = 35;
    await clock.advance(LOOK_MS);
    heap.usedMiB = 39;
    await clock.advance(LOOK_MS);
    expect(heap.collected).toBe(3);
  });

  it('belongs to a busy thread as long as that computes, and not while it waits', () => {
    const heap = ownHeap();
    const until = process.threadCpuUsage().user + 20_000;
    while (process.threadCpuUsage().user < until) JSON.stringify({ until });
    expect(heap.busyShare()).toBeGreaterThan(0);
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20);
    expect(heap.busyShare()).toBeLessThan(0.5);
  });

  it('gives back what nobody holds', () => {
    const heap = ownHeap();
    let held = Array.from({ length: 200_000 }, (_, at) => ({ at }));
    const before = heap.usedBytes();
    expect(held).toHaveLength(200_000);
    held = [];
    heap.collect();
    expect(before - heap.usedBytes()).toBeGreaterThan(2 * MIB);
    expect(Object.keys(globalThis)).not.toContain('gc');
  });
});
