/**
 * `selvedge events list`: lists the stored events, the latest first, or each one when it arrives.
 */
import { Command } from 'commander';
import { arrivedAt, type EventRow, eventsFrom, listEvents } from '../../inbox/overview.ts';
import { systemClock } from '../../lib/clock.ts';
import type { Db } from '../../store/store.ts';
import { parseMoment, wholeNumber } from '../arguments.ts';
import { type CliContext, examples } from '../command.ts';
import type { Output } from '../output.ts';
import { firstRows, withMirror } from '../reading.ts';

interface Options {
  readonly type?: string;
  readonly order?: number;
  readonly since?: string;
  readonly limit: number;
  readonly follow?: boolean;
  readonly count?: number;
  readonly json?: boolean;
}

const EVENT_TITLES = ['RECEIVED', 'TYPE', 'ORDER', 'LED TO', 'TIMES', 'ID'];

/** Maximum of events listed: more than anybody reads. Programs ask the database. */
const LIMIT_MAX = 100_000;

const POLL_MS = 250;

/**
 * Milliseconds before the last look that are read again, because a later commit may carry an
 * earlier time.
 */
const LOOK_BACK_MS = 10_000;

/** Milliseconds for which an arrival is remembered as shown. */
const REMEMBER_MS = 60_000;

function eventCells(event: EventRow, at: number = event.receivedAt): string[] {
  return [
    new Date(at).toISOString().slice(0, 23).replace('T', ' '),
    event.type ?? '(none)',
    event.orderId === null ? '-' : String(event.orderId),
    event.outcome === 'refresh' ? 'a read' : 'nothing',
    String(event.duplicates + 1),
    event.eventId,
  ];
}

async function daemonRuns(db: Db, now: number): Promise<boolean> {
  const lease = await db
    .selectFrom('lease')
    .select('expires_at')
    .where('name', '=', 'daemon')
    .executeTakeFirst();
  return (lease?.expires_at ?? 0) > now;
}

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
      else output.line(eventCells(event, at).join('  '));
    }
    from = Math.max(from, clock.now() - LOOK_BACK_MS);
    for (const [id, at] of shown) if (at < from - REMEMBER_MS) shown.delete(id);
    if (left > 0) await clock.sleep(POLL_MS);
  }
}

export function eventsList(context: CliContext): Command {
  return new Command('list')
    .summary('show stored events, or those that arrive')
    .description(
      'Everything that was rightly signed is stored, whether it is understood or not. TIMES\n' +
        'counts how often the relay has sent it. Times are UTC. --follow prints a line for\n' +
        'each arrival until Ctrl-C; what another secret signed is in the log alone.',
    )
    .option('--type <type>', 'such as sales_order.delivery_created, or delivery_created')
    .option('--order <id>', 'only events that name this order', wholeNumber())
    .option('--since <time>', 'a time, or 2h for two hours ago')
    .option('--limit <n>', 'how many at the most', wholeNumber(1, LIMIT_MAX), 50)
    .option('--follow', 'show events as they arrive, also what the relay sends again')
    .option('--count <n>', 'with --follow: end after so many', wholeNumber(1))
    .option('--json', 'as JSON, with --follow one object a line; times are epoch milliseconds')
    .addHelpText(
      'after',
      examples([
        ['events list --since 1h', 'the last hour'],
        ['events list --order 4711', 'what we were told about an order'],
        ['events list --follow', 'while you press "send example" in the portal'],
      ]),
    )
    .action(async (options: Options, command: Command) => {
      if (options.follow === true) {
        await withMirror(command, context, (db) => follow(db, context.output, options));
        return;
      }
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
