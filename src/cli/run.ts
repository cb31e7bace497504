/** `selvedge run`: the daemon. */
import { Command } from 'commander';
import { showProblem } from '../config/problems.ts';
import { openDaemon } from '../daemon/daemon.ts';
import { preferMemory, runUntilSignal } from '../daemon/lifecycle.ts';
import { serviceManager } from '../daemon/systemd/manager.ts';
import { systemClock } from '../lib/clock.ts';
import { systemRandom } from '../lib/random.ts';
import { type CliContext, examples } from './command.ts';
import { configOf } from './configuration.ts';
import { commandLogger } from './logging.ts';

export function run(context: CliContext): Command {
  return new Command('run')
    .summary('run the daemon')
    .description(
      'Pulls the streams on their schedules, receives events, decides deliveries by the rules\n' +
        'and pushes what was decided, until SIGTERM or Ctrl-C. A second signal forces the stop.\n' +
        'SIGHUP loads the rules again (away from a terminal), as does "selvedge rules reload".',
    )
    .addHelpText('after', examples([['run --config /etc/selvedge/selvedge.yaml', 'in the front']]))
    .action(async (_options: object, command: Command) => {
      const { config, warnings } = configOf(command, context, 'none');
      const readConfig = () => configOf(command, context, 'none').config;
      const log = commandLogger(context, config.log);
      for (const warning of warnings) log.warn(showProblem(warning));
      const { scrubber } = context;
      const manager = serviceManager(context.env, process.pid, log);
      const deps = { clock: systemClock(), random: systemRandom(), log, scrubber, manager };
      const daemon = await openDaemon(config, { ...deps, readConfig });
      preferMemory();
      const reload = () =>
        manager.notifier.reloading(() => daemon.reload({ actor: 'signal', reason: 'SIGHUP' }));
      const onHangUp = context.output.isTerminal ? undefined : reload;
      await runUntilSignal((signal) => daemon.run(signal), log, { onHangUp });
    });
}
