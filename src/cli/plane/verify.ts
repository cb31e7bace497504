/** `selvedge plane verify`: is the copy in PostgreSQL equal to the mirror? */
import { Command } from 'commander';
import { withPlane } from '../../daemon/plane.ts';
import { EXIT } from '../../lib/errors.ts';
import { requireSchema } from '../../plane/schema.ts';
import { type Verdict, verify } from '../../plane/verify.ts';
import { type CliContext, examples } from '../command.ts';
import { configOf } from '../configuration.ts';
import type { Output } from '../output.ts';

interface Options {
  readonly deep?: boolean;
  readonly json?: boolean;
}

function print(output: Output, account: string, found: Verdict): void {
  const { tables, pending, isEqual } = found;
  const rows = tables.reduce((sum, one) => sum + one.rows, 0);
  const later = pending === 0 ? '' : `, ${pending} changed meanwhile and left out`;
  if (isEqual) {
    output.line(`${account}: equal (${tables.length} tables, ${rows} rows${later})`);
    return;
  }
  const wrong = tables.filter((one) => one.missing + one.different + one.surplus > 0);
  output.table(
    ['TABLE', 'ROWS', 'MISSING', 'DIFFERENT', 'SURPLUS', 'KEYS'],
    wrong.map((one) => [
      one.table,
      ...[one.rows, one.missing, one.different, one.surplus].map(String),
      one.examples.join(' '),
    ]),
  );
  output.note(`${account}: the copy differs; please report it, then: selvedge plane rebuild`);
}

export function planeVerify(context: CliContext): Command {
  return new Command('verify')
    .summary('compare the copy in PostgreSQL with the database')
    .description(
      'Compares the numbers of rows as of one place of the feed, while both sides go on; --deep\n' +
        'compares every value. Exits with 1 when they differ.',
    )
    .option('--deep', 'every value of every row')
    .option('--json', 'as JSON')
    .addHelpText(
      'after',
      examples([
        ['plane verify', 'seconds'],
        ['plane verify --deep', 'reads everything on both sides'],
      ]),
    )
    .action(async ({ deep = false, json }: Options, command: Command) => {
      const { config } = configOf(command, context);
      const { account, found } = await withPlane(config, async (plane) => {
        await requireSchema(plane.client);
        const options = { client: plane.client, account: plane.account, deep };
        return {
          account: plane.account,
          found: await verify({ ...options, reader: plane.reader() }),
        };
      });
      if (json === true) context.output.json({ account, ...found });
      else print(context.output, account, found);
      if (!found.isEqual) context.setExitCode(EXIT.failure.code);
    });
}
