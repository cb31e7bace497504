/** `selvedge rules reload`: the daemon loads its rules and its configuration again. */
import { Command } from 'commander';
import { z } from 'zod';
import { remark } from '../../arguments.ts';
import { type CliContext, examples } from '../../command.ts';
import { askRunningDaemon } from '../../daemon-call.ts';
import type { Output } from '../../output.ts';
import { noteUnread } from '../directory.ts';

const change = z.object({ from: z.string(), to: z.string() });

const answer = z.object({
  diff: z.object({
    from: z.string(),
    to: z.string(),
    added: z.array(z.string()),
    removed: z.array(z.string()),
    changed: z.array(z.looseObject({ id: z.string() })),
    settings: z.array(z.looseObject({ path: z.string() })),
  }),
  mode: change,
  directory: change,
  disarmed: z.array(z.string()),
  restart: z.array(z.string()),
  unread: z.array(z.string()),
});

const HASH_CHARS = 12;

function print(output: Output, reloaded: z.output<typeof answer>): void {
  const { diff, mode, directory, disarmed, restart, unread } = reloaded;
  const [from, to] = [diff.from, diff.to].map((hash) => hash.slice(0, HASH_CHARS));
  output.line(from === to ? `rules ${to}, as they were` : `rules ${from} -> ${to}`);
  if (mode.from !== mode.to) output.line(`mode ${mode.from} -> ${mode.to}`);
  if (directory.from !== directory.to) {
    output.line(`directory ${directory.from} -> ${directory.to}`);
  }
  for (const id of diff.added) output.line(`+ rule ${id}`);
  for (const id of diff.removed) output.line(`- rule ${id}`);
  for (const { id } of diff.changed) output.line(`~ rule ${id}`);
  for (const { path } of diff.settings) output.line(`~ ${path}`);
  for (const id of disarmed) output.line(`disarmed: ${id} (it has another text now)`);
  noteUnread(output, unread);
  if (restart.length > 0) output.line(`acts from the next start on: ${restart.join(', ')}`);
}

export function rulesReload(context: CliContext): Command {
  return new Command('reload')
    .summary('reload the rules in the running daemon')
    .description(
      'All of the new rules and the configuration are checked first; with a mistake in them\n' +
        'nothing changes and the mistakes are shown. SIGHUP does the same\n' +
        'for a daemon that has no terminal; it ends one that has, and the demo.',
    )
    .option('--reason <text>', 'why; goes into the audit', remark, '')
    .option('--json', 'as JSON')
    .addHelpText('after', examples([['rules reload', 'after an edit that rules check likes']]))
    .action(async ({ reason, json }: { reason: string; json?: boolean }, command: Command) => {
      const call = { path: '/api/rules/reload', body: { reason }, answer };
      const reloaded = await askRunningDaemon(command, context, call);
      if (json === true) context.output.json(reloaded);
      else print(context.output, reloaded);
    });
}
