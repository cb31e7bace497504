/** `selvedge rules explain <delivery>`: what the rules say of a delivery now, and why. */
import { Command } from 'commander';
import { lapsedRules, readHolds } from '../../decisions/holds/holds.ts';
import { armedRuleIds } from '../../decisions/reject/arming.ts';
import { presentFacts } from '../../decisions/trial/present.ts';
import { systemClock } from '../../lib/clock.ts';
import { evaluate } from '../../rules/evaluate.ts';
import { explain } from '../../rules/explain.ts';
import { type CliContext, configOf, examples } from '../command.ts';
import { withMirror } from '../reading.ts';
import { namedRuleSet } from './rule-sets.ts';

interface ExplainOptions {
  readonly rules?: string;
  readonly json?: boolean;
}

async function explainNow(
  context: CliContext,
  delivery: string,
  options: ExplainOptions,
  command: Command,
): Promise<void> {
  const { directory, mode } = configOf(command, context).config.rules;
  const now = systemClock().now();
  const evaluation = await withMirror(command, context, async (db, store) => {
    const ruleSet = await namedRuleSet(db, options.rules ?? directory);
    const facts = await presentFacts(store, delivery, ruleSet, now);
    const { armed, lapsed } = await store.snapshot(async (tx) => ({
      armed: await armedRuleIds(tx, ruleSet, now),
      lapsed: lapsedRules(await readHolds(tx, facts.delivery.id), now),
    }));
    return evaluate(ruleSet, facts, { mode: mode === 'shadow' ? 'shadow' : 'live', armed, lapsed });
  });
  if (options.json === true) context.output.json(evaluation);
  else context.output.line(explain(evaluation));
}

export function rulesExplain(context: CliContext): Command {
  return new Command('explain')
    .summary('show what the rules say of a delivery now, and why')
    .description(
      'Asks the rules about the present facts of the delivery, decides nothing and writes\n' +
        'nothing. What was decided before is shown by "selvedge deliveries explain".',
    )
    .argument('<delivery>', 'the id or the number of the delivery')
    .option('--rules <dir|hash>', 'other rules than the configured ones')
    .option('--json', 'as JSON')
    .addHelpText(
      'after',
      examples([
        ['rules explain 500012', 'under the rules of the service'],
        ['rules explain 500012 --rules my-rules', 'under rules that are being written'],
      ]),
    )
    .action((delivery: string, options: ExplainOptions, command: Command) =>
      explainNow(context, delivery, options, command),
    );
}
