/** `selvedge completion`: a script for the shell, to standard output. */
import { Argument, Command } from 'commander';
import { type CliContext, examples } from '../command.ts';
import { completionScript, SHELLS, type Shell } from './shells.ts';
import { commandTree, programOf } from './tree.ts';

export function completion(context: CliContext): Command {
  return new Command('completion')
    .summary('print a completion script for the shell')
    .addArgument(new Argument('<shell>', 'the shell').choices([...SHELLS]))
    .addHelpText(
      'after',
      examples([
        ['completion bash > /etc/bash_completion.d/selvedge', 'for all users, bash'],
        ['completion fish > ~/.config/fish/completions/selvedge.fish', 'for you, fish'],
      ]),
    )
    .action((shell: Shell, _options: object, command: Command) => {
      const script = completionScript(shell, commandTree(programOf(command)));
      context.output.line(script.trimEnd());
    });
}
