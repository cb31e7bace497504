/** `selvedge events missed`: deliveries that no event announced in time. */
import { Command } from 'commander';
import { listMissed } from '../../inbox/event-coverage.ts';
import { systemClock } from '../../lib/clock.ts';
import { parseMoment, wholeNumber } from '../arguments.ts';
import { type CliContext, examples } from '../command.ts';
import { firstRows, withMirror } from '../reading.ts';

interface Options {
  readonly since: string;
  readonly limit: number;
  readonly json?: boolean;
}

const LIMIT_MAX = 100_000;

function timeOf(at: number): string {
  return new Date(at).toISOString().slice(0, 19).replace('T', ' ');
}

export function eventsMissed(context: CliContext): Command {
  return new Command('missed')
    .summary('show deliveries that no event announced in time')
    .description(
      'Deliveries that a sweep found, and whose event had not come five minutes later. The\n' +
        'latest first; times are UTC. PACKED AFTER is when the sweep before began.',
    )
    .option('--since <time>', 'a time, or 1d for a day ago', '1d')
    .option('--limit <n>', 'how many at the most', wholeNumber(1, LIMIT_MAX), 50)
    .option('--json', 'as JSON; times are epoch milliseconds')
    .addHelpText('after', examples([['events missed --since 7d', 'what the relay owes us']]))
    .action(async (options: Options, command: Command) => {
      const now = systemClock().now();
      const since = parseMoment(options.since, now);
      const { limit } = options;
      const found = await withMirror(command, context, (db) =>
        listMissed(db, { since, limit: limit + 1, now }),
      );
      const missed = firstRows(context.output, found, limit);
      if (options.json === true) {
        context.output.json(missed);
        return;
      }
      context.output.table(
        ['FOUND', 'PACKED AFTER', 'ORDER', 'DELIVERY'],
        missed.map(({ at, since, orderId, orderDeliveryId }) => [
          timeOf(at),
          timeOf(since),
          String(orderId),
          String(orderDeliveryId),
        ]),
      );
    });
}
