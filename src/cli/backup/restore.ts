/** `selvedge backup restore`: replaces the database by a backup. */
import { Command } from 'commander';
import { RESTORE_STEPS } from '../../daemon/upkeep.ts';
import { systemClock } from '../../lib/clock.ts';
import { plural } from '../../lib/strings.ts';
import { backupDirectory, requireCertainNewest } from '../../store/backup/manifest.ts';
import { type Restored, restoreBackup } from '../../store/backup/restore.ts';
import { exchangeFile } from '../../store/exchange/exchange.ts';
import { type CliContext, examples, userName } from '../command.ts';
import { configOf } from '../configuration.ts';

interface Options {
  readonly withExchange?: boolean;
  readonly json?: boolean;
}

function linesOfActs(since: Restored['since']): string[] {
  if (since === null) {
    return ['acts     not known: there is no acts.jsonl beside the backup; look before you resume'];
  }
  const { acts, unreadable, stopped, paused } = since;
  return [
    `acts     ${acts} of people since then`,
    ...(stopped > 0
      ? [`held     until a person decides: ${plural(stopped, 'delivery', 'deliveries')}`]
      : []),
    ...(paused.length > 0 ? [`paused   again: ${paused.join(', ')}`] : []),
    ...(unreadable > 0 ? [`acts     ${unreadable} lines of acts.jsonl cannot be read`] : []),
  ];
}

export function backupRestore(context: CliContext): Command {
  return new Command('restore')
    .summary('restore a backup (the daemon must be stopped)')
    .description(
      'Checks the backup and puts it in the place of mirror.db, which is kept beside it. The\n' +
        'past that comes back does not know what was sent since: every push that had not ended\n' +
        'is in doubt until it was looked up, no reject rule is armed any more, no reject\n' +
        'waits, and pushes are paused until "resume pushes".',
    )
    .argument('[backup]', 'its .json file (else the newest backup)')
    .option('--with-exchange', 'also take back exchange.db, what the ERP has submitted since too')
    .option('--json', 'the result as JSON')
    .addHelpText(
      'after',
      examples([['backup restore', 'the newest one; then start the daemon, look, and resume']]),
    )
    .action(async (named: string | undefined, options: Options, command: Command) => {
      const { config } = configOf(command, context);
      const clock = systemClock();
      const backup = named ?? requireCertainNewest(config, clock.now()).path;
      const result = await restoreBackup(
        {
          backup,
          dataDir: config.dataDir,
          exchangeFile: exchangeFile(config),
          busyTimeoutMs: config.store.busyTimeout,
          withExchange: options.withExchange === true,
          actor: `cli:${userName()}`,
          directory: backupDirectory(config),
          steps: RESTORE_STEPS,
        },
        clock,
      );
      const { output } = context;
      if (options.json === true) {
        output.json({ backup, ...result });
        return;
      }
      output.line(`restored ${backup}, made ${result.createdAt}`);
      output.line(`in doubt ${result.inDoubt} pushes; they are looked up once the daemon runs`);
      for (const line of linesOfActs(result.since)) output.line(line);
      if (result.disarmed.length > 0) {
        output.line(`disarmed ${result.disarmed.join(', ')}; what should reject is armed again`);
      }
      if (result.withdrawn > 0) output.line(`withdrawn ${result.withdrawn} waiting rejects`);
      for (const path of result.kept) output.line(`kept     ${path}`);
      if (result.isRecordEnded) {
        output.line(
          'standby  cannot take over before a backup is made once the daemon runs, and is',
        );
        output.line('         copied there: "selvedge backup create"');
      }
      output.line('pushes   paused: start the daemon, look at "selvedge status", then');
      output.line('         "selvedge resume pushes --reason …"');
    });
}
