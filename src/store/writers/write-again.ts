/**
 * Writes a whole database again on a thread of its own, so that nothing of deleted rows is left in
 * its files: neither in free pages nor between rows. That takes seconds per GiB, in which the event
 * loop goes on; who else wants to write waits.
 */
import { once } from 'node:events';
import Database from 'better-sqlite3';
import { programUrl } from '../../lib/process/program-url.ts';
import { startThread } from '../../lib/process/thread.ts';

export type WrittenAgain =
  /** False: a reading program keeps the log from being emptied. */
  { readonly isGone: boolean } | { readonly failed: string; readonly code: string };

const LIMITS = { maxOldGenerationSizeMb: 32, maxYoungGenerationSizeMb: 4 };

/** @throws Database.SqliteError as the statement on this thread would */
export async function writeAgainBeside(path: string): Promise<boolean> {
  const program = programUrl(import.meta.url, 'write-again-main');
  const worker = startThread(program, { data: path, stepsBack: true, limits: LIMITS });
  const answers: WrittenAgain[] = [];
  worker.on('message', (answer: WrittenAgain) => answers.push(answer));
  // An error of the thread itself rejects here.
  await once(worker, 'exit');
  const [answer] = answers;
  if (answer !== undefined && 'isGone' in answer) return answer.isGone;
  const { failed, code } = answer ?? { failed: 'the thread ended early', code: 'SQLITE_ABORT' };
  throw new Database.SqliteError(failed, code);
}
