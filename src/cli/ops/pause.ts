/**
 * `selvedge pause` and `selvedge resume`: the declared acts, the way that is left in an emergency,
 * and the breaker of rejects, which is resumed like a pause.
 */
import type { Command } from 'commander';
import { resetBreaker } from '../../decisions/reject/surface.ts';
import { isDiskFull, RetryLaterError, SelvedgeError, toError } from '../../lib/errors.ts';
import { pauseAct, resumeAct } from '../../ops/surface.ts';
import { FILE_TARGETS, PAUSE_TARGETS, pauseFile } from '../../store/pauses.ts';
import type { CliContext } from '../command.ts';
import { configOf } from '../configuration.ts';
import { actCommand, runAct, type Telling } from '../surface-commands.ts';

/**
 * Whether an error means that no daemon could carry the act out, rather than that one refused it.
 */
function couldNot(error: unknown): boolean {
  if (error instanceof RetryLaterError || isDiskFull(error)) return true;
  return error instanceof SelvedgeError && error.code === 'local.failed';
}

/** Tells as JSON the pause and, beside it, all that is paused. */
function tellsPause({ output }: CliContext): Telling {
  return async (command, answer) => {
    if (command.opts<{ json?: boolean }>().json !== true) return false;
    const { paused, ...pause } = pauseAct.output.parse(answer);
    output.json({ pause, paused });
    return true;
  };
}

export function pause(context: CliContext): Command {
  const command = actCommand(pauseAct, context);
  return command.action(async (target: string) => {
    const done = runAct(context, pauseAct, command, { tell: tellsPause(context) });
    await done.catch((cause: unknown) => {
      const byFile = FILE_TARGETS.find((one) => one === target);
      const isHere = command.optsWithGlobals<{ url?: string }>().url === undefined;
      if (byFile === undefined || !isHere || !couldNot(cause)) throw cause;
      // In an emergency the person must hear at once that nothing is paused, and how a file
      // pauses it.
      const file = pauseFile(configOf(command, context).config.dataDir, byFile);
      const hint = `a file pauses ${target} as well: touch ${file}`;
      const message = `nothing is paused: ${toError(cause).message}`;
      throw new RetryLaterError('pause.failed', message, { hint, cause });
    });
  });
}

export function resume(context: CliContext): Command {
  const command = actCommand(resumeAct, context);
  const [target] = command.registeredArguments;
  target?.choices([...PAUSE_TARGETS, 'rejects']);
  return command.action((what: string) =>
    what === 'rejects'
      ? runAct(context, resetBreaker, command)
      : runAct(context, resumeAct, command, { tell: tellsPause(context) }),
  );
}
