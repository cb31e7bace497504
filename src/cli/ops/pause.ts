/** `selvedge pause` and `selvedge resume`: the brake for everything that is sent. */
import { Command } from 'commander';
import { systemClock } from '../../lib/clock.ts';
import { pausePushes, pauseReason, resumePushes } from '../../store/care/pause.ts';
import { type CliContext, examples, userName } from '../command.ts';
import { configOf } from '../configuration.ts';

export function pause(context: CliContext): Command {
  return new Command('pause')
    .summary('send nothing to the service until "resume"')
    .description(
      'Stops every push at once: decisions, orders, refunds. Pulls, events and decisions go\n' +
        'on, and what was sent already is still looked up. Works while the daemon runs and\n' +
        'while it does not, and outlives a restart. In an emergency, a file "pushes.stop" in\n' +
        'dataDir is all that it takes.',
    )
    .argument('<reason...>', 'why, for those who come after')
    .addHelpText('after', examples([['pause "prices of the ERP are wrong"', 'nothing is sent']]))
    .action((words: readonly string[], _options: object, command: Command) => {
      const { dataDir } = configOf(command, context).config;
      const at = new Date(systemClock().now()).toISOString();
      pausePushes(dataDir, `${words.join(' ')} (${userName()}, ${at})`);
      context.output.line('paused: nothing is sent; "selvedge resume" ends it');
    });
}

export function resume(context: CliContext): Command {
  return new Command('resume')
    .summary('send again after "pause" or a restore')
    .description('Ends a pause. What waits is sent within half a minute.')
    .addHelpText('after', examples([['resume', 'go on']]))
    .action((_options: object, command: Command) => {
      const { dataDir } = configOf(command, context).config;
      const reason = pauseReason(dataDir);
      const was = resumePushes(dataDir);
      context.output.line(was ? `resumed; it was paused: ${reason}` : 'nothing was paused');
    });
}
