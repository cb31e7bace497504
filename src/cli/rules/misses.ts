/** `selvedge rules misses`: what one condition alone kept from being accepted. */
import { Command } from 'commander';
import { type MissedClause, nearestMisses } from '../../decisions/simulation/near-misses.ts';
import { systemClock } from '../../lib/clock.ts';
import { parseMoment } from '../arguments.ts';
import { type CliContext, examples } from '../command.ts';
import type { Output } from '../output.ts';
import { withMirror } from '../reading.ts';

interface Options {
  readonly since: string;
  readonly rule?: string;
  readonly json?: boolean;
}

/** Of each condition; all of them are counted, and in the JSON. */
const SHOWN_MAX = 10;

function print(output: Output, misses: readonly MissedClause[]): void {
  if (misses.length === 0) output.line('no accept rule was missed by one condition alone');
  for (const { rule, line, clause, deliveries } of misses) {
    output.line(`${rule} line ${line} ${clause}: ${deliveries.length}`);
    for (const { orderDeliveryId, deliveryNo, values } of deliveries.slice(0, SHOWN_MAX)) {
      output.line(`   ${deliveryNo} (${orderDeliveryId})  ${values}`);
    }
    const more = deliveries.length - SHOWN_MAX;
    if (more > 0) output.line(`   and ${more} more`);
  }
}

export function rulesMisses(context: CliContext): Command {
  return new Command('misses')
    .summary('show what one condition alone kept from being accepted')
    .description(
      'Deliveries whose latest decision is no accept although an accept rule, live or watching,\n' +
        'fails in exactly one condition, with the values it saw. Decides nothing.',
    )
    .option('--since <time>', 'decisions from then on: a time, or 7d for ago', '1d')
    .option('--rule <id>', 'only this rule')
    .option('--json', 'as JSON')
    .addHelpText('after', examples([['rules misses', 'each morning']]))
    .action(async (options: Options, command: Command) => {
      const since = parseMoment(options.since, systemClock().now());
      const misses = await withMirror(command, context, (db) =>
        nearestMisses(db, since, options.rule),
      );
      if (options.json === true) context.output.json(misses);
      else print(context.output, misses);
    });
}
