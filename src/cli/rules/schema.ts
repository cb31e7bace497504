/** `selvedge rules schema`: what editors need to complete and check rule files. */
import { Command } from 'commander';
import { rulesJsonSchema } from '../../rules/text/schema.ts';
import { type CliContext, examples } from '../command.ts';

export function rulesSchema(context: CliContext): Command {
  return new Command('schema')
    .summary('print the JSON Schema of rule files, for editors')
    .description('Put it beside the rules and name it in their first line, as the examples do.')
    .option('--json', 'as JSON, which it always is')
    .addHelpText('after', examples([['rules schema > rules.schema.json', 'beside the rules']]))
    .action(() => context.output.json(rulesJsonSchema()));
}
