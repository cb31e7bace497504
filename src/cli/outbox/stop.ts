/** `selvedge outbox stop` and `resume`: the brakes of the outbox, while the daemon runs. */
import { Argument, Command } from 'commander';
import { z } from 'zod';
import { OUTBOX_KINDS } from '../../config/schema.ts';
import { statedReason } from '../arguments.ts';
import { type CliContext, examples } from '../command.ts';
import { askRunningDaemon } from '../daemon-call.ts';

const answer = z.object({
  stopped: z.boolean(),
  stop: z.object({
    kind: z.string().nullable(),
    at: z.number(),
    actor: z.string(),
    reason: z.string(),
  }),
});

interface StopOptions {
  readonly reason: string;
  readonly json?: boolean;
}

function braking(context: CliContext, action: 'stop' | 'resume', summary: string): Command {
  return new Command(action)
    .summary(summary)
    .addArgument(new Argument('[kind]', 'only this kind').choices(OUTBOX_KINDS))
    .requiredOption('--reason <text>', 'why; goes into the audit', statedReason)
    .option('--json', 'the answer as JSON')
    .action(async (kind: string | undefined, options: StopOptions, self: Command) => {
      const { reason, json } = options;
      const path = `/api/outbox/${action}`;
      const body = { kind: kind ?? null, reason };
      const told = await askRunningDaemon(self, context, { path, body, answer });
      const what = kind ?? 'everything';
      if (json === true) context.output.json(told);
      else if (told.stopped) context.output.line(`stopped: ${what}; nothing of it is sent`);
      else {
        const { actor, at, reason: why } = told.stop;
        const since = new Date(at).toISOString();
        context.output.line(`sent again: ${what}; ${actor} had stopped it since ${since}: ${why}`);
      }
    });
}

export function outboxStop(context: CliContext): Command {
  return braking(context, 'stop', 'send nothing more, or nothing of one kind')
    .description(
      'From the next push on. What was sent is still looked up and confirmed, documents are\n' +
        'still taken, and everything waits in its place. Lasts until "outbox resume", also over\n' +
        'restarts. Where no daemon answers, "selvedge pause <reason>" stops everything.',
    )
    .addHelpText(
      'after',
      examples([
        ['outbox stop order --reason "wrong price list"', 'orders wait, refunds go out'],
        ['outbox stop --reason "the service is being moved"', 'everything waits'],
      ]),
    );
}

export function outboxResume(context: CliContext): Command {
  return braking(context, 'resume', 'send again after "stop"')
    .description(
      'What waited is sent at once, in the order in which it came. What the rules decided on a ' +
        'delivery too long ago is not: it is decided anew (docs/rules.md).',
    )
    .addHelpText('after', examples([['outbox resume order --reason "prices are right"', 'go on']]));
}
