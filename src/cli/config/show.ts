/**
 * `selvedge config show`: shows the values in force and where each comes from. It is made by hand,
 * because it works where the configuration does not, and without a database.
 */
import { Command } from 'commander';
import { describeConfig } from '../../config/describe.ts';
import { loadConfig } from '../../config/load.ts';
import { systemClock } from '../../lib/clock.ts';
import { isChanged, settings } from '../../ops/lists.ts';
import { type CliContext, examples } from '../command.ts';
import { configFileOf } from '../configuration.ts';
import { showTable } from '../surface-lists.ts';

export function configShow(context: CliContext): Command {
  return new Command('show')
    .summary('show every setting and where its value comes from')
    .description(
      'Lists every setting with its value and origin. Secrets are never shown, only where they ' +
        'are kept. Works while the configuration is broken.',
    )
    .option('--changed', 'only what differs from the default file')
    .option('--json', 'as JSON')
    .addHelpText(
      'after',
      examples([
        ['config show', 'everything'],
        ['config show --changed', 'what was changed, with file and line'],
        ['config show --json', 'for programs'],
      ]),
    )
    .action((options: { json?: boolean; changed?: boolean }, command: Command) => {
      const file = configFileOf(command, context);
      const source = { file, env: context.env };
      const all = describeConfig(source);
      const rows = options.changed ? all.filter(isChanged) : all;
      const { output } = context;
      if (options.json === true) output.json({ file, settings: rows });
      else
        showTable(
          output,
          settings,
          rows.map((row) => ({ ...row })),
          systemClock().now(),
        );
      // The count is that of `config check`: a secret that only the service can read is no mistake
      // here.
      const loaded = loadConfig({ ...source, absent: 'credentials' });
      if ('problems' in loaded) {
        output.note(`${loaded.problems.length} to correct: selvedge config check`);
      }
    });
}
