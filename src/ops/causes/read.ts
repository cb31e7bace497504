/** All causes there are now, by questions that an index answers. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Db } from '../../store/store.ts';
import type { Cause } from './cause.ts';
import { unreadableMembers } from './members.ts';
import { clockAhead, clockBehind, neverComplete, noCurrency, sharedNumbers } from './others.ts';
import { unknownStatuses } from './words.ts';

export async function readCauses(db: Db, timeZone: string): Promise<readonly Cause[]> {
  const questions = [
    ...[unknownStatuses, unreadableMembers, noCurrency, sharedNumbers, neverComplete],
    ...[clockAhead, clockBehind].map((ask) => (of: Db) => ask(of, timeZone)),
  ];
  const causes: Cause[] = [];
  for (const ask of questions) {
    causes.push(...(await ask(db)));
    // The driver is synchronous: others have their turn in between.
    await nextTurn();
  }
  return causes;
}
