/** `selvedge plane rebuild`: copies an account again as a whole. */
import { Command } from 'commander';
import { withPlane } from '../../daemon/plane.ts';
import { systemClock } from '../../lib/clock.ts';
import { RefusedError } from '../../lib/errors.ts';
import { type Cursor, readCursor } from '../../plane/cursor.ts';
import { copyWhole } from '../../plane/rebuild.ts';
import { ensureSchemaNow, requireSchema } from '../../plane/schema.ts';
import { type CliContext, examples } from '../command.ts';
import { configOf } from '../configuration.ts';

interface Options {
  readonly yes?: boolean;
  readonly json?: boolean;
}

/** The origin of a copy: where it was written from, from which database, and from which past. */
type Origin = Pick<Cursor, 'place' | 'database' | 'epoch'>;

function describe({ place, database }: Origin): string {
  const made = new Date(Number(database)).toISOString();
  return `${place === '' ? 'an unknown place' : place} (database of ${made})`;
}

/** Asks where the copy that would be replaced is another one's. */
async function confirm(
  { ask }: CliContext,
  account: string,
  there: Origin,
  here: Origin,
): Promise<void> {
  // A release before this one did not say from where it wrote.
  const isSamePlace = ['', here.place].includes(there.place) && there.database === here.database;
  if (isSamePlace && there.epoch === here.epoch) return;
  const past = isSamePlace ? ', before a restore or "plane init"' : '';
  const known = `${describe(there)}${past}`;
  const message = `PostgreSQL has ${account} of ${known}; this is ${describe(here)}`;
  const typed = await ask(`${message}.\nType ${account} to replace all rows of it: `);
  if (typed?.trim() === account) return;
  throw new RefusedError('plane.unconfirmed', message, {
    hint:
      'where it is to be replaced, type the account when you are asked, or name --yes; else ' +
      'give this one a plane.account of its own',
  });
}

export function planeRebuild(context: CliContext): Command {
  return new Command('rebuild')
    .summary("copy this account's data to PostgreSQL again, all of it")
    .description(
      'Beside the running daemon and the running "plane run", which goes on from there. Readers\n' +
        'see the old rows until the new ones are whole. Asks where what PostgreSQL has of the\n' +
        'account is of another database or data folder.',
    )
    .option('--yes', 'do not ask')
    .option('--json', 'as JSON')
    .addHelpText('after', examples([['plane rebuild', 'after "plane verify" found a difference']]))
    .action(async ({ yes, json }: Options, command: Command) => {
      const { config } = configOf(command, context);
      const clock = systemClock();
      const { account, rows, isOther } = await withPlane(
        config,
        async ({ client, account, cell, schema, reader }) => {
          await requireSchema(client);
          await ensureSchemaNow(client, schema, reader().tables, clock);
          const deps = { client, reader: reader(), account, cell, now: clock.now };
          const before = await readCursor(client, account);
          if (before && yes !== true) {
            await confirm(context, account, before, { ...cell, ...deps.reader.state() });
          }
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
