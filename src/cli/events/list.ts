/** `selvedge events list`: the stored events, the latest first. */
import { Command } from 'commander';
import { type EventRow, listEvents } from '../../inbox/overview.ts';
import { systemClock } from '../../lib/clock.ts';
import { parseMoment, wholeNumber } from '../arguments.ts';
import { type CliContext, examples } from '../command.ts';
import { firstRows, withMirror } from '../reading.ts';

interface Options {
  readonly type?: string;
  readonly order?: number;
  readonly since?: string;
  readonly limit: number;
  readonly json?: boolean;
}

const EVENT_TITLES = ['RECEIVED', 'TYPE', 'ORDER', 'LED TO', 'TIMES', 'ID'];

/** More than anybody reads; programs ask the database. */
const LIMIT_MAX = 100_000;

export function eventCells(event: EventRow, at: number = event.receivedAt): string[] {
  return [
    new Date(at).toISOString().slice(0, 23).replace('T', ' '),
    event.type ?? '(none)',
    event.orderId === null ? '-' : String(event.orderId),
    event.outcome === 'refresh' ? 'a read' : 'nothing',
    String(event.duplicates + 1),
    event.eventId,
  ];
}

export function eventsList(context: CliContext): Command {
  return new Command('list')
    .summary('show stored events, the latest first')
    .description(
      'Everything that was rightly signed is stored, whether it is understood or not. TIMES\n' +
        'counts how often the relay has sent it. Times are UTC.',
    )
    .option('--type <type>', 'such as sales_order.delivery_created, or delivery_created')
    .option('--order <id>', 'only events that name this order', wholeNumber())
    .option('--since <time>', 'a time, or 2h for two hours ago')
    .option('--limit <n>', 'how many at the most', wholeNumber(1, LIMIT_MAX), 50)
    .option('--json', 'as JSON; times are epoch milliseconds')
    .addHelpText(
      'after',
      examples([
        ['events list --since 1h', 'the last hour'],
        ['events list --order 4711', 'what we were told about an order'],
      ]),
    )
    .action(async (options: Options, command: Command) => {
      const now = systemClock().now();
      const filter = {
        type: options.type,
        orderId: options.order,
        since: options.since === undefined ? undefined : parseMoment(options.since, now),
        limit: options.limit + 1,
      };
      const found = await withMirror(command, context, (db) => listEvents(db, filter));
      const events = firstRows(context.output, found, options.limit);
      if (options.json === true) context.output.json(events);
      else
        context.output.table(
          EVENT_TITLES,
          events.map((event) => eventCells(event)),
        );
    });
}
