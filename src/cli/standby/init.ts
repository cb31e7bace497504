/** `selvedge standby init`: makes the standby's tables in PostgreSQL. */
import { Command } from 'commander';
import { requireStandby, serversOf } from '../../daemon/standby/waiting.ts';
import { systemClock } from '../../lib/clock.ts';
import { makeSchema } from '../../standby/schema.ts';
import { type CliContext, examples } from '../command.ts';
import { configOf } from '../configuration.ts';

export function standbyInit(context: CliContext): Command {
  return new Command('init')
    .summary('make the tables in PostgreSQL')
    .description('Makes what is missing, and changes nothing that is there; once per schema.')
    .option('--json', 'as JSON')
    .addHelpText(
      'after',
      examples([['standby init', 'then start the daemon on the first machine']]),
    )
    .action(async ({ json }: { readonly json?: boolean }, command: Command) => {
      const { config } = configOf(command, context);
      const { schema, account, machine } = requireStandby(config);
      const session = await serversOf(config, systemClock()).open();
      try {
        await makeSchema(session, schema);
      } finally {
        await session.end();
      }
      const { output } = context;
      if (json === true) {
        output.json({ schema, account, machine });
        return;
      }
      output.line(`schema   ${schema} is as it should be`);
      output.line(`account  ${account}, here ${machine}`);
      output.line('next     start the daemon, then "selvedge standby" on the other machine');
    });
}
