/** `selvedge rules backtest`: asks rules about the stored facts of past decisions. */
import { Command } from 'commander';
import { keepReport } from '../../decisions/reject/surface.ts';
import { type Backtest, backtest } from '../../decisions/simulation/backtest.ts';
import { backtestJson, formatBacktest } from '../../decisions/simulation/backtest-text.ts';
import { notKnownHint, notKnownText } from '../../decisions/simulation/not-known.ts';
import { systemClock } from '../../lib/clock.ts';
import { EXIT, UsageError } from '../../lib/errors.ts';
import { parseMoment, wholeNumber } from '../arguments.ts';
import { type CliContext, examples } from '../command.ts';
import { configOf } from '../configuration.ts';
import { withMirror } from '../reading.ts';
import { timeZoneOf } from '../report/zone.ts';
import { performAct } from '../surface-call.ts';
import { rulesDirectory } from './directory.ts';
import { namedRuleSet } from './rule-sets.ts';

interface BacktestCommand {
  readonly since: string;
  readonly until?: string;
  readonly rules?: string;
  readonly against?: string;
  readonly shadowAsLive?: boolean;
  readonly maxNewRejects?: number;
  readonly save?: boolean;
  readonly json?: boolean;
}

/** Number of rejects that are kept in full with a report; all of them are counted. */
const REJECTS_KEPT_MAX = 20;

/**
 * Submits the report to the daemon, which alone may write; arming a rule may require such a report.
 */
async function keep(context: CliContext, command: Command, report: Backtest): Promise<void> {
  const { since, until, deliveries, judged: rules, rejects } = report;
  const kept = { ...backtestJson(report), rejects: rejects.slice(0, REJECTS_KEPT_MAX) };
  const body = { ruleSetHash: report.rules, since, until, deliveries, rules, report: kept };
  const wanted = { given: { report: body }, reason: '', dryRun: false };
  const answer = await performAct(command, context, keepReport, wanted);
  context.output.note(keepReport.done(answer, {}));
}

/**
 * Reads the period and refuses an empty one: no reject is found in it, and a check would always
 * pass.
 */
function periodOf(
  options: BacktestCommand,
  timeZone: () => string,
): { readonly since: number; readonly until: number } {
  const now = systemClock().now();
  const since = parseMoment(options.since, now, timeZone);
  const until = options.until === undefined ? now : parseMoment(options.until, now, timeZone);
  if (until > since) return { since, until };
  throw new UsageError('rules.no_period', '--until is not after --since: no decision is between', {
    hint: 'without --until the period ends now',
  });
}

async function run(context: CliContext, options: BacktestCommand, command: Command): Promise<void> {
  const period = periodOf(options, () => timeZoneOf(configOf(command, context).config));
  const { against, shadowAsLive, maxNewRejects = Number.POSITIVE_INFINITY } = options;
  const tried = rulesDirectory(command, context, options.rules);
  const report = await withMirror(command, context, async (db) => {
    const rules = await namedRuleSet(db, tried);
    const before = against === undefined ? undefined : await namedRuleSet(db, against);
    return backtest(db, period, { rules, against: before, shadowAsLive });
  });
  if (options.json === true) context.output.json(backtestJson(report));
  else context.output.line(formatBacktest(report));
  if (options.save === true) await keep(context, command, report);
  const { newRejects, notKnown, deliveries } = report;
  const unclear = notKnownText(notKnown, deliveries);
  if (newRejects > maxNewRejects) {
    context.setExitCode(EXIT.failure.code);
    context.output.note(`${newRejects} new rejects, allowed are ${maxNewRejects}`);
  } else if (unclear !== undefined && maxNewRejects < Number.POSITIVE_INFINITY) {
    context.setExitCode(EXIT.notKnown.code);
    const hint = notKnownHint(notKnown);
    context.output.note(`nobody knows whether more would be rejected; ${unclear}\nhint: ${hint}`);
  }
}

export function rulesBacktest(context: CliContext): Command {
  return new Command('backtest')
    .summary('simulate rules on past decisions')
    .description(
      'Replays the facts that were stored with every decision, exactly as they were seen, and\n' +
        'shows what would have been decided otherwise, how far people agree, the rules that\n' +
        'never matched, and every delivery that would have been rejected. Reject rules count as\n' +
        'armed. A fact that no rule read then is found as it was, or its delivery counts as not\n' +
        'known. To guard a repository: --max-new-rejects exits with 1 when more would be\n' +
        'rejected, and with 5 when there may be more.',
    )
    .requiredOption('--since <time>', 'the first decisions to replay: a time, or 7d for ago')
    .option('--until <time>', 'replay decisions before this time (default: now)')
    .option('--rules <dir|hash>', 'the rules on trial (default: the configured ones)')
    .option('--against <hash|dir>', 'compare with these rules (default: what was decided)')
    .option('--shadow-as-live', 'rules that only watch count as if they were live')
    .option(
      '--max-new-rejects <n>',
      'exit with 1 or 5 when more would, or may, be rejected',
      wholeNumber(),
    )
    .option('--save', 'keep the report: arming a reject rule asks for it (asks the daemon)')
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
