/** `selvedge deliveries explain <delivery>`: why a delivery was decided as it was. */
import { Command } from 'commander';
import {
  type DecisionRecord,
  decisionsOf,
  deliveryIdOf,
} from '../../decisions/review/deliveries.ts';
import { SelvedgeError } from '../../lib/errors.ts';
import { explain } from '../../rules/explain.ts';
import type { Db } from '../../store/store.ts';
import { type CliContext, examples } from '../command.ts';
import type { Output } from '../output.ts';
import { withMirror } from '../reading.ts';

interface Options {
  readonly all?: boolean;
  readonly json?: boolean;
}

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

/** What the service no longer has is known by its id alone. */
async function decisionsAbout(db: Db, delivery: string): Promise<DecisionRecord[]> {
  const byId = /^\d{1,15}$/.test(delivery) ? await decisionsOf(db, Number(delivery)) : [];
  return byId.length > 0 ? byId : decisionsOf(db, await deliveryIdOf(db, delivery));
}

export function deliveriesExplain(context: CliContext): Command {
  return new Command('explain')
    .summary('show why a delivery was decided as it was')
    .description(
      'The latest decision with every rule, every condition and the values it saw; earlier\n' +
        'decisions with --all.',
    )
    .argument('<delivery>', 'id or number (selvedge deliveries list)')
    .option('--all', 'every decision, the latest first')
    .option('--json', 'as JSON')
    .addHelpText('after', examples([['deliveries explain 500012', 'why it was held']]))
    .action(async (delivery: string, options: Options, command: Command) => {
      const found = await withMirror(command, context, (db) => decisionsAbout(db, delivery));
      if (found.length === 0) {
        const message = `there is no decision about delivery ${delivery}`;
        const hint = 'a new delivery is decided in a moment';
        throw new SelvedgeError('deliveries.undecided', message, { hint });
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
