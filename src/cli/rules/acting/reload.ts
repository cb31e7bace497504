/** `selvedge rules reload`: the declared act, with a question at a terminal. */
import type { Command } from 'commander';
import type { Reload } from '../../../decisions/reject/surface.ts';
import { reloadRules, reloadSchema, reloadSummary } from '../../../decisions/reject/surface.ts';
import { heldUnarmed, heldUnarmedText } from '../../../decisions/simulation/not-armed.ts';
import { systemClock } from '../../../lib/clock.ts';
import { RefusedError } from '../../../lib/errors.ts';
import type { Preview } from '../../../surface/acts.ts';
import type { CliContext } from '../../command.ts';
import { withMirror } from '../../reading.ts';
import { actCommand, runAct } from '../../surface-commands.ts';
import { noteUnread } from '../directory.ts';
import { namedRuleSet } from '../rule-sets.ts';

/**
 * Counts what the reject rules of the files hold that are not armed, in a process that makes the
 * daemon wait for nothing. Where that cannot be read, the reload goes on without it.
 */
function heldByFiles(command: Command, context: CliContext, { directory, mode }: Reload) {
  if (mode.to !== 'live') return Promise.resolve(undefined);
  return withMirror(command, context, async (db, store) => {
    const ruleSet = await namedRuleSet(db, directory.to);
    return heldUnarmedText(await heldUnarmed(store, ruleSet, systemClock().now()));
  }).catch(() => undefined);
}

/** Asks at a terminal whether the reload is wanted, unless nothing would change. */
async function agree(command: Command, context: CliContext, preview?: Preview): Promise<void> {
  if (!preview) return;
  const { lines: _, seen: __, ...rest } = preview;
  const reload = reloadSchema.parse(rest);
  const summary = reloadSummary(reload);
  if (summary === undefined) return;
  const held = await heldByFiles(command, context, reload);
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
  /** Tells beside the act's own words which files are not read, and what is held. */
  const tell = async (_command: Command, answer: unknown): Promise<boolean> => {
    if (command.opts<Options>().json === true) return false;
    const reloaded = reloadSchema.parse(answer);
    output.line(reloadRules.done(reloaded, {}));
    noteUnread(output, reloaded.unread);
    const held = await heldByFiles(command, context, reloaded);
    if (held !== undefined) output.line(held);
    return true;
  };
  return command.action(() => {
    const { yes, json } = command.opts<Options>();
    const isAsked = yes !== true && json !== true;
    return runAct(context, reloadRules, command, {
      tell,
      ...(isAsked && { agree: (preview) => agree(command, context, preview) }),
      // A failed preview shows nothing; the reload then opens the incident of the mistakes.
      unshown: { rules: '', mode: '' },
    });
  });
}
