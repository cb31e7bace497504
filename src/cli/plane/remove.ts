/** `selvedge plane remove`: ends what `plane init` began. */
import { Command } from 'commander';
import { withPlane } from '../../daemon/plane.ts';
import { planeAccount } from '../../ops/plane-copy.ts';
import { endFeed } from '../../ops/surface.ts';
import { removeAccount } from '../../plane/rebuild.ts';
import { type CliContext, examples } from '../command.ts';
import { configOf } from '../configuration.ts';
import { performAct } from '../surface-call.ts';

interface Options {
  readonly rows?: boolean;
  readonly json?: boolean;
}

export function planeRemove(context: CliContext): Command {
  return new Command('remove')
    .summary('end the feed for the copy in PostgreSQL')
    .description(
      'Drops the feed from the database, through the daemon if it runs. What is in PostgreSQL\n' +
        'stays, unless --rows takes the rows of this account away. Stop "plane run" before.',
    )
    .option('--rows', 'also delete the rows of this account in PostgreSQL')
    .option('--json', 'as JSON')
    .addHelpText(
      'after',
      examples([
        ['plane remove', 'PostgreSQL keeps what it has'],
        ['plane remove --rows', 'a brand that leaves the plane'],
      ]),
    )
    .action(async ({ rows = false, json }: Options, command: Command) => {
      const { config } = configOf(command, context);
      const { schema } = config.plane;
      const account = planeAccount(config);
      const wanted = { given: {}, reason: '', dryRun: false };
      const answer = await performAct(command, context, endFeed, wanted);
      const feed = endFeed.output.parse(answer);
      if (rows) {
        await withPlane(config, ({ client, reader }) =>
          removeAccount({ client, reader: reader(), account }),
        );
      }
      const { output } = context;
      if (json === true) {
        output.json({ account, schema, feed, rows });
        return;
      }
      output.line(`feed        ${feed.before === 'absent' ? 'there was none' : 'removed'}`);
      if (rows) output.line(`PostgreSQL  the rows of ${account} are deleted`);
      else output.line(`PostgreSQL  keeps the rows of ${account}; --rows deletes them`);
      output.line(`all of it   drop schema "${schema}" cascade (the rows of other accounts too)`);
    });
}
