/** `selvedge plane rebuild`: copies an account again as a whole. */
import { Command } from 'commander';
import { withPlane } from '../../daemon/plane.ts';
import { systemClock } from '../../lib/clock.ts';
import { readCursor } from '../../plane/cursor.ts';
import { copyWhole } from '../../plane/rebuild.ts';
import { ensureSchema, requireSchema } from '../../plane/schema.ts';
import { type CliContext, examples } from '../command.ts';
import { configOf } from '../configuration.ts';

export function planeRebuild(context: CliContext): Command {
  return new Command('rebuild')
    .summary("copy this account's data to PostgreSQL again, all of it")
    .description(
      'Beside the running daemon and the running "plane run", which goes on from there. Readers\n' +
        'see the old rows until the new ones are whole.',
    )
    .option('--json', 'as JSON')
    .addHelpText('after', examples([['plane rebuild', 'after "plane verify" found a difference']]))
    .action(async ({ json }: { readonly json?: boolean }, command: Command) => {
      const { config } = configOf(command, context);
      const clock = systemClock();
      const { account, rows, isOther } = await withPlane(
        config,
        async ({ client, account, schema, reader }) => {
          await requireSchema(client);
          await ensureSchema(client, schema, reader().tables);
          const deps = { client, reader: reader(), account, now: clock.now };
          const before = await readCursor(client, account);
          const { written, cursor } = await copyWhole(deps, before, 'rebuild');
          return { account, rows: written, isOther: before && before.shape !== cursor.shape };
        },
      );
      const { output } = context;
      if (json === true) output.json({ account, rows });
      else output.line(`${account}: ${rows} rows copied`);
      if (isOther === true) {
        output.note(
          'columns or plane.content were others: restart "plane run", or it puts them back',
        );
      }
    });
}
