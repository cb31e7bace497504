/** `selvedge deliveries explain <id>`: why a delivery was decided as it was. */
import { Command } from 'commander';
import { type DecisionRecord, decisionsOf } from '../../decisions/desk.ts';
import { SelvedgeError } from '../../lib/errors.ts';
import { explain } from '../../rules/explain.ts';
import { type CliContext, examples } from '../command.ts';
import type { Output } from '../output.ts';
import { withMirror } from '../reading.ts';

function printDecision(output: Output, decision: DecisionRecord): void {
  const { decisionId, trigger, actor, mode, push } = decision;
  const at = new Date(decision.at).toISOString();
  output.line(`decision ${decisionId}  ${at}  by ${actor}, because: ${trigger}, mode ${mode}`);
  output.line(`rule set ${decision.ruleSetHash.slice(0, 16)}`);
  if (push !== null) output.line(`push     ${push.state}${push.error ? ` (${push.error})` : ''}`);
  if (decision.reason !== decision.evaluation.live.reason) {
    output.line(`outcome  ${decision.outcome}: ${decision.reason}`);
  }
  output.line(explain(decision.evaluation));
}

export function deliveriesExplain(context: CliContext): Command {
  return new Command('explain')
    .summary('show why a delivery was decided as it was')
    .description(
      'The latest decision with every rule, every condition and the values it saw; earlier\n' +
        'decisions with --all.',
    )
    .argument('<id>', 'the id of the delivery (selvedge deliveries list)')
    .option('--all', 'every decision, the latest first')
    .option('--json', 'as JSON')
    .addHelpText('after', examples([['deliveries explain 500012', 'why it was held']]))
    .action(async (id: string, options: { all?: boolean; json?: boolean }, command: Command) => {
      const found = /^\d{1,15}$/.test(id)
        ? await withMirror(command, context, (db) => decisionsOf(db, Number(id)))
        : [];
      if (found.length === 0) {
        throw new SelvedgeError('deliveries.unknown', `no decision about a delivery ${id}`, {
          hint: 'selvedge deliveries list shows the ids; a new delivery is decided in a moment',
        });
      }
      const shown = options.all === true ? found : found.slice(0, 1);
      if (options.json === true) context.output.json(shown);
      else {
        for (const [index, decision] of shown.entries()) {
          if (index > 0) context.output.line();
          printDecision(context.output, decision);
        }
      }
    });
}
