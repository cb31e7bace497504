/** `selvedge deliveries list`: what was packed, and what became of it. */
import { Command, InvalidArgumentError, Option } from 'commander';
import { listDeliveries } from '../../decisions/desk.ts';
import { systemClock } from '../../lib/clock.ts';
import { formatDuration } from '../../lib/units.ts';
import { type CliContext, examples } from '../command.ts';
import { withMirror } from '../reading.ts';

interface ListOptions {
  readonly held?: boolean;
  readonly pending?: boolean;
  readonly status?: string;
  readonly limit: number;
  readonly json?: boolean;
}

/** More than anybody reads; programs ask the database. */
const LIMIT_MAX = 10_000;

function wholeNumber(text: string): number {
  const value = Number(text);
  if (/^\d+$/.test(text) && value >= 1 && value <= LIMIT_MAX) return value;
  throw new InvalidArgumentError(`a number from 1 to ${LIMIT_MAX}`);
}

export function deliveriesList(context: CliContext): Command {
  return new Command('list')
    .summary('list deliveries with their latest decision')
    .description('The newest deliveries first, each with the outcome of the rules and its reason.')
    .option('--held', 'only pending ones that a rule holds')
    .option('--pending', 'only pending ones')
    .addOption(
      new Option('--status <status>', 'only this status')
        .choices(['pending', 'accepted', 'rejected', 'canceled'])
        .conflicts(['held', 'pending']),
    )
    .option('--limit <n>', 'how many at the most', wholeNumber, 50)
    .option('--json', 'as JSON')
    .addHelpText(
      'after',
      examples([
        ['deliveries list --held', 'what waits for a person'],
        ['deliveries list --status accepted --json', 'for programs'],
      ]),
    )
    .action(async (options: ListOptions, command: Command) => {
      const onlyPending = options.held === true || options.pending === true;
      const filter = {
        limit: options.limit,
        status: onlyPending ? 'pending' : options.status,
        outcome: options.held === true ? 'hold' : undefined,
      };
      const rows = await withMirror(command, context, (db) => listDeliveries(db, filter));
      if (options.json === true) {
        context.output.json(rows);
        return;
      }
      const now = systemClock().now();
      context.output.table(
        ['ID', 'NUMBER', 'ORDER', 'STATUS', 'AGE', 'PIECES', 'DECISION', 'PUSH', 'RULES', 'REASON'],
        rows.map((row) => [
          String(row.orderDeliveryId),
          row.deliveryNo ?? '',
          String(row.orderId),
          row.status,
          formatDuration(Math.max(0, now - row.since)),
          String(row.pieces),
          row.outcome ?? '-',
          row.push ?? '-',
          row.rules.join(' ') || '-',
          row.reason ?? '',
        ]),
      );
    });
}
