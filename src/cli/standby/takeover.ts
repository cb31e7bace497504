/** `selvedge takeover`: takes over by hand, without the wait for the lease to end. */
import { Command } from 'commander';
import { takeOverByHand } from '../../daemon/standby/waiting.ts';
import { systemClock } from '../../lib/clock.ts';
import { systemRandom } from '../../lib/random.ts';
import { type CliContext, examples } from '../command.ts';
import { configOf } from '../configuration.ts';
import { commandLogger } from '../logging.ts';
import { linesOf } from './told.ts';

interface Options {
  readonly force?: boolean;
  readonly json?: boolean;
}

export function takeover(context: CliContext): Command {
  return new Command('takeover')
    .summary('take over from the other machine by hand')
    .description(
      'Takes the lease, restores the newest backup and plays what was recorded since, as a\n' +
        'standby does by itself; then start the daemon here. Refused while the holder renews\n' +
        'the lease. The standby of this machine must be stopped.',
    )
    .option('--force', 'also from a holder that renews it: it ends as soon as it sees that')
    .option('--json', 'the result as JSON')
    .addHelpText('after', examples([['takeover', 'the other machine is off, and nobody waits']]))
    .action(async ({ force, json }: Options, command: Command) => {
      const { config } = configOf(command, context);
      const log = commandLogger(context, config.log);
      const parts = { clock: systemClock(), random: systemRandom(), log };
      const { signal } = new AbortController();
      const ended = await takeOverByHand(config, parts, { isForced: force === true, signal });
      if (json === true) context.output.json(ended);
      else for (const line of linesOf(ended)) context.output.line(line);
    });
}
