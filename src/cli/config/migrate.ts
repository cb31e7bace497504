/** `selvedge config migrate`: writes the configuration with the present names of its settings. */
import { Command } from 'commander';
import { migrated, replaceFile } from '../../config/migrate.ts';
import { showPlace } from '../../config/problems.ts';
import { type CliContext, examples } from '../command.ts';
import { configFileOf } from '../configuration.ts';

export function configMigrate(context: CliContext): Command {
  return new Command('migrate')
    .summary('write the settings under their present names')
    .description(
      'Settings of an earlier version are read on under their old names. This writes the file\n' +
        'with the present ones; it means the same, and keeps its comments, mode and owner.\n' +
        'The old file stays beside it (.old).',
    )
    .option('--dry-run', 'print the new file, and write nothing')
    .addHelpText(
      'after',
      examples([
        ['config migrate --dry-run | diff /etc/selvedge/selvedge.yaml -', 'what would change'],
        ['config migrate', 'the file that the service uses'],
      ]),
    )
    .action((options: { dryRun?: boolean }, command: Command) => {
      const { output, env } = context;
      const file = configFileOf(command, context);
      const { text, oldNames } = migrated({ file, env, absent: 'any' });
      for (const { at, path, message } of oldNames) {
        output.note(`${showPlace(at)}: ${path} ${message}`);
      }
      if (options.dryRun === true) output.bytes(Buffer.from(text));
      else if (oldNames.length === 0) output.line(`${file}: has present names only`);
      else output.line(`wrote ${file}; the file before is ${replaceFile(file, text)}`);
    });
}
