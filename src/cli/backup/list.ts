/**
 * `selvedge backup list`: lists the backups of the database, the newest first. It is made by hand,
 * because it works where the database does not.
 */
import { Command } from 'commander';
import { systemClock } from '../../lib/clock.ts';
import { backupRow, backups } from '../../ops/lists.ts';
import { requireBackups } from '../../store/backup/manifest.ts';
import { type CliContext, examples } from '../command.ts';
import { configOf } from '../configuration.ts';
import { showTable } from '../surface-lists.ts';

export function backupList(context: CliContext): Command {
  return new Command('list')
    .summary('show the backups')
    .description(
      'The finished backups of this database in the folder, newest first. What was made\n' +
        'while the clock was ahead comes last.',
    )
    .option('--from <folder>', 'instead of store.backup.directory')
    .option('--json', 'as JSON')
    .addHelpText('after', examples([['backup list', 'newest first']]))
    .action((options: { from?: string; json?: boolean }, command: Command) => {
      const { config } = configOf(command, context);
      const { output } = context;
      const now = systemClock().now();
      const { own: found, others } = requireBackups(config, now, options.from);
      if (others > 0) {
        output.note(`${others} of another database ${others === 1 ? 'is' : 'are'} not shown`);
      }
      if (options.json === true) {
        output.json(found.map(({ path, manifest }) => ({ path, ...manifest })));
        return;
      }
      const rows = found.map((one) => backupRow(one, now));
      showTable(output, backups, rows, now);
    });
}
