/** `selvedge rules backtest`: what rules would have made of the past. */
import { Command, InvalidArgumentError } from 'commander';
import { backtest } from '../../decisions/trial/backtest.ts';
import { formatBacktest } from '../../decisions/trial/backtest-text.ts';
import { systemClock } from '../../lib/clock.ts';
import { EXIT } from '../../lib/errors.ts';
import { type CliContext, examples } from '../command.ts';
import { withMirror } from '../reading.ts';
import { parseMoment } from './moment.ts';
import { namedRuleSet, rulesDirectory } from './rule-sets.ts';

interface BacktestCommand {
  readonly since: string;
  readonly until?: string;
  readonly rules?: string;
  readonly against?: string;
  readonly shadowAsLive?: boolean;
  readonly maxNewRejects?: number;
  readonly json?: boolean;
}

function wholeNumber(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError('It is not a whole number.');
  return Number(text);
}

async function run(context: CliContext, options: BacktestCommand, command: Command): Promise<void> {
  const now = systemClock().now();
  const period = {
    since: parseMoment(options.since, now),
    until: options.until === undefined ? now : parseMoment(options.until, now),
  };
  const { against, shadowAsLive, maxNewRejects = Number.POSITIVE_INFINITY } = options;
  const tried = rulesDirectory(command, context, options.rules);
  const report = await withMirror(command, context, async (db) =>
    backtest(db, period, {
      rules: await namedRuleSet(db, tried),
      against: against === undefined ? undefined : await namedRuleSet(db, against),
      shadowAsLive,
    }),
  );
  if (options.json === true) context.output.json(report);
  else context.output.line(formatBacktest(report));
  if (report.newRejects > maxNewRejects) {
    context.setExitCode(EXIT.failure.code);
    context.output.note(`${report.newRejects} new rejects, allowed are ${maxNewRejects}`);
  }
}

export function rulesBacktest(context: CliContext): Command {
  return new Command('backtest')
    .summary('show what rules would have made of the past')
    .description(
      'Replays the facts that were stored with every decision, exactly as they were seen, and\n' +
        'shows what would have been decided otherwise, how far people agree, the rules that\n' +
        'never matched, and every delivery that would have been rejected. Reject rules count as\n' +
        'armed. Exits with 1 beyond --max-new-rejects, so that it can guard a repository.',
    )
    .requiredOption('--since <time>', 'the first decisions to replay: a time, or 7d for ago')
    .option('--until <time>', 'replay decisions before this time (default: now)')
    .option('--rules <dir|hash>', 'the rules on trial (default: the configured ones)')
    .option('--against <hash|dir>', 'compare with these rules (default: what was decided)')
    .option('--shadow-as-live', 'rules that only watch count as if they were live')
    .option('--max-new-rejects <n>', 'exit with 1 when more would be rejected', wholeNumber)
    .option('--json', 'the report as JSON')
    .addHelpText(
      'after',
      examples([
        ['rules backtest --since 30d --rules my-rules', 'what would change'],
        ['rules backtest --since 30d --max-new-rejects 0', 'as a check before a release'],
      ]),
    )
    .action((options: BacktestCommand, command: Command) => run(context, options, command));
}
