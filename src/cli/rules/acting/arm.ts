/** `selvedge rules arm`: the declared act, after a look at matches at a terminal. */
import type { Command } from 'commander';
import { armRule } from '../../../decisions/reject/surface.ts';
import type { CliContext } from '../../command.ts';
import { actCommand, runAct } from '../../surface-commands.ts';
import { lookBeforeArming } from './matches.ts';

export function rulesArm(context: CliContext): Command {
  const command = actCommand(armRule, context);
  return command.action((rule: string) =>
    runAct(context, armRule, command, {
      async agree() {
        const { json, url } = command.optsWithGlobals<{ json?: boolean; url?: string }>();
        if (json !== true && url === undefined) await lookBeforeArming(context, command, rule);
      },
    }),
  );
}
