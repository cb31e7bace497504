/** `selvedge pause` and `selvedge resume`: stop parts of the daemon and let them go on. */
import { Argument, Command, Option } from 'commander';
import { z } from 'zod';
import { OUTBOX_KINDS } from '../../config/schema.ts';
import { pausesOf } from '../../daemon/pauses.ts';
import { isDiskFull, RetryLaterError, SelvedgeError, toError } from '../../lib/errors.ts';
import { silentLogger } from '../../lib/log.ts';
import {
  describePause,
  FILE_TARGETS,
  labelOf,
  PAUSE_TARGETS,
  pauseFile,
} from '../../store/pauses.ts';
import type { PauseTarget } from '../../store/tables.ts';
import { statedReason } from '../arguments.ts';
import { type CliContext, examples } from '../command.ts';
import { configOf } from '../configuration.ts';
import { askRunningDaemon, viaDaemonOrOffline } from '../daemon-call.ts';

const pauseSchema = z.object({
  target: z.enum(PAUSE_TARGETS),
  name: z.string(),
  reason: z.string(),
  actor: z.string(),
  at: z.number(),
});
const answer = z.object({ pause: pauseSchema, paused: z.array(pauseSchema) });
const breakerAnswer = z.object({ at: z.number(), safeguard: z.string(), detail: z.string() });

interface Options {
  readonly reason: string;
  readonly kind?: string;
  readonly json?: boolean;
}

/**
 * Whether an error means that no daemon could carry the act out, rather than that one refused it.
 */
function couldNot(error: unknown): boolean {
  if (error instanceof RetryLaterError || isDiskFull(error)) return true;
  return error instanceof SelvedgeError && error.code === 'local.failed';
}

async function act(
  context: CliContext,
  self: Command,
  action: 'pause' | 'resume',
  what: { readonly target: PauseTarget; readonly name: string },
  { reason, json }: Options,
): Promise<void> {
  const { pause, paused } = await viaDaemonOrOffline(self, context, {
    path: `/api/${action}`,
    body: what,
    answer,
    reason,
    async offline(parts, asker) {
      const pauses = await pausesOf(parts.config, { ...parts, log: silentLogger() });
      return { pause: await pauses[action](what, asker), paused: [...pauses.list()] };
    },
  });
  const { output } = context;
  if (json === true) output.json({ pause, paused });
  else if (action === 'pause') output.line(`paused: ${labelOf(pause)}`);
  else {
    const since = new Date(pause.at).toISOString();
    output.line(`resumed: ${labelOf(pause)}; ${describePause(pause)}, since ${since}`);
    for (const other of paused) output.line(`still ${describePause(other)}`);
  }
}

/** Lets armed rules reject again after the breaker tripped. */
async function resetBreaker(context: CliContext, self: Command, options: Options): Promise<void> {
  const tripped = await askRunningDaemon(self, context, {
    path: '/api/rules/reset-breaker',
    body: { reason: options.reason },
    answer: breakerAnswer,
  });
  const { output } = context;
  if (options.json === true) output.json(tripped);
  else output.line(`the breaker is reset (it was: ${tripped.safeguard}, ${tripped.detail})`);
}

function pausing(context: CliContext, action: 'pause' | 'resume', summary: string): Command {
  const targets = action === 'pause' ? PAUSE_TARGETS : [...PAUSE_TARGETS, 'rejects'];
  return new Command(action)
    .summary(summary)
    .addArgument(new Argument('<target>', 'what').choices(targets))
    .argument('[name]', 'of a stream: which one')
    .addOption(new Option('--kind <kind>', 'of pushes: only this kind').choices(OUTBOX_KINDS))
    .requiredOption('--reason <text>', 'why; goes into the audit', statedReason)
    .option('--json', 'the answer as JSON')
    .action(async (target: PauseTarget | 'rejects', name: string | undefined, options, self) => {
      if (target === 'rejects') {
        await resetBreaker(context, self, options);
        return;
      }
      const what = { target, name: options.kind ?? name ?? '' };
      await act(context, self, action, what, options).catch((cause: unknown) => {
        const byFile = action === 'pause' && FILE_TARGETS.some((one) => one === target);
        if (!byFile || !couldNot(cause)) throw cause;
        // In an emergency the person must hear at once that nothing is paused, and how a file
        // pauses it.
        const file = pauseFile(configOf(self, context).config.dataDir, target);
        const hint = `a file pauses ${target} as well: touch ${file}`;
        const message = `nothing is paused: ${toError(cause).message}`;
        throw new RetryLaterError('pause.failed', message, { hint, cause });
      });
    });
}

export function pause(context: CliContext): Command {
  return pausing(context, 'pause', 'pause pushes, decisions, a stream or all until "resume"')
    .description(
      'Takes hold at once and lasts until "resume", also over restarts; works while the daemon\n' +
        'runs and while it does not. Lookups, confirmations and events go on.\n\n' +
        'pushes     nothing is sent, or nothing of one kind; everything waits in its place\n' +
        'decisions  the rules decide nothing, and what they decided and was not sent yet is\n' +
        '           canceled; what people and the ERP want is still sent\n' +
        'stream     the stream is not pulled\n' +
        'all        the three together\n\n' +
        'In an emergency a file in dataDir does it, with the reason in it, for as long as it is\n' +
        'there: pushes.paused, decisions.paused or all.paused.',
    )
    .addHelpText(
      'after',
      examples([
        ['pause pushes --reason "the service is being moved"', 'everything waits'],
        ['pause pushes --kind order --reason "wrong price list"', 'orders wait, refunds go out'],
        ['pause decisions --reason "prices look wrong"', 'the rules decide nothing'],
        ['pause stream stock --reason "the list is broken"', 'it is not pulled'],
      ]),
    );
}

export function resume(context: CliContext): Command {
  return pausing(context, 'resume', 'go on after "pause", a restore or "account adopt"')
    .description(
      'Ends the pause of exactly this target. What waited is sent at once, in the order in\n' +
        'which it came; what the rules decided too long ago is decided again, by present facts.\n' +
        '"rejects" resets the breaker of armed reject rules, which trips when a limit is\n' +
        'reached, when pushes of rejects fail, or when far more is rejected than usual. What it\n' +
        'stopped stays held until somebody has looked.',
    )
    .addHelpText(
      'after',
      examples([
        ['resume pushes --reason "looked through"', 'send again'],
        ['resume rejects --reason "a sale, expected"', 'after the breaker tripped'],
      ]),
    );
}
