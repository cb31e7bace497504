/**
 * Turns between the two writers of one database, the main thread and the one that writes lists.
 * SQLite lets one of them write and makes the other wait by sleeping: on the main thread that
 * stops everything, the listener included. So the main thread says that it wants to write and
 * waits without blocking, and the other one, which may sleep, lets it go first.
 *
 * A courtesy, not a lock: who has waited too long goes ahead, and SQLite keeps the two apart.
 *
 * To write the log back into the database is left to the other thread as long as it is there: it
 * is a matter of megabytes, and SQLite makes it a part of whichever commit comes next.
 */

/** How many writes of the main thread run or wait: transactions, and statements outside of any. */
const WANTED = 0;
/** 1 while the other thread is in a transaction. */
const BUSY = 1;
/** Who writes the log back: 0 this thread, else the other one, which says what it found. */
const LOG = 2;
const TAKEN = 1;
const PINNED = 2;
const CELLS = 3;

/** A transaction of the other thread takes milliseconds; one that has died gives none back. */
const MAIN_WAIT_MS = 2_000;
/** So that a main thread that never stops writing does not stop a pull. */
const THREAD_WAIT_MS = 250;

export interface Turns {
  /** Before a transaction begins, or a write outside of any. */
  enter(): Promise<void>;
  /** After it has ended, whichever way. */
  leave(): void;
  /** Whether somebody waits for the end of the transaction and goes first. */
  isAwaited(): boolean;
}

export function shareTurns(): SharedArrayBuffer {
  return new SharedArrayBuffer(CELLS * Int32Array.BYTES_PER_ELEMENT);
}

/** `isPinned`: a reader keeps the log from being written back. */
export function takeLog(shared: SharedArrayBuffer, isPinned: boolean): void {
  Atomics.store(new Int32Array(shared), LOG, isPinned ? PINNED : TAKEN);
}

export function leaveLog(shared: SharedArrayBuffer): void {
  Atomics.store(new Int32Array(shared), LOG, 0);
}

export function isLogTaken(shared: SharedArrayBuffer): boolean {
  return Atomics.load(new Int32Array(shared), LOG) !== 0;
}

export function isTakenLogPinned(shared: SharedArrayBuffer): boolean {
  return Atomics.load(new Int32Array(shared), LOG) === PINNED;
}

export function turnsOfMain(shared: SharedArrayBuffer): Turns {
  const cells = new Int32Array(shared);
  return {
    async enter() {
      Atomics.add(cells, WANTED, 1);
      while (Atomics.load(cells, BUSY) === 1) {
        const outcome = Atomics.waitAsync(cells, BUSY, 1, MAIN_WAIT_MS);
        if (outcome.async && (await outcome.value) === 'timed-out') {
          Atomics.store(cells, BUSY, 0);
        }
      }
    },
    leave() {
      if (Atomics.sub(cells, WANTED, 1) === 1) Atomics.notify(cells, WANTED);
    },
    isAwaited: () => false,
  };
}

export function turnsOfThread(shared: SharedArrayBuffer): Turns {
  const cells = new Int32Array(shared);
  /** The thread's own transactions come one after the other: there is one word for all of them. */
  let own: PromiseWithResolvers<void> | undefined;
  const giveWay = (): void => {
    Atomics.store(cells, BUSY, 0);
    Atomics.notify(cells, BUSY);
  };
  return {
    leave() {
      giveWay();
      own?.resolve();
      own = undefined;
    },
    isAwaited: () => Atomics.load(cells, WANTED) > 0,
    async enter() {
      while (own) await own.promise;
      own = Promise.withResolvers();
      for (;;) {
        const wanted = Atomics.load(cells, WANTED);
        const isLate =
          wanted > 0 && Atomics.wait(cells, WANTED, wanted, THREAD_WAIT_MS) === 'timed-out';
        Atomics.store(cells, BUSY, 1);
        // Looked at again behind the word that is given: at least one of the two sees the other.
        if (isLate || Atomics.load(cells, WANTED) === 0) return;
        giveWay();
      }
    },
  };
}
