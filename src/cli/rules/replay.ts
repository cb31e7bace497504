/** `selvedge rules replay <decision>`: one past decision again, on the facts that it saw. */
import { Command } from 'commander';
import { type Replay, replayDecision } from '../../decisions/simulation/replay.ts';
import { EXIT } from '../../lib/errors.ts';
import { explain } from '../../rules/explain.ts';
import { wholeNumber } from '../arguments.ts';
import { type CliContext, examples } from '../command.ts';
import type { Output } from '../output.ts';
import { withMirror } from '../reading.ts';

function print(output: Output, replay: Replay): void {
  const { decisionId, orderDeliveryId, mode, differences } = replay;
  const at = new Date(replay.at).toISOString();
  output.line(`decision ${decisionId}  delivery ${orderDeliveryId}  ${at}  mode ${mode}`);
  output.line(`rule set ${replay.ruleSetHash.slice(0, 16)}`);
  if (replay.outcome !== replay.recorded.live.kind) {
    output.line(`outcome  ${replay.outcome}: ${replay.reason}`);
  }
  output.line(explain(replay.replayed));
  output.line();
  for (const difference of differences) output.line(`DIFFERENT ${difference}`);
  if (differences.length === 0) output.line('identical to what was journaled');
}

export function rulesReplay(context: CliContext): Command {
  return new Command('replay')
    .summary('evaluate a past decision again and compare')
    .description(
      'The stored facts under the stored texts of the rules that decided. Exits with 1 when the\n' +
        'outcome is not the identical one.',
    )
    .argument('<decision>', 'the number of the decision (deliveries explain)', wholeNumber())
    .option('--json', 'as JSON')
    .addHelpText('after', examples([['rules replay 4711', 'is it still true?']]))
    .action(async (decision: number, options: { json?: boolean }, command: Command) => {
      const replay = await withMirror(command, context, (db) => replayDecision(db, decision));
      if (replay.differences.length > 0) context.setExitCode(EXIT.failure.code);
      if (options.json === true) context.output.json(replay);
      else print(context.output, replay);
    });
}
