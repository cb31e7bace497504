/**
 * Write-lock hand-off between the two writers of one database: the main thread, and the thread that
 * writes long lists. SQLite makes the writer that comes second sleep, and a sleeping main thread
 * stops everything, the listener for events too. So the main thread announces a write and waits
 * without blocking, and the other thread, which may sleep, lets it write first. This is a courtesy,
 * not a lock: a writer that has waited too long goes ahead, and SQLite keeps the two apart.
 *
 * The other thread also owns the checkpoint as long as it runs: otherwise whichever commit comes
 * next would have to write megabytes of the log back into the database.
 */

/** Cell of the shared memory: number of writes of the main thread that run or wait. */
const WANTED = 0;
/** Cell of the shared memory: 1 while the other thread is in a transaction. */
const BUSY = 1;
/**
 * Cell of the shared memory: 0 while the main thread owns the checkpoint, else the result of the
 * other thread's last one.
 */
const CHECKPOINT = 2;
const TAKEN = 1;
const PINNED = 2;
const CELLS = 3;

/**
 * Milliseconds after which the main thread goes ahead, because a thread that died releases nothing.
 */
const MAIN_WAIT_MS = 2_000;
/**
 * Milliseconds after which the other thread goes ahead, so that steady writes do not stop a pull.
 */
const THREAD_WAIT_MS = 250;

export interface WriteHandOff {
  /** Waits for the turn to write; called before a transaction, or before a write outside of any. */
  acquire(): Promise<void>;
  release(): void;
  /** Tells whether the other writer waits for the end of this one's transaction. */
  isAwaited(): boolean;
}

export function shareWriteHandOff(): SharedArrayBuffer {
  return new SharedArrayBuffer(CELLS * Int32Array.BYTES_PER_ELEMENT);
}

/**
 * Takes the checkpoint over from the main thread; `isPinned` tells whether a reader keeps the log
 * from being written back.
 */
export function takeCheckpoint(shared: SharedArrayBuffer, isPinned: boolean): void {
  Atomics.store(new Int32Array(shared), CHECKPOINT, isPinned ? PINNED : TAKEN);
}

export function releaseCheckpoint(shared: SharedArrayBuffer): void {
  Atomics.store(new Int32Array(shared), CHECKPOINT, 0);
}

export function isCheckpointTaken(shared: SharedArrayBuffer): boolean {
  return Atomics.load(new Int32Array(shared), CHECKPOINT) !== 0;
}

export function isTakenCheckpointPinned(shared: SharedArrayBuffer): boolean {
  return Atomics.load(new Int32Array(shared), CHECKPOINT) === PINNED;
}

export function handOffOfMain(shared: SharedArrayBuffer): WriteHandOff {
  const cells = new Int32Array(shared);
  return {
    async acquire() {
      Atomics.add(cells, WANTED, 1);
      while (Atomics.load(cells, BUSY) === 1) {
        const outcome = Atomics.waitAsync(cells, BUSY, 1, MAIN_WAIT_MS);
        if (outcome.async && (await outcome.value) === 'timed-out') {
          Atomics.store(cells, BUSY, 0);
        }
      }
    },
    release() {
      if (Atomics.sub(cells, WANTED, 1) === 1) Atomics.notify(cells, WANTED);
    },
    isAwaited: () => false,
  };
}

export function handOffOfThread(shared: SharedArrayBuffer): WriteHandOff {
  const cells = new Int32Array(shared);
  /** Pending while a transaction of this thread holds the turn to write. */
  let own: PromiseWithResolvers<void> | undefined;
  const giveWay = (): void => {
    Atomics.store(cells, BUSY, 0);
    Atomics.notify(cells, BUSY);
  };
  return {
    release() {
      giveWay();
      own?.resolve();
      own = undefined;
    },
    isAwaited: () => Atomics.load(cells, WANTED) > 0,
    async acquire() {
      while (own) await own.promise;
      own = Promise.withResolvers();
      for (;;) {
        const wanted = Atomics.load(cells, WANTED);
        const isLate =
          wanted > 0 && Atomics.wait(cells, WANTED, wanted, THREAD_WAIT_MS) === 'timed-out';
        Atomics.store(cells, BUSY, 1);
        // The cell is read again after BUSY is set, so that at least one of the two writers sees
        // the other.
        if (isLate || Atomics.load(cells, WANTED) === 0) return;
        giveWay();
      }
    },
  };
}
