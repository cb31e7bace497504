/** `selvedge portal open`: gets a new link into the relay's portal. */
import { Command } from 'commander';
import { z } from 'zod';
import { openPortal } from '../../daemon/commands/portal.ts';
import { remark } from '../arguments.ts';
import { type CliContext, examples } from '../command.ts';
import { viaDaemonOrOffline } from '../daemon-call.ts';

const answer = z.object({ url: z.string(), expiresAt: z.string().nullable() });

export function portalOpen(context: CliContext): Command {
  const { output } = context;
  return new Command('open')
    .summary('print a single-use link into the portal of the relay')
    .description(
      'Asks the service for a link that opens the portal once: endpoints, signing secrets, the\n' +
        'history, re-sending. Its owner can send our events elsewhere, so it is printed to\n' +
        'standard output only, never logged, and the audit keeps who asked.',
    )
    .option('--reason <text>', 'why; goes into the audit', remark, '')
    .option('--json', 'as JSON')
    .addHelpText(
      'after',
      examples([['portal open', 'open the printed address in a browser, once']]),
    )
    .action(async (options: { reason: string; json?: boolean }, command: Command) => {
      const link = await viaDaemonOrOffline(command, context, {
        path: '/api/portal/open',
        body: {},
        answer,
        reason: options.reason,
        async offline(parts, asker) {
          const { url, expiresAt } = await openPortal(parts, asker);
          return { url: url.reveal(), expiresAt: expiresAt ?? null };
        },
      });
      if (options.json === true) output.json(link);
      else output.line(link.url);
      const until = link.expiresAt === null ? '' : `, until ${link.expiresAt}`;
      output.note(`works once${until}; anyone who has it can change where events go`);
    });
}
