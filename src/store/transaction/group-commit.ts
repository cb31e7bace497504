/**
 * Many small transactions with one commit: a commit waits for the disk, which costs far more than
 * the few statements before it. What is asked for in the same turn of the event loop runs in one
 * transaction, each piece within a savepoint of its own, and all of it is told only once the common
 * commit is durable. A piece that throws undoes itself alone; a commit that fails fails for all.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { sql } from 'kysely';
import type { Store, Tx } from '../store.ts';

/** Pieces of one commit; while they run nothing else does. */
const PIECES_MAX = 64;

type OnCommit = (effect: () => void) => void;

interface Piece {
  /** Runs it among others; what it gives tells the caller how that went. */
  run(tx: Tx, onCommit: OnCommit): Promise<() => void>;
  /** Runs it in a transaction of its own. */
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
          // A full disk has taken back everything, savepoints included: all of it fails, for that.
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

/** The same store, whose transactions share commits with those of the same moment. */
export function groupCommits(store: Store): Store {
  let waiting: Piece[] = [];
  let isRunning = false;
  const runAll = async (): Promise<void> => {
    isRunning = true;
    while (waiting.length > 0) {
      // Answers that have arrived already are handled in this turn: their pieces come along.
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
