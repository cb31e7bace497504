/** `selvedge rules whatif`: asks other rules about the pending deliveries, without deciding. */
import { Command } from 'commander';
import { type Prospect, tryQueue } from '../../decisions/simulation/queue.ts';
import { systemClock } from '../../lib/clock.ts';
import { freshnessOf } from '../../ops/status.ts';
import { type CliContext, examples } from '../command.ts';
import { configOf } from '../configuration.ts';
import type { Output } from '../output.ts';
import { withMirror } from '../reading.ts';
import { rulesDirectory } from './directory.ts';
import { namedRuleSet } from './rule-sets.ts';

interface WhatIfOptions {
  readonly rules?: string;
  readonly shadowAsLive?: boolean;
  readonly all?: boolean;
  readonly json?: boolean;
}

function print(output: Output, prospects: readonly Prospect[], all: boolean): void {
  const changed = prospects.filter(({ before, after }) => before !== after);
  const shown = all ? prospects : changed;
  if (shown.length > 0) {
    output.table(
      ['ID', 'NUMBER', 'DECIDED', 'WOULD BE', 'RULES', 'REASON'],
      shown.map((prospect) => [
        String(prospect.orderDeliveryId),
        prospect.deliveryNo,
        prospect.before ?? '-',
        prospect.after ?? '-',
        prospect.rules.join(' ') || '-',
        prospect.reason,
      ]),
    );
  }
  output.line(`${prospects.length} pending, ${changed.length} would be decided otherwise`);
}

export function rulesWhatif(context: CliContext): Command {
  return new Command('whatif')
    .summary('simulate rules on the pending deliveries')
    .description(
      'What would happen to every pending delivery if it were decided now; each competes for\n' +
        'stock with the older ones. Reject rules count as armed. Decides and writes nothing.\n' +
        'Says on standard error where accepting pauses, and where more than 10,000 are pending.',
    )
    .option('--rules <dir|hash>', 'the rules on trial (default: the configured ones)')
    .option('--shadow-as-live', 'rules that only watch count as if they were live')
    .option('--all', 'also deliveries that would be decided as they were')
    .option('--json', 'all of them, as JSON')
    .addHelpText('after', examples([['rules whatif --rules my-rules', 'before they go live']]))
    .action(async (options: WhatIfOptions, command: Command) => {
      const tried = rulesDirectory(command, context, options.rules);
      const now = systemClock().now();
      const { shadowAsLive } = options;
      const freshness = freshnessOf(configOf(command, context).config);
      const { prospects, remarks } = await withMirror(command, context, async (db, store) =>
        tryQueue(store, now, { rules: await namedRuleSet(db, tried), freshness, shadowAsLive }),
      );
      if (options.json === true) context.output.json(prospects);
      else print(context.output, prospects, options.all === true);
      for (const remark of remarks) context.output.note(remark);
    });
}
