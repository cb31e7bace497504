/**
 * `selvedge decisions verify`: proves that the journal of decisions is whole and can still be
 * replayed.
 */
import { Command } from 'commander';
import {
  type Replay,
  replayDecision,
  type VerifyReport,
  verifyDecisions,
} from '../../decisions/simulation/replay.ts';
import { EXIT } from '../../lib/errors.ts';
import { explain } from '../../rules/explain.ts';
import { wholeNumber } from '../arguments.ts';
import { type CliContext, examples } from '../command.ts';
import type { Output } from '../output.ts';
import { withMirror } from '../reading.ts';

const SAMPLE_DEFAULT = 200;
const SAMPLE = wholeNumber(0, 1_000_000);

interface Options {
  readonly sample: number;
  readonly json?: boolean;
}

function print(output: Output, { chain, replayed, different }: VerifyReport): void {
  const broken = chain.brokenAt;
  const proved = broken === undefined ? 'whole' : `BROKEN at decision ${broken}`;
  const gone = chain.forgotten === 0 ? '' : `, ${chain.forgotten} of them forgotten (audit list)`;
  output.line(`chain     ${proved}, ${chain.entries} entries in order${gone}`);
  output.line(`replayed  ${replayed.length}, identical ${replayed.length - different.length}`);
  for (const { decisionId, differences } of different) {
    for (const difference of differences) output.line(`DIFFERENT ${decisionId}: ${difference}`);
  }
}

function printReplay(output: Output, replay: Replay): void {
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

export function decisionsVerify(context: CliContext): Command {
  return new Command('verify')
    .summary('prove that the decision journal is whole, or replay one decision')
    .description(
      'Recomputes the chain of hashes over every decision and its facts, and replays a sample\n' +
        'to the identical outcome; with the number of a decision, replays that one and shows\n' +
        'every condition. Exits with 1 when anything differs.',
    )
    .argument('[decision]', 'the number of a decision (deliveries explain)', wholeNumber())
    .option('--sample <n>', 'decisions to replay, evenly over the journal', SAMPLE, SAMPLE_DEFAULT)
    .option('--json', 'as JSON')
    .addHelpText(
      'after',
      examples([
        ['decisions verify --sample 1000', 'a larger sample'],
        ['decisions verify 4711', 'is this one still true?'],
      ]),
    )
    .action(async (decision: number | undefined, options: Options, command: Command) => {
      const { output, setExitCode } = context;
      if (decision !== undefined) {
        const replay = await withMirror(command, context, (db) => replayDecision(db, decision));
        if (replay.differences.length > 0) setExitCode(EXIT.failure.code);
        if (options.json === true) output.json(replay);
        else printReplay(output, replay);
        return;
      }
      const { sample } = options;
      const report = await withMirror(command, context, (db) => verifyDecisions(db, sample));
      const isRight = report.chain.brokenAt === undefined && report.different.length === 0;
      if (!isRight) setExitCode(EXIT.failure.code);
      if (options.json === true) output.json(report);
      else print(output, report);
    });
}
