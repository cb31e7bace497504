/** `selvedge account show` and `adopt`: the account whose data the data folder holds. */
import { Command } from 'commander';
import { workOffline } from '../../daemon/commands/offline.ts';
import { accountOf } from '../../daemon/service.ts';
import { systemClock } from '../../lib/clock.ts';
import { systemRandom } from '../../lib/random.ts';
import { adoptAccount } from '../../outbox/account-guard.ts';
import { type Account, readAccount, readAccountHold, readSystemKey } from '../../store/state.ts';
import { statedReason } from '../arguments.ts';
import { type CliContext, examples, userName } from '../command.ts';
import { configOf } from '../configuration.ts';
import { withMirror } from '../reading.ts';

function nameOf(account: Account | null): string {
  if (account === null) return 'none yet: the first start writes it down';
  const { address, clientId } = account;
  return clientId === null ? `${address}, by an API key` : `${address}, client ${clientId}`;
}

export function accountShow(context: CliContext): Command {
  return new Command('show')
    .summary('show which account the data folder belongs to, and which is configured')
    .option('--json', 'as JSON')
    .addHelpText('after', examples([['account show', 'before a data folder is moved']]))
    .action(async ({ json }: { readonly json?: boolean }, command: Command) => {
      const found = await withMirror(command, context, async (db, _store, config) => ({
        data: (await readAccount(db)) ?? null,
        configured: accountOf(config.service),
        systemKey: (await readSystemKey(db)) ?? null,
        held: (await readAccountHold(db)) ?? null,
      }));
      const { output } = context;
      if (json === true) {
        output.json(found);
        return;
      }
      output.line(`data folder  ${nameOf(found.data)}`);
      output.line(`configured   ${nameOf(found.configured)}`);
      output.line(`system key   ${found.systemKey ?? 'none seen in an event yet'}`);
      if (found.held !== null) output.line(`HELD         nothing is sent: ${found.held}`);
    });
}

interface AdoptOptions {
  readonly reason: string;
  readonly json?: boolean;
}

export function accountAdopt(context: CliContext): Command {
  return new Command('adopt')
    .summary('bind the data folder to the configured account (stop the daemon first)')
    .description(
      'For an account that has moved to another address or client id, and whose orders do not\n' +
        'show that it is the same. Documents that have not left yet wait until you have looked\n' +
        'through them ("outbox list") and say "resume pushes": they may be meant for the other\n' +
        'account. For another account take a new dataDir instead.',
    )
    .requiredOption('--reason <text>', 'why, for the audit', statedReason)
    .option('--json', 'as JSON')
    .addHelpText(
      'after',
      examples([['account adopt --reason "the vendor moved us"', 'the same account, elsewhere']]),
    )
    .action(async ({ reason, json }: AdoptOptions, command: Command) => {
      const { config } = configOf(command, context);
      const parts = { clock: systemClock(), random: systemRandom(), scrubber: context.scrubber };
      const account = accountOf(config.service);
      const adopted = await workOffline(config, parts, ({ store, clock }) =>
        adoptAccount({ store, clock, account }, { actor: `cli:${userName()}`, reason }),
      );
      const { output } = context;
      if (json === true) {
        output.json(adopted);
        return;
      }
      output.line(`adopted  ${nameOf(adopted.now)}`);
      output.line(`before   ${nameOf(adopted.before)}`);
      if (adopted.open === 0) return;
      output.line(`pushes   paused: ${adopted.open} documents wait; look at "outbox list", then`);
      output.line('         "selvedge resume pushes --reason …"');
    });
}
