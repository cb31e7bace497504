/**
 * Runs many small transactions with one commit, because a commit waits for the disk, which costs
 * far more than the few statements before it. Transactions that are requested in the same turn of
 * the event loop become pieces of one, each within a savepoint of its own, and their callers get
 * their results only once the common commit is durable. A piece that throws undoes itself alone; a
 * commit that fails fails for all.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { sql } from 'kysely';
import type { Store, Tx } from '../store.ts';

/** Maximum number of pieces in one commit; while they run, nothing else does. */
const PIECES_MAX = 64;

type OnCommit = (effect: () => void) => void;

interface Piece {
  /** Runs the piece among others; the returned function tells its caller the result. */
  run(tx: Tx, onCommit: OnCommit): Promise<() => void>;
  /** Runs the piece in a transaction of its own. */
  runAlone(store: Store): Promise<void>;
  fail(error: unknown): void;
}

function pieceOf<T>(
  work: (tx: Tx, onCommit: OnCommit) => Promise<T>,
  resolve: (value: T) => void,
  reject: (error: unknown) => void,
): Piece {
  return {
    fail: reject,
    runAlone: (store) => store.transaction(work).then(resolve, reject),
    async run(tx, onCommit) {
      const effects: (() => void)[] = [];
      await sql`savepoint piece`.execute(tx);
      try {
        const value = await work(tx, (effect) => effects.push(effect));
        await sql`release piece`.execute(tx);
        for (const effect of effects) onCommit(effect);
        return () => resolve(value);
      } catch (error) {
        await sql`rollback to piece`.execute(tx).catch(() => {
          // A full disk has rolled back everything, savepoints included, so all pieces fail with
          // that error.
          throw error;
        });
        await sql`release piece`.execute(tx);
        return () => reject(error);
      }
    },
  };
}

async function commitTogether(store: Store, pieces: readonly Piece[]): Promise<void> {
  const [only] = pieces;
  if (only && pieces.length === 1) return only.runAlone(store);
  try {
    const answers = await store.transaction(async (tx, onCommit) => {
      const answers: (() => void)[] = [];
      for (const piece of pieces) answers.push(await piece.run(tx, onCommit));
      return answers;
    });
    for (const answer of answers) answer();
  } catch (error) {
    for (const piece of pieces) piece.fail(error);
  }
}

/** Wraps a store so that transactions of the same moment share a commit. */
export function groupCommits(store: Store): Store {
  let waiting: Piece[] = [];
  let isRunning = false;
  const runAll = async (): Promise<void> => {
    isRunning = true;
    while (waiting.length > 0) {
      // Answers that have already arrived are handled in this turn, and their pieces join the
      // commit.
      await nextTurn();
      const pieces = waiting.slice(0, PIECES_MAX);
      waiting = waiting.slice(PIECES_MAX);
      await commitTogether(store, pieces);
    }
    isRunning = false;
  };
  return {
    get db() {
      return store.db;
    },
    path: store.path,
    transaction: (work) =>
      new Promise((resolve, reject) => {
        waiting.push(pieceOf(work, resolve, reject));
        if (!isRunning) void runAll();
      }),
    snapshot: (read) => store.snapshot(read),
    close: () => store.close(),
  };
}
