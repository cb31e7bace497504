/** `selvedge decisions stop` and `resume`: the kill switch. */
import { Command } from 'commander';
import { z } from 'zod';
import { statedReason } from '../arguments.ts';
import { type CliContext, examples } from '../command.ts';
import { askRunningDaemon } from '../daemon-call.ts';

const answer = z.object({
  stopped: z.boolean(),
  stop: z.object({ at: z.number(), actor: z.string(), reason: z.string() }),
});

interface SwitchOptions {
  readonly reason: string;
  readonly json?: boolean;
}

async function throwSwitch(
  context: CliContext,
  command: Command,
  action: 'stop' | 'resume',
  { reason, json }: SwitchOptions,
): Promise<void> {
  const path = `/api/decisions/${action}`;
  const told = await askRunningDaemon(command, context, { path, body: { reason }, answer });
  if (json === true) context.output.json(told);
  else if (told.stopped) context.output.line('the decisions are stopped; nothing is sent');
  else {
    const { actor, at, reason: why } = told.stop;
    const since = new Date(at).toISOString();
    context.output.line(`the decisions go on; ${actor} had stopped them since ${since}: ${why}`);
  }
}

export function decisionsStop(context: CliContext): Command {
  return new Command('stop')
    .summary('stop all decisions at once, without a restart')
    .description(
      'From the next decision on nothing about a delivery is sent. What the rules accepted and\n' +
        'was not sent yet is canceled; the journal goes on in the mode "stopped". Lasts until\n' +
        '"decisions resume", also over restarts. Where no daemon answers, make a file\n' +
        '"decisions.stop" in the data folder: it does the same.',
    )
    .requiredOption('--reason <text>', 'why, for the audit', statedReason)
    .option('--json', 'as JSON')
    .addHelpText('after', examples([['decisions stop --reason "prices look wrong"', 'now']]))
    .action((options: SwitchOptions, command: Command) =>
      throwSwitch(context, command, 'stop', options),
    );
}

export function decisionsResume(context: CliContext): Command {
  return new Command('resume')
    .summary('let the decisions go on')
    .description('Everything that waits is decided anew, by the present rules and facts.')
    .requiredOption('--reason <text>', 'why, for the audit', statedReason)
    .option('--json', 'as JSON')
    .addHelpText('after', examples([['decisions resume --reason "prices are right"', 'go on']]))
    .action((options: SwitchOptions, command: Command) =>
      throwSwitch(context, command, 'resume', options),
    );
}
