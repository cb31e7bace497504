/** `selvedge events tail`: events as they arrive. */
import { Command } from 'commander';
import { arrivedAt, eventsFrom } from '../../inbox/overview.ts';
import { systemClock } from '../../lib/clock.ts';
import { wholeNumber } from '../arguments.ts';
import { type CliContext, examples } from '../command.ts';
import { withMirror } from '../reading.ts';
import { eventCells } from './list.ts';
import { daemonRuns } from './ping.ts';

interface Options {
  readonly count?: number;
  readonly json?: boolean;
}

const LOOK_MS = 250;

export function eventsTail(context: CliContext): Command {
  const { output } = context;
  return new Command('tail')
    .summary('show events as they arrive')
    .description('One line for each arrival, until Ctrl-C. What the relay sends again shows again.')
    .option('--count <n>', 'end after so many', wholeNumber(1))
    .option('--json', 'one JSON object a line')
    .addHelpText(
      'after',
      examples([['events tail', 'while you press "send example" in the portal']]),
    )
    .action(async (options: Options, command: Command) => {
      const clock = systemClock();
      let left = options.count ?? Infinity;
      await withMirror(command, context, async (db) => {
        // A commit may carry a time just before one that was shown: look a little further back.
        const shown = new Map<string, number>();
        const start = clock.now();
        if (!(await daemonRuns(db, start))) {
          output.note('no daemon runs: nothing arrives before one does (selvedge run)');
        }
        for (let from = start; left > 0 && !output.isClosed(); ) {
          for (const event of await eventsFrom(db, from)) {
            const at = arrivedAt(event);
            if (left <= 0 || (shown.get(event.eventId) ?? 0) >= at) continue;
            shown.set(event.eventId, at);
            left -= 1;
            if (options.json === true) output.line(JSON.stringify({ ...event, arrivedAt: at }));
            else output.line(eventCells(event, at).join('  '));
          }
          from = Math.max(from, clock.now() - 10_000);
          for (const [id, at] of shown) if (at < from - 60_000) shown.delete(id);
          if (left > 0) await clock.sleep(LOOK_MS);
        }
      });
    });
}
