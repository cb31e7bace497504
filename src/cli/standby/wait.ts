/** `selvedge standby`: the machine that waits, and takes over when the holder is gone. */
import { Command } from 'commander';
import { preferMemory, runUntilSignal } from '../../daemon/lifecycle.ts';
import { runStandby } from '../../daemon/standby/waiting.ts';
import { serviceManager } from '../../daemon/systemd/manager.ts';
import { systemClock } from '../../lib/clock.ts';
import { EXIT } from '../../lib/errors.ts';
import { systemRandom } from '../../lib/random.ts';
import { type CliContext, examples } from '../command.ts';
import { configOf } from '../configuration.ts';
import { commandLogger } from '../logging.ts';
import { tellEnded } from './told.ts';

export function standbyWait(context: CliContext): Command {
  return new Command('wait')
    .summary('wait until the other machine is gone, and take over (the same as "standby" alone)')
    .description(
      'Reads the lease in PostgreSQL each second. Once nothing of it has moved for its length\n' +
        'and a renewal, takes it, restores the newest backup and plays what was recorded since.\n' +
        'Ends with exit code 77: then the daemon is to be started here, as the unit does. What\n' +
        'this machine had before, if it was the holder, is set aside first.',
    )
    .addHelpText(
      'after',
      examples([['standby || selvedge run', 'in the front; selvedge-standby.service is it']]),
    )
    .action(async (_options: object, command: Command) => {
      const { config } = configOf(command, context);
      const log = commandLogger(context, config.log);
      const manager = serviceManager(context.env, process.pid, log);
      const parts = { clock: systemClock(), random: systemRandom(), log, manager };
      preferMemory();
      await runUntilSignal(async (signal) => {
        const ended = await runStandby(config, parts, signal);
        if (ended === undefined) return;
        tellEnded(log, ended);
        context.setExitCode(EXIT.takenOver.code);
      }, log);
    });
}
