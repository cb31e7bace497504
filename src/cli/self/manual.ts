/** `selvedge manual`: the manual pages, to standard output. */
import { Argument, Command } from 'commander';
import { readSettings } from '../../config/settings.ts';
import { type CliContext, examples } from '../command.ts';
import { configPage, PAGES, type Page, programPage } from './roff.ts';
import { commandTree, programOf } from './tree.ts';

export function manual(context: CliContext): Command {
  return new Command('manual')
    .summary('print a manual page')
    .addArgument(new Argument('<page>', 'the page').choices([...PAGES]))
    .addHelpText(
      'after',
      examples([
        ['manual selvedge.1 | man -l -', 'read it'],
        ['manual selvedge.1 > /usr/local/share/man/man1/selvedge.1', 'install it'],
      ]),
    )
    .action((page: Page, _options: object, command: Command) => {
      const program = programOf(command);
      const version = program.version() ?? '';
      const text =
        page === 'selvedge.1'
          ? programPage(commandTree(program), version)
          : configPage(readSettings(), version);
      context.output.line(text.trimEnd());
    });
}
