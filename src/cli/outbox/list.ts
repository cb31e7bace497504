/** `selvedge outbox list`: lists what is on its way to the service, and what became of it. */
import { Command } from 'commander';
import { systemClock } from '../../lib/clock.ts';
import { formatDuration } from '../../lib/units.ts';
import { listOutbox, type OutboxRow } from '../../outbox/review/listing.ts';
import { describeLost } from '../../outbox/watch/lost.ts';
import { labelOf, readPauses } from '../../store/pauses.ts';
import { wholeNumber } from '../arguments.ts';
import { type CliContext, examples } from '../command.ts';
import { firstRows, withMirror } from '../reading.ts';
import { remoteConsoleOf } from '../remote/console.ts';
import { listRemoteOutbox } from '../remote/outbox.ts';
import { readRemoteOverview } from '../remote/status.ts';
import { type FilterOptions, filterOptions } from './options.ts';

interface ListOptions extends FilterOptions {
  readonly open?: boolean;
  readonly reference?: string;
  readonly limit: number;
  readonly json?: boolean;
}

/** State of an outbox row in words for people. */
function stateText({ state, blockedReason, lost }: OutboxRow): string {
  if (lost !== null) return `${state} (gone)`;
  return blockedReason === null ? state : `${state} (needs attention)`;
}

export function outboxList(context: CliContext): Command {
  const command = new Command('list')
    .summary('list documents and decisions to send')
    .description('The newest first, each with its state and what holds it up.');
  for (const option of filterOptions()) command.addOption(option);
  return command
    .option('--open', 'only what has not ended')
    .option('--reference <reference>', 'only with this reference')
    .option('--limit <n>', 'how many at the most', wholeNumber(1), 50)
    .option('--json', 'as JSON')
    .addHelpText(
      'after',
      examples([
        ['outbox list --needs-attention', 'rows that need a person'],
        ['outbox list --kind order --state refused', 'orders that were not taken'],
        ['outbox list --reference PO-4711 --json', 'for programs'],
      ]),
    )
    .action(async (options: ListOptions, self: Command) => {
      const { json, limit, ...filter } = options;
      const remote = remoteConsoleOf(self, context);
      const [found, pauses] = remote
        ? [
            await listRemoteOutbox(remote, filter, limit + 1),
            (await readRemoteOverview(remote)).status.paused,
          ]
        : await withMirror(self, context, async (db, _store, config) => [
            await listOutbox(db, { ...filter, limit: limit + 1 }),
            await readPauses(db, config.dataDir),
          ]);
      const rows = firstRows(context.output, found, limit);
      if (json === true) {
        context.output.json(rows);
        return;
      }
      for (const pause of pauses) {
        if (pause.target === 'stream') continue;
        context.output.line(`PAUSED: ${labelOf(pause)}, by ${pause.actor}: ${pause.reason}`);
      }
      const now = systemClock().now();
      context.output.table(
        ['ID', 'KIND', 'REFERENCE', 'STATE', 'AGE', 'TRIES', 'ORDER', 'WHY'],
        rows.map((row) => [
          String(row.outboxId),
          row.kind,
          row.reference,
          stateText(row),
          formatDuration(Math.max(0, now - row.createdAt)),
          String(row.attempts),
          row.orderId === null ? '-' : String(row.orderId),
          row.blockedReason ?? (row.lost && describeLost(row.lost)) ?? row.lastError ?? '',
        ]),
      );
    });
}
