/** `selvedge rules list`: lists the rules in force, with their results of the last 30 days. */
import { Command } from 'commander';
import { holdsInstead, type RuleRow, ruleRows } from '../../console/read/rules.ts';
import { rejectOverview } from '../../decisions/review/overview.ts';
import { ruleFigures } from '../../decisions/simulation/rule-figures.ts';
import { ruleSetInForce } from '../../decisions/simulation/rule-sets.ts';
import { systemClock } from '../../lib/clock.ts';
import { formatDuration } from '../../lib/units.ts';
import { type CliContext, examples } from '../command.ts';
import { withMirror } from '../reading.ts';

const MINUTE_MS = 60_000;

function stateOf(row: RuleRow, now: number): string {
  const { mode, action, armed } = row;
  if (action !== 'reject' || mode === 'off') return mode;
  const holds = holdsInstead(row) ? ': holds' : '';
  if (!armed) return `${mode}, not armed${holds}`;
  if (!armed.inForce) return `armed in another text${holds}`;
  const left = Math.max(MINUTE_MS, Math.round((armed.expiresAt - now) / MINUTE_MS) * MINUTE_MS);
  return `armed, ${formatDuration(left)} left`;
}

function peopleOf({ figures }: RuleRow): string {
  return figures ? `${figures.accepted} accepted, ${figures.rejected} rejected` : '-';
}

export function rulesList(context: CliContext): Command {
  return new Command('list')
    .summary('list the rules in force and how they did')
    .description(
      'Each rule in force with the deliveries of the last 24 hours, 7 and 30 days on which it\n' +
        'was true, what people did with those, and its near misses: deliveries for which one of\n' +
        'several conditions alone stood in the way. Reads all decisions of 30 days.',
    )
    .option('--json', 'as JSON')
    .addHelpText('after', examples([['rules list', 'which rule does anything']]))
    .action(async (options: { json?: boolean }, command: Command) => {
      const now = systemClock().now();
      const rows = await withMirror(command, context, async (db) => {
        const { ruleSet } = await ruleSetInForce(db);
        const rejects = await rejectOverview(db, now, ruleSet);
        return ruleRows(ruleSet, rejects, await ruleFigures(db, now));
      });
      if (options.json === true) {
        context.output.json(rows);
        return;
      }
      const number = (count: number | undefined): string => String(count ?? 0);
      context.output.table(
        ['RULE', 'ACTION', 'STATE', 'OWNER', '24H', '7D', '30D', 'PEOPLE', 'NEAR', 'PLACE'],
        rows.map((row) => [
          ...[row.id, row.action, stateOf(row, now), row.owner ?? '-', number(row.figures?.day)],
          ...[number(row.figures?.week), number(row.figures?.month), peopleOf(row)],
          ...[number(row.figures?.nearMisses), `${row.file}:${row.line}`],
        ]),
      );
    });
}
