/** `selvedge config schema`: for editors that complete YAML. */
import { Command } from 'commander';
import { configJsonSchema } from '../../config/editor-schema.ts';
import { type CliContext, examples } from '../command.ts';

export function configSchema(context: CliContext): Command {
  return new Command('schema')
    .summary('print the JSON Schema of the configuration, for editors')
    .description(
      'Write it beside your file and name it in the first line:\n' +
        '  # yaml-language-server: $schema=./selvedge.schema.json',
    )
    .addHelpText('after', examples([['config schema > selvedge.schema.json', 'beside your file']]))
    .action(() => context.output.json(configJsonSchema()));
}
