/** `selvedge rules reload`: the declared act, with a question at a terminal. */
import type { Command } from 'commander';
import {
  notArmedText,
  reloadRules,
  reloadSchema,
  reloadSummary,
} from '../../../decisions/reject/surface.ts';
import { RefusedError } from '../../../lib/errors.ts';
import type { Preview } from '../../../surface/acts.ts';
import type { CliContext } from '../../command.ts';
import { actCommand, runAct } from '../../surface-commands.ts';
import { noteUnread } from '../directory.ts';

/** Asks at a terminal whether the reload is wanted, unless nothing would change. */
async function agree(context: CliContext, preview?: Preview): Promise<void> {
  if (!preview) return;
  const { lines: _, seen: __, ...rest } = preview;
  const reload = reloadSchema.parse(rest);
  const summary = reloadSummary(reload);
  if (summary === undefined) return;
  const held = notArmedText(reload.notArmed);
  const told = [summary, ...(held === undefined ? [] : [held])].join('\n');
  const typed = await context.ask(`${told}\nReload? [y/N] `);
  if (typed !== undefined && !/^y(es)?$/i.test(typed.trim())) {
    throw new RefusedError('rules.unconfirmed', 'nothing was reloaded');
  }
}

interface Options {
  readonly yes?: boolean;
  readonly json?: boolean;
}

export function rulesReload(context: CliContext): Command {
  const command = actCommand(reloadRules, context).option('--yes', 'do not ask');
  const { output } = context;
  /** Tells beside the act's own words which files are not read. */
  const tell = async (_command: Command, answer: unknown): Promise<boolean> => {
    if (command.opts<Options>().json === true) return false;
    const reloaded = reloadSchema.parse(answer);
    output.line(reloadRules.done(reloaded, {}));
    noteUnread(output, reloaded.unread);
    return true;
  };
  return command.action(() => {
    const { yes, json } = command.opts<Options>();
    const isAsked = yes !== true && json !== true;
    return runAct(context, reloadRules, command, {
      tell,
      ...(isAsked && { agree: (preview) => agree(context, preview) }),
      // A failed preview shows nothing; the reload then opens the incident of the mistakes.
      unshown: { rules: '', mode: '' },
    });
  });
}
