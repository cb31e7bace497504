/** `selvedge events list`: the declared list, or each event when it arrives. */

import type { Command } from 'commander';
import { events } from '../../inbox/lists.ts';
import { arrivedAt, eventsFrom } from '../../inbox/overview.ts';
import { systemClock } from '../../lib/clock.ts';
import { daemonRuns } from '../../store/lock.ts';
import type { Db } from '../../store/store.ts';
import { wholeNumber } from '../arguments.ts';
import type { CliContext } from '../command.ts';
import type { Output } from '../output.ts';
import { withMirror } from '../reading.ts';
import { remoteConsoleOf, requireHere } from '../remote/console.ts';
import { cellsOf, listCommand } from '../surface-lists.ts';

interface Options {
  readonly follow?: boolean;
  readonly count?: number;
  readonly json?: boolean;
}

const POLL_MS = 250;

/**
 * Milliseconds before the last look that are read again, because a later commit may carry an
 * earlier time.
 */
const LOOK_BACK_MS = 10_000;

/** Milliseconds for which an arrival is remembered as shown. */
const REMEMBER_MS = 60_000;

/** Prints a line for each event that arrives, until Ctrl-C or until `count` have come. */
async function follow(db: Db, output: Output, { count = Infinity, json }: Options): Promise<void> {
  const clock = systemClock();
  const shown = new Map<string, number>();
  const start = clock.now();
  let left = count;
  if (!(await daemonRuns(db, start))) {
    output.note('no daemon runs: nothing arrives before one does (selvedge run)');
  }
  for (let from = start; left > 0 && !output.isClosed(); ) {
    for (const event of await eventsFrom(db, from)) {
      const at = arrivedAt(event);
      if (left <= 0 || (shown.get(event.eventId) ?? 0) >= at) continue;
      shown.set(event.eventId, at);
      left -= 1;
      if (json === true) output.line(JSON.stringify({ ...event, arrivedAt: at }));
      else output.line(cellsOf(events, { ...event, receivedAt: at }, at).join('  '));
    }
    from = Math.max(from, clock.now() - LOOK_BACK_MS);
    for (const [id, at] of shown) if (at < from - REMEMBER_MS) shown.delete(id);
    if (left > 0) await clock.sleep(POLL_MS);
  }
}

export function eventsList(context: CliContext): Command {
  const instead = async (command: Command): Promise<boolean> => {
    const options = command.opts<Options>();
    if (options.follow !== true) return false;
    requireHere(remoteConsoleOf(command, context), '--follow');
    await withMirror(command, context, (db) => follow(db, context.output, options));
    return true;
  };
  return listCommand(events, context, instead)
    .option('--follow', 'show events as they arrive, also what the relay sends again')
    .option('--count <n>', 'with --follow: end after so many', wholeNumber(1));
}
