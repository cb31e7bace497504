/** `selvedge events missed`: changes that no event told us of in time. */
import { Command } from 'commander';
import { listMissed } from '../../inbox/loss/missed.ts';
import { systemClock } from '../../lib/clock.ts';
import { formatDuration } from '../../lib/units.ts';
import { parseMoment, wholeNumber } from '../arguments.ts';
import { type CliContext, examples } from '../command.ts';
import { firstRows, withMirror } from '../reading.ts';

interface Options {
  readonly since: string;
  readonly limit: number;
  readonly json?: boolean;
}

const LIMIT_MAX = 100_000;

export function eventsMissed(context: CliContext): Command {
  return new Command('missed')
    .summary('show changes that no event told us of in time')
    .description(
      'What a sweep found before its event came, or instead of it, and events that came later\n' +
        'than lossMeter.lateAfter. The latest first; times are UTC, LATE is at the most.',
    )
    .option('--since <time>', 'a time, or 1d for a day ago', '1d')
    .option('--limit <n>', 'how many at the most', wholeNumber(1, LIMIT_MAX), 50)
    .option('--json', 'as JSON; times are epoch milliseconds')
    .addHelpText('after', examples([['events missed --since 7d', 'what the relay owes us']]))
    .action(async (options: Options, command: Command) => {
      const since = parseMoment(options.since, systemClock().now());
      const { limit } = options;
      const found = await withMirror(command, context, (db, _store, { lossMeter }) =>
        listMissed(db, { since, limit: limit + 1, lateAfterMs: lossMeter.lateAfter }),
      );
      const missed = firstRows(context.output, found, limit);
      if (options.json === true) {
        context.output.json(missed);
        return;
      }
      context.output.table(
        ['SEEN', 'VERDICT', 'LATE', 'EVENT THAT SHOULD HAVE TOLD', 'ORDER', 'ID'],
        missed.map(({ at, verdict, lateMs, type, orderId, eventId }) => [
          new Date(at).toISOString().slice(0, 19).replace('T', ' '),
          verdict ?? 'waiting',
          formatDuration(lateMs),
          type,
          String(orderId),
          eventId ?? '-',
        ]),
      );
    });
}
