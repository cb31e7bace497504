/** `selvedge run`: runs the daemon. */
import { Command } from 'commander';
import { describeConfig } from '../config/describe.ts';
import { showProblem } from '../config/problems.ts';
import { openDaemon } from '../daemon/daemon.ts';
import { holdHangUps, preferMemory, runUntilSignal } from '../daemon/lifecycle.ts';
import { serviceManager } from '../daemon/systemd/manager.ts';
import { systemClock } from '../lib/clock.ts';
import { systemRandom } from '../lib/random.ts';
import { type CliContext, examples } from './command.ts';
import { configFileOf, configOf } from './configuration.ts';
import { commandLogger } from './logging.ts';

interface RunOptions {
  readonly reloadOnHup?: boolean;
}

/**
 * Whether SIGHUP means a reload: systemd sends it for that, a terminal when it closes. A shell
 * inherits INVOCATION_ID from a terminal that systemd has started, so output to a terminal decides.
 */
function reloadsAtHangUp({ env, output }: CliContext, { reloadOnHup }: RunOptions): boolean {
  if (reloadOnHup === true) return true;
  const { NOTIFY_SOCKET: socket, INVOCATION_ID: invocation } = env;
  return !output.isTerminal && Boolean(socket || invocation);
}

export function run(context: CliContext): Command {
  return new Command('run')
    .summary('run the daemon')
    .description(
      'Pulls the streams on their schedules, receives events, decides deliveries by the rules\n' +
        'and pushes what was decided, until SIGTERM or Ctrl-C. A second signal forces the stop.\n' +
        'SIGHUP loads the rules again under systemd, as does "selvedge rules reload"; elsewhere\n' +
        'it stops the daemon, because a terminal has closed.',
    )
    .option('--reload-on-hup', 'load the rules again at SIGHUP outside of systemd too')
    .addHelpText('after', examples([['run --config /etc/selvedge/selvedge.yaml', 'in the front']]))
    .action(async (options: RunOptions, command: Command) => {
      // SIGHUP is held before anything that takes long: a reload asked for meanwhile must not end
      // the start.
      const early = reloadsAtHangUp(context, options) ? holdHangUps() : undefined;
      const { config, warnings } = configOf(command, context, 'none');
      const file = configFileOf(command, context);
      const settings = describeConfig({ file, env: context.env });
      const readConfig = () => configOf(command, context, 'none').config;
      const log = commandLogger(context, config.log);
      for (const warning of warnings) log.warn(showProblem(warning));
      const { scrubber } = context;
      const manager = serviceManager(context.env, process.pid, log);
      const deps = { clock: systemClock(), random: systemRandom(), log, scrubber, manager };
      const daemon = await openDaemon(config, {
        ...deps,
        readConfig,
        written: { file, settings, warnings },
      });
      preferMemory();
      const reload = () =>
        manager.notifier.reloading(() => daemon.reload({ actor: 'signal', reason: 'SIGHUP' }));
      const work = async (signal: AbortSignal) => {
        if (early?.release() === true) process.emit('SIGHUP', 'SIGHUP');
        await daemon.run(signal);
      };
      await runUntilSignal(work, log, { onHangUp: early ? reload : undefined });
    });
}
