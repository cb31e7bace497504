/** `selvedge backup verify`: proves that a backup is unchanged since it was made. */
import { Command } from 'commander';
import { systemClock } from '../../lib/clock.ts';
import { requireNewest } from '../../store/backup/manifest.ts';
import { verifyBackup } from '../../store/backup/verify.ts';
import { type CliContext, examples } from '../command.ts';
import { configOf } from '../configuration.ts';

export function backupVerify(context: CliContext): Command {
  return new Command('verify')
    .summary('verify a backup')
    .description(
      'Opens the copies, goes through every page, and compares rows and digests with what was\n' +
        'written down when the backup was made. Changes nothing.',
    )
    .argument('[backup]', 'its .json file (else the newest backup)')
    .option('--json', 'the result as JSON')
    .addHelpText('after', examples([['backup verify', 'the newest one']]))
    .action(async (named: string | undefined, options: { json?: boolean }, command: Command) => {
      const newest = () =>
        requireNewest(configOf(command, context).config, systemClock().now()).path;
      const path = named ?? newest();
      const manifest = await verifyBackup(path);
      if (options.json === true) context.output.json({ path, ok: true, ...manifest });
      else context.output.line(`${path}: whole, made ${manifest.createdAt}`);
    });
}
