/** `selvedge probe`: what is different about this account? */
import { Command } from 'commander';
import { workAlone } from '../../daemon/commands/alone.ts';
import { probeAccount, snippetOf } from '../../daemon/doctor/probe.ts';
import { systemRandom } from '../../lib/chance.ts';
import { systemClock } from '../../lib/clock.ts';
import { readState, writeState } from '../../store/state.ts';
import { type CliContext, configOf, examples } from '../command.ts';

const LAST_LOGIN = 'last_login_at';

export function probe(context: CliContext): Command {
  const { output, scrubber } = context;
  return new Command('probe')
    .summary('find out what an account does otherwise, and print the settings')
    .description(
      'Asks the service, reading only, which of the choices that the contract leaves open it\n' +
        'makes: names of the log-in, header and place of the token, parameters, paging, level.\n' +
        'Prints them as a piece of configuration. The daemon must not run. Log-ins are tried\n' +
        'one every few seconds, because the service takes no more.',
    )
    .option('--json', 'as JSON')
    .addHelpText(
      'after',
      examples([['probe --config /etc/selvedge/selvedge.yaml', 'before the first start']]),
    )
    .action(async (options: { json?: boolean }, command: Command) => {
      const { config } = configOf(command, context, 'none');
      const clock = systemClock();
      const deps = { clock, random: systemRandom(), scrubber, mayBeNew: true };
      const choices = await workAlone(config, deps, ({ store, service }) =>
        probeAccount({
          ...{ config: config.service, transport: service.transport, clock, scrubber },
          async mayLogIn() {
            const last = Number((await readState(store.db, LAST_LOGIN)) ?? 0);
            const wait = last + config.service.limits.loginSpacing - clock.now();
            if (wait > 0) await clock.sleep(Math.min(wait, config.service.limits.loginSpacing));
            await writeState(store.db, LAST_LOGIN, String(clock.now()), clock);
          },
        }),
      );
      if (options.json === true) {
        output.json(choices);
        return;
      }
      for (const { setting, value, how } of choices) {
        output.note(`${(setting ?? '').padEnd(34)} ${value}  (${how})`);
      }
      output.line(snippetOf(choices).trimEnd());
    });
}
