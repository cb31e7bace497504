/** `selvedge events replay`: interprets stored events again and refetches their orders. */
import { Command } from 'commander';
import { z } from 'zod';
import { createEventOperations, previewReplay, type ReplayResult } from '../../inbox/operations.ts';
import { systemClock } from '../../lib/clock.ts';
import { UsageError } from '../../lib/errors.ts';
import { parseMoment, remark } from '../arguments.ts';
import { type CliContext, examples } from '../command.ts';
import { viaDaemonOrOffline } from '../daemon-call.ts';
import { withMirror } from '../reading.ts';

interface Options {
  readonly since?: string;
  readonly dryRun?: boolean;
  readonly reason: string;
  readonly json?: boolean;
}

const answer: z.ZodType<ReplayResult> = z.object({
  events: z.int(),
  orders: z.int(),
  withoutOrder: z.int(),
  newlyUnderstood: z.int(),
});

function selectionOf(ids: readonly string[], since: string | undefined, now: number) {
  if ((ids.length === 0) === (since === undefined)) {
    const hint = 'selvedge events replay <id>, or selvedge events replay --since 2h';
    const message = ids.length === 0 ? 'which events?' : 'name events, or a time, not both';
    throw new UsageError('cli.no_selection', message, { hint });
  }
  return since === undefined ? { ids } : { since: parseMoment(since, now) };
}

function sentence(result: ReplayResult, dryRun: boolean): string {
  const { events, orders, withoutOrder, newlyUnderstood } = result;
  const parts = [`${events} events: ${orders} orders ${dryRun ? 'would be' : 'are'} read again`];
  if (withoutOrder > 0) parts.push(`${withoutOrder} name none`);
  if (newlyUnderstood > 0) parts.push(`${newlyUnderstood} were not understood when they came`);
  return parts.join(', ');
}

export function eventsReplay(context: CliContext): Command {
  return new Command('replay')
    .summary('read the orders of stored events again')
    .description(
      'Each event is interpreted again, as this program understands it, and its order is read\n' +
        'again. Always safe: an event is a hint, what the service says now is what counts.',
    )
    .argument('[ids...]', 'ids of events')
    .option('--since <time>', 'all events from a time on, or 2h for two hours ago')
    .option('--dry-run', 'only say what would be done')
    .option('--reason <text>', 'why; goes into the audit', remark, '')
    .option('--json', 'the answer as JSON')
    .addHelpText(
      'after',
      examples([
        ['events replay --since 1d --dry-run', 'how much would that be?'],
        ['events replay msg_2x…', 'read the order of this event again'],
      ]),
    )
    .action(async (ids: readonly string[], options: Options, command: Command) => {
      const clock = systemClock();
      const selection = selectionOf(ids, options.since, clock.now());
      const dryRun = options.dryRun === true;
      const result = dryRun
        ? await withMirror(command, context, (db) => previewReplay(db, selection))
        : await viaDaemonOrOffline(command, context, {
            path: '/api/events/replay',
            body: selection,
            answer,
            reason: options.reason,
            offline({ store }, asker) {
              const events = createEventOperations({ store, clock, wakeUp: () => undefined });
              return events.replay(selection, asker);
            },
          });
      if (options.json === true) context.output.json(result);
      else context.output.line(sentence(result, dryRun));
    });
}
