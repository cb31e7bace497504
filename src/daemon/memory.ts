/** Keeps the memory of a process small that stays for months and rests most of the time. */
import { performance } from 'node:perf_hooks';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { Clock } from '../lib/clock.ts';

/** A heap of V8 and the thread that it belongs to. */
export interface Heap {
  usedBytes(): number;
  /** Share of a processor that the thread has used since the last question. */
  busyShare(): number;
  /** Collects all garbage. It stops the thread, on a busy machine for up to 0.2 s. */
  collect(): void;
}

const LOOK_MS = 30_000;
/** Share of a processor that a resting daemon uses at most. */
const REST_SHARE_MAX = 0.1;
/** Bytes of garbage that are worth the time of collecting them. */
const GARBAGE_BYTES_MIN = 4_194_304;

/**
 * Collects what a burst of work has left behind, once the thread rests. V8 collects when the heap
 * has grown by a share of itself, and after a pull that does not happen for hours.
 */
export function collectAtRest(heap: Heap, clock: Pick<Clock, 'after'>): void {
  let keptBytes = heap.usedBytes();
  const look = (): void => {
    clock.after(LOOK_MS, look);
    if (heap.busyShare() > REST_SHARE_MAX) return;
    // V8 may have collected by itself.
    keptBytes = Math.min(keptBytes, heap.usedBytes());
    if (heap.usedBytes() - keptBytes < GARBAGE_BYTES_MIN) return;
    heap.collect();
    keptBytes = heap.usedBytes();
  };
  clock.after(LOOK_MS, look);
}

/** The heap of this thread. */
export function ownHeap(): Heap {
  // Node gives the function to a new context only, and only while the flag is set.
  setFlagsFromString('--expose-gc');
  const collect: () => void = runInNewContext('gc');
  setFlagsFromString('--no-expose-gc');
  let before = { at: performance.now(), ...process.threadCpuUsage() };
  return {
    usedBytes: () => process.memoryUsage().heapUsed,
    busyShare() {
      // Processor time: on a busy machine the loop seems busy while it waits for a processor.
      const now = { at: performance.now(), ...process.threadCpuUsage() };
      const usedMs = (now.user + now.system - before.user - before.system) / 1_000;
      const share = usedMs / (now.at - before.at);
      before = now;
      return share;
    },
    collect,
  };
}
