/** `selvedge help`: what `--help` shows. Commander's own stops at the group of a command. */
import { Command } from 'commander';
import { UsageError } from '../../lib/errors.ts';
import { nearestName } from '../../lib/nearest.ts';
import { programOf } from './tree.ts';

function childOf(command: Command, name: string, typed: string): Command {
  const namesOf = (child: Command): string[] => [child.name(), ...child.aliases()];
  const found = command.commands.find((child) => namesOf(child).includes(name));
  if (found) return found;
  const near = nearestName(name, command.commands.flatMap(namesOf));
  throw new UsageError('cli.unknown_command', `unknown command '${typed}'`, {
    hint: near === undefined ? 'selvedge --help shows all' : `did you mean ${near}?`,
  });
}

export function help(): Command {
  return new Command('help')
    .summary('show the help of a command')
    .argument('[command...]', 'such as: sync run')
    .action((words: readonly string[], _options: object, self: Command) => {
      let command = programOf(self);
      for (const word of words) command = childOf(command, word, words.join(' '));
      command.help();
    });
}
