/** `selvedge plane init`: makes what a copy in PostgreSQL needs, on both sides. */
import { Command } from 'commander';
import { withPlane } from '../../daemon/plane.ts';
import { systemClock } from '../../lib/clock.ts';
import { beginFeed } from '../../ops/surface.ts';
import { ensureSchemaNow } from '../../plane/schema.ts';
import { type CliContext, examples } from '../command.ts';
import { configOf } from '../configuration.ts';
import { performAct } from '../surface-call.ts';

export function planeInit(context: CliContext): Command {
  return new Command('init')
    .summary('make the tables in PostgreSQL, and have the daemon keep a feed for them')
    .description(
      'Makes schema, tables and views in PostgreSQL where they are missing, and adds to the\n' +
        'database the feed of decisions, pushes and runs, through the daemon if it runs. It\n' +
        'changes nothing that is right; type it again after an upgrade.',
    )
    .option('--json', 'as JSON')
    .addHelpText('after', examples([['plane init', 'then: systemctl enable --now selvedge-plane']]))
    .action(async ({ json }: { readonly json?: boolean }, command: Command) => {
      const { config } = configOf(command, context);
      const { output } = context;
      // PostgreSQL first: where it refuses, nothing has changed here.
      const made = await withPlane(config, async ({ client, account, schema, reader }) => ({
        account,
        schema,
        changed: await ensureSchemaNow(client, schema, reader().tables, systemClock()),
      }));
      const wanted = { given: {}, reason: '', dryRun: false };
      const answer = await performAct(command, context, beginFeed, wanted);
      const feed = beginFeed.output.parse(answer);
      if (json === true) {
        output.json({ ...made, feed });
        return;
      }
      output.line(`account     ${made.account}`);
      output.line(
        `PostgreSQL  schema ${made.schema} ${made.changed ? 'made' : 'is as it should be'}`,
      );
      output.line(`feed        ${feed.before === 'whole' ? 'is there' : 'begun'}`);
      output.line('next        selvedge plane run, best as selvedge-plane.service');
    });
}
