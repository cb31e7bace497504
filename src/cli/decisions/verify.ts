/** `selvedge decisions verify`: proves that the journal is whole and can still be replayed. */
import { Command } from 'commander';
import { type VerifyReport, verifyDecisions } from '../../decisions/simulation/replay.ts';
import { EXIT } from '../../lib/errors.ts';
import { wholeNumber } from '../arguments.ts';
import { type CliContext, examples } from '../command.ts';
import type { Output } from '../output.ts';
import { withMirror } from '../reading.ts';

const SAMPLE_DEFAULT = 200;
const SAMPLE = wholeNumber(0, 1_000_000);

function print(output: Output, { chain, replayed, different }: VerifyReport): void {
  const broken = chain.brokenAt;
  const proved = broken === undefined ? 'whole' : `BROKEN at decision ${broken}`;
  output.line(`chain     ${proved}, ${chain.entries} entries in order`);
  output.line(`replayed  ${replayed.length}, identical ${replayed.length - different.length}`);
  for (const { decisionId, differences } of different) {
    for (const difference of differences) output.line(`DIFFERENT ${decisionId}: ${difference}`);
  }
}

export function decisionsVerify(context: CliContext): Command {
  return new Command('verify')
    .summary('prove that the journal of decisions is whole')
    .description(
      'Recomputes the chain of hashes over every decision and its facts, and replays a sample\n' +
        'to the identical outcome. Exits with 1 when anything differs.',
    )
    .option('--sample <n>', 'decisions to replay, evenly over the journal', SAMPLE, SAMPLE_DEFAULT)
    .option('--json', 'as JSON')
    .addHelpText('after', examples([['decisions verify --sample 1000', 'a larger sample']]))
    .action(
      async ({ sample, ...options }: { sample: number; json?: boolean }, command: Command) => {
        const report = await withMirror(command, context, (db) => verifyDecisions(db, sample));
        const isRight = report.chain.brokenAt === undefined && report.different.length === 0;
        if (!isRight) context.setExitCode(EXIT.failure.code);
        if (options.json === true) context.output.json(report);
        else print(context.output, report);
      },
    );
}
