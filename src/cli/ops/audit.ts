/** `selvedge audit list`: lists what people did, and why. */
import { Command } from 'commander';
import { systemClock } from '../../lib/clock.ts';
import { listAudit } from '../../store/audit.ts';
import { parseMoment, wholeNumber } from '../arguments.ts';
import { type CliContext, examples } from '../command.ts';
import { firstRows, withMirror } from '../reading.ts';

interface Options {
  readonly since: string;
  readonly action?: string;
  readonly subject?: string;
  readonly limit: number;
  readonly json?: boolean;
}

const LIMIT_MAX = 10_000;

export function auditList(context: CliContext): Command {
  return new Command('list')
    .summary('show what people did, and why')
    .description(
      'The latest first: who, what, about which, with the reason that was given. The\n' +
        'daemon stands there where a reject rule was disarmed by itself.',
    )
    .option('--since <time>', 'from then on: a time, or 7d for ago', '30d')
    .option('--action <name>', 'only this action, or those that begin so, e.g. delivery.')
    .option('--subject <name>', 'only about this, e.g. delivery:500012 or rule:<id>')
    .option('--limit <n>', 'how many at the most', wholeNumber(1, LIMIT_MAX), 100)
    .option('--json', 'as JSON')
    .addHelpText(
      'after',
      examples([['audit list --action rules. --since 7d', 'armed, reloaded …']]),
    )
    .action(async (options: Options, command: Command) => {
      const found = await withMirror(command, context, (db) => {
        const { action, subject, limit } = options;
        const since = parseMoment(options.since, systemClock().now());
        return listAudit(db, { since, action, subject, limit: limit + 1 });
      });
      const rows = firstRows(context.output, found, options.limit);
      if (options.json === true) {
        context.output.json(rows);
        return;
      }
      context.output.table(
        ['AT', 'WHO', 'ACTION', 'ABOUT', 'REASON'],
        rows.map((row) => [
          new Date(row.at).toISOString(),
          row.actor,
          row.action,
          row.subject,
          row.reason || '-',
        ]),
      );
    });
}
