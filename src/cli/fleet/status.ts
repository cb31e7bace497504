/** `selvedge fleet status`: every account of the plane at a glance. */
import { Command } from 'commander';
import { withPlane } from '../../daemon/plane.ts';
import { systemClock } from '../../lib/clock.ts';
import { formatDuration } from '../../lib/units.ts';
import { type FleetAccount, readFleet } from '../../plane/fleet.ts';
import { requireSchema } from '../../plane/schema.ts';
import { type CliContext, examples } from '../command.ts';
import { configOf } from '../configuration.ts';

function age(ms: number | null | undefined): string {
  return ms === null || ms === undefined ? '-' : formatDuration(Math.max(0, ms));
}

function rowOf(one: FleetAccount): readonly string[] {
  const { dead: _, ...open } = one.outbox;
  const pushes = Object.values(open).reduce((sum, count) => sum + count, 0);
  return [
    one.account,
    one.health,
    age(one.lagMs),
    age(one.ageMs.stock),
    age(one.ageMs.orders),
    ...[one.pending, one.waiting, pushes].map(String),
  ];
}

export function fleetStatus(context: CliContext): Command {
  return new Command('status')
    .summary('show every account of the plane: health, freshness, what waits, outbox, lag')
    .description(
      'Read from PostgreSQL alone, so that it tells of brands on other machines too. State: ok;\n' +
        'look (a person is needed there); stale (a stream is older than its configuration\n' +
        'allows, streams.*.freshness); late (the copy is too old to tell, because its process\n' +
        'or the whole machine is gone). STOCK and ORDERS are the age of their last complete\n' +
        'run, WAITING the deliveries that wait for a person.',
    )
    .option('--json', 'as JSON, with every stream')
    .addHelpText('after', examples([['fleet status', 'all brands, a line each']]))
    .action(async ({ json }: { readonly json?: boolean }, command: Command) => {
      const { config } = configOf(command, context);
      const fleet = await withPlane(config, async ({ client }) => {
        await requireSchema(client);
        return readFleet(client, systemClock().now(), config.plane.lagWarning);
      });
      if (json === true) {
        context.output.json(fleet);
        return;
      }
      context.output.table(
        ['ACCOUNT', 'STATE', 'LAG', 'STOCK', 'ORDERS', 'PENDING', 'WAITING', 'OUTBOX'],
        fleet.map(rowOf),
      );
      // The reasons stand below the table: a column of them would be cut in a terminal.
      for (const { account, why } of fleet) {
        if (why.length > 0) context.output.line(`${account}: ${why.join(', ')}`);
      }
    });
}
