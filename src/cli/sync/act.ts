/** `selvedge sync run`: the declared act, and then the wait for the end of the run. */
import type { Command } from 'commander';
import { runPull } from '../../sync/surface.ts';
import { wholeNumber } from '../arguments.ts';
import type { CliContext } from '../command.ts';
import { actCommand } from '../surface-commands.ts';
import { followRun } from './follow.ts';

interface Options {
  readonly follow: boolean;
  readonly every: number;
  readonly json?: boolean;
  readonly url?: string;
}

export function syncRun(context: CliContext): Command {
  const { output } = context;
  /** Waits for the run, which only a daemon on this machine can be watched at. */
  const follow = async (command: Command, answer: unknown): Promise<boolean> => {
    const options = command.optsWithGlobals<Options>();
    const { stream, daemon } = runPull.output.parse(answer);
    if (!options.follow || !daemon || options.url !== undefined) return false;
    const run = await followRun(context, command, stream, options.every);
    const why = run.reason === null ? '' : `: ${run.reason}`;
    const figures = `${run.rows} rows, ${run.changed} changed, ${run.deleted} deleted`;
    if (options.json === true) output.json(run);
    else output.line(`run ${run.runId} is ${run.outcome}, ${figures}${why}`);
    if (run.outcome !== 'complete') context.setExitCode(1);
    return true;
  };
  return actCommand(runPull, context, follow)
    .option('--no-follow', 'do not wait for the end')
    .option(
      '--every <pages>',
      'without a terminal: a line after so many pages',
      wholeNumber(1),
      100,
    );
}
