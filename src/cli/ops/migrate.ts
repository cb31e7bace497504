/** `selvedge migrate`: bring the database to this program's schema without the daemon. */
import { Command } from 'commander';
import { systemClock } from '../../lib/clock.ts';
import { lockFile, lockFolder } from '../../store/lock.ts';
import { openStore, storeOptions } from '../../store/store.ts';
import { requireDatabase } from '../../store/writers/in-place.ts';
import { type CliContext, examples } from '../command.ts';
import { configOf } from '../configuration.ts';

export function migrate(context: CliContext): Command {
  return new Command('migrate')
    .summary('bring the database to the newest schema')
    .description(
      'Applies the schema migrations that the database lacks, each as a whole or not at all,\n' +
        'and keeps a copy of the database as it was. The daemon does the same at its start,\n' +
        'which is also what makes a new database.',
    )
    .option('--json', 'the result as JSON')
    .addHelpText('after', examples([['migrate', 'after an upgrade, before the start']]))
    .action(async (options: { json?: boolean }, command: Command) => {
      const { config } = configOf(command, context);
      requireDatabase(config.dataDir);
      const folder = lockFolder(lockFile(config.dataDir));
      try {
        const { store, migrated } = await openStore(storeOptions(config), systemClock());
        const { path } = store;
        await store.close();
        if (options.json === true) context.output.json({ path, ...migrated });
        else if (migrated.applied.length === 0) {
          context.output.line(`${path}: schema ${migrated.to}, nothing to do`);
        } else {
          const list = migrated.applied.join(', ');
          context.output.line(`${path}: schema ${migrated.from} -> ${migrated.to} (${list})`);
          if (migrated.backup !== undefined) context.output.line(`copy: ${migrated.backup}`);
        }
      } finally {
        folder.release();
      }
    });
}
