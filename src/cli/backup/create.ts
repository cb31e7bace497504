/** `selvedge backup create`: copies the databases while the daemon goes on. */
import { Command } from 'commander';
import { systemClock } from '../../lib/clock.ts';
import { formatSize } from '../../lib/units.ts';
import { waitingHere } from '../../ops/standby-here.ts';
import { version } from '../../ops/version.ts';
import { createBackup } from '../../store/backup/create.ts';
import { backupDirectory } from '../../store/backup/manifest.ts';
import { exchangeFile } from '../../store/exchange/exchange.ts';
import { type CliContext, examples } from '../command.ts';
import { configOf } from '../configuration.ts';

interface Options {
  readonly to?: string;
  readonly json?: boolean;
}

export function backupCreate(context: CliContext): Command {
  return new Command('create')
    .summary('copy the databases and check the copy')
    .description(
      'Copies mirror.db and exchange.db while the daemon works, opens the copies, goes through\n' +
        'every page, and counts their rows. Backups beyond store.backup.keep are removed, the\n' +
        'oldest first. An older run that was cut off leaves nothing behind.',
    )
    .option('--to <folder>', 'instead of store.backup.directory')
    .option('--json', 'the result as JSON')
    .addHelpText('after', examples([['backup create', 'what selvedge-backup.timer does']]))
    .action(async (options: Options, command: Command) => {
      const { config } = configOf(command, context);
      const { output } = context;
      // The timer runs on both machines.
      if (waitingHere(config, systemClock().now())) {
        if (options.json === true) output.json({ path: null });
        else output.line('nothing to copy: this machine waits as a standby');
        return;
      }
      const { backup, removed } = await createBackup(
        {
          dataDir: config.dataDir,
          exchangeFile: exchangeFile(config),
          directory: options.to ?? backupDirectory(config),
          keep: config.store.backup.keep,
          busyTimeoutMs: config.store.busyTimeout,
          program: version(),
        },
        systemClock(),
      );
      if (options.json === true) {
        output.json({ path: backup.path, ...backup.manifest, removed });
        return;
      }
      const { mirror, exchange } = backup.manifest;
      output.line(backup.path);
      for (const part of [mirror, exchange]) {
        if (!part) continue;
        const rows = Object.values(part.rows).reduce((sum, count) => sum + count, 0);
        output.line(`  ${part.file}  ${formatSize(part.bytes)}, ${rows} rows, checked`);
      }
      for (const path of removed) output.line(`  removed ${path}`);
    });
}
