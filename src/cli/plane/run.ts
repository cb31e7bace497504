/** `selvedge plane run`: the process that keeps the copy in PostgreSQL. */
import { Command } from 'commander';
import { showProblem } from '../../config/problems.ts';
import { preferMemory, runUntilSignal } from '../../daemon/lifecycle.ts';
import { runPlane } from '../../daemon/plane.ts';
import { serviceManager } from '../../daemon/systemd/manager.ts';
import { systemClock } from '../../lib/clock.ts';
import { type CliContext, examples } from '../command.ts';
import { configOf } from '../configuration.ts';
import { commandLogger } from '../logging.ts';

export function planeRun(context: CliContext): Command {
  return new Command('run')
    .summary('keep the copy in PostgreSQL, until SIGTERM or Ctrl-C')
    .description(
      'Copies everything once, then what has changed, again and again. Reads the database\n' +
        'beside the daemon, or without one. While PostgreSQL cannot be reached it waits; what\n' +
        'the daemon does goes on. One process for each account.',
    )
    .addHelpText('after', examples([['plane run', 'in the front; selvedge-plane.service is it']]))
    .action(async (_options: object, command: Command) => {
      const { config, warnings } = configOf(command, context);
      const log = commandLogger(context, config.log).child({ room: 'plane' });
      const own = warnings.filter(({ path }) => path.startsWith('plane.'));
      for (const warning of own) log.warn(showProblem(warning));
      const manager = serviceManager(context.env, process.pid, log);
      preferMemory();
      const deps = { clock: systemClock(), log, manager };
      await runUntilSignal((signal) => runPlane(config, deps, signal), log);
    });
}
