/**
 * `selvedge rules facts <delivery>`: shows every name a condition may use, with its present value.
 */
import { Command } from 'commander';
import { loadRuleSet } from '../../decisions/rule-files.ts';
import { currentSubject } from '../../decisions/simulation/current.ts';
import { systemClock } from '../../lib/clock.ts';
import { factRows } from '../../rules/facts/show.ts';
import { type CliContext, examples } from '../command.ts';
import { withMirror } from '../reading.ts';
import { rulesDirectory } from './directory.ts';

export function rulesFacts(context: CliContext): Command {
  return new Command('facts')
    .summary('show every fact of a delivery with its value')
    .description(
      'Every name that a condition may use, with its present value for this delivery and its\n' +
        'meaning; "?" is a fact that is not known.',
    )
    .argument('<delivery>', 'the id or the number of the delivery')
    .option('--json', 'as JSON')
    .addHelpText('after', examples([['rules facts 500012', 'find the right name']]))
    .action(async (delivery: string, options: { json?: boolean }, command: Command) => {
      const { ruleSet } = loadRuleSet(rulesDirectory(command, context, undefined));
      const now = systemClock().now();
      const { facts } = await withMirror(command, context, (_db, store) =>
        currentSubject(store, delivery, ruleSet, now),
      );
      const rows = factRows(facts);
      if (options.json === true) {
        context.output.json(rows.map((row) => ({ ...row, value: row.value ?? null })));
        return;
      }
      context.output.table(
        ['FACT', 'VALUE', 'MEANING'],
        rows.map(({ path, value, about }) => [path, value ?? '?', about]),
      );
    });
}
