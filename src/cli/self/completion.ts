/**
 * `selvedge completion`: prints a completion script for the shell, and the names that it offers.
 */
import { Argument, Command } from 'commander';
import { UsageError } from '../../lib/errors.ts';
import { type CliContext, examples } from '../command.ts';
import { namesFor, OFFERS, type Offer } from './offers.ts';
import { completionScript, SHELLS, type Shell } from './shells.ts';
import { commandTree, programOf } from './tree.ts';

/** Argument in place of a shell, by which the scripts ask for names. */
const NAMES = 'names';

export function completion(context: CliContext): Command {
  return new Command('completion')
    .summary('print a completion script for the shell')
    .description(
      'The script offers commands, options and their choices, and asks "completion names" for\n' +
        'what only your installation knows: streams, reports, rules, held deliveries and pushes.',
    )
    .addArgument(new Argument('<shell>', 'the shell, or names').choices([...SHELLS, NAMES]))
    .addArgument(new Argument('[what]', 'with names: which ones').choices(OFFERS))
    .addHelpText(
      'after',
      examples([
        ['completion bash > /etc/bash_completion.d/selvedge', 'for all users, bash'],
        ['completion fish > ~/.config/fish/completions/selvedge.fish', 'for you, fish'],
        ['completion names deliveries', 'what a script offers for a delivery'],
      ]),
    )
    .action(async (shell: Shell | typeof NAMES, what: Offer | undefined, _options, self) => {
      if ((shell === NAMES) !== (what !== undefined)) {
        throw new UsageError('completion.what', 'names take what they are of, a shell nothing', {
          hint: `names, and one of ${OFFERS.join(', ')}`,
        });
      }
      if (what !== undefined) {
        for (const name of await namesFor(what, self, context)) context.output.data(name);
      } else if (shell !== NAMES) {
        const script = completionScript(shell, commandTree(programOf(self)));
        context.output.line(script.trimEnd());
      }
    });
}
