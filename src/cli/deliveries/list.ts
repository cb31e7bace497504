/** `selvedge deliveries list`: what was packed, and what became of it. */
import { Command, Option } from 'commander';
import { listDeliveries } from '../../decisions/review/deliveries.ts';
import { systemClock } from '../../lib/clock.ts';
import { formatDuration } from '../../lib/units.ts';
import { wholeNumber } from '../arguments.ts';
import { type CliContext, examples } from '../command.ts';
import { firstRows, withMirror } from '../reading.ts';

interface ListOptions {
  readonly held?: boolean;
  readonly refused?: boolean;
  readonly pending?: boolean;
  readonly accepted?: boolean;
  readonly rejected?: boolean;
  readonly canceled?: boolean;
  readonly status?: string;
  readonly limit: number;
  readonly json?: boolean;
}

/** More than anybody reads; programs ask the database. */
const LIMIT_MAX = 10_000;

const STATUSES = ['pending', 'accepted', 'rejected', 'canceled'] as const;
const FILTERS = ['held', 'refused', ...STATUSES] as const;

/** Creates a filter option that excludes the other filters. */
function filter(name: (typeof FILTERS)[number], what: string): Option {
  return new Option(`--${name}`, what).conflicts(FILTERS.filter((other) => other !== name));
}

export function deliveriesList(context: CliContext): Command {
  return new Command('list')
    .summary('list deliveries with their latest decision')
    .description('The newest deliveries first, each with the outcome of the rules and its reason.')
    .addOption(filter('held', 'only pending ones that are held'))
    .addOption(filter('pending', 'only pending ones'))
    .addOption(filter('accepted', 'only accepted ones'))
    .addOption(filter('rejected', 'only rejected ones'))
    .addOption(filter('canceled', 'only canceled ones'))
    .addOption(filter('refused', 'only those whose decision the service did not take'))
    .addOption(
      new Option('--status <status>', 'only this status').choices(STATUSES).conflicts([...FILTERS]),
    )
    .option('--limit <n>', 'how many at the most', wholeNumber(1, LIMIT_MAX), 50)
    .option('--json', 'as JSON')
    .addHelpText(
      'after',
      examples([
        ['deliveries list --held', 'what waits for a person'],
        ['deliveries list --status accepted --json', 'for programs'],
      ]),
    )
    .action(async (options: ListOptions, command: Command) => {
      const asked = STATUSES.find((status) => options[status] === true) ?? options.status;
      const wanted = {
        limit: options.limit + 1,
        status: options.held === true ? 'pending' : asked,
        outcome: options.held === true ? ('hold' as const) : undefined,
        refused: options.refused,
      };
      const found = await withMirror(command, context, (db) => listDeliveries(db, wanted));
      const rows = firstRows(context.output, found, options.limit);
      if (options.json === true) {
        context.output.json(rows);
        return;
      }
      const now = systemClock().now();
      context.output.table(
        ['ID', 'NUMBER', 'ORDER', 'STATUS', 'AGE', 'PIECES', 'DECISION', 'PUSH', 'BY', 'REASON'],
        rows.map((row) => [
          String(row.orderDeliveryId),
          row.deliveryNo ?? '',
          String(row.orderId),
          row.status,
          formatDuration(Math.max(0, now - row.since)),
          String(row.pieces),
          row.escalated ? `${row.outcome}, OVERDUE` : (row.outcome ?? '-'),
          row.push ?? '-',
          row.rules.join(' ') || (row.actor === 'daemon' ? '-' : (row.actor ?? '-')),
          row.refusal === null ? (row.reason ?? '') : `${row.refusal} (${row.reason})`,
        ]),
      );
    });
}
