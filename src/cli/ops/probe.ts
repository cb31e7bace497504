/** `selvedge probe`: what is different about this account? */
import { Command } from 'commander';
import { workAlone } from '../../daemon/commands/alone.ts';
import { probeAccount, snippetOf } from '../../daemon/doctor/probe.ts';
import { systemRandom } from '../../lib/chance.ts';
import { systemClock } from '../../lib/clock.ts';
import { type CliContext, examples } from '../command.ts';
import { configOf } from '../configuration.ts';

export function probe(context: CliContext): Command {
  const { output, scrubber } = context;
  return new Command('probe')
    .summary('find out what an account does otherwise, and print the settings')
    .description(
      'Asks the service, reading only, which of the choices that the contract leaves open it\n' +
        'makes: names of the log-in, header and place of the token, parameters, paging, level.\n' +
        'Prints them as a piece of configuration. The daemon must not run. Log-ins are tried\n' +
        'one every few seconds, because the service takes no more.',
    )
    .option('--json', 'as JSON')
    .addHelpText(
      'after',
      examples([['probe --config /etc/selvedge/selvedge.yaml', 'before the first start']]),
    )
    .action(async (options: { json?: boolean }, command: Command) => {
      const { config } = configOf(command, context, 'none');
      const deps = { clock: systemClock(), random: systemRandom(), scrubber, mayBeNew: true };
      const choices = await workAlone(config, deps, ({ service }) =>
        probeAccount({ config: config.service, service, scrubber }),
      );
      if (options.json === true) {
        output.json(choices);
        return;
      }
      for (const { setting, value, how } of choices) {
        output.note(`${(setting ?? '').padEnd(34)} ${value}  (${how})`);
      }
      output.line(snippetOf(choices).trimEnd());
    });
}
