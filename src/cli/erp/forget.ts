/** `selvedge orders forget`: blanks the stored personal data in an order. */
import { Command } from 'commander';
import { z } from 'zod';
import { forgetOrder } from '../../daemon/commands/forget.ts';
import { RefusedError } from '../../lib/errors.ts';
import { statedReason } from '../arguments.ts';
import { type CliContext, examples } from '../command.ts';
import { viaDaemonOrOffline } from '../daemon-call.ts';

interface Options {
  readonly reason: string;
  readonly yes?: boolean;
  readonly json?: boolean;
}

const forgotten = z.object({
  reference: z.string().nullable(),
  orderId: z.int().nullable(),
  decisions: z.int(),
  events: z.int(),
  documents: z.int(),
  copies: z.array(z.string()).readonly(),
});

async function confirm({ ask }: CliContext, order: string): Promise<void> {
  const question = `What is forgotten of ${order} cannot be brought back. Type ${order} to go on: `;
  const typed = await ask(question);
  if (typed?.trim() === order) return;
  throw new RefusedError('orders.unconfirmed', 'forgetting is final and must be confirmed', {
    hint: 'type the reference when you are asked, or name --yes',
  });
}

export function ordersForget(context: CliContext): Command {
  return new Command('forget')
    .summary('blank the names, addresses and comments of an order')
    .description(
      'Blanks names, addresses, e-mails, phone numbers and comments of an order in the mirror,\n' +
        'its change feed, decisions, events, the outbox and exchange.db. Numbers, lines, states\n' +
        'and amounts stay; "decisions verify" still holds. Later pulls leave the same out.\n' +
        'Refused while anything of the order is under way. Backups are not touched: the answer\n' +
        'names them. docs/personal-data.md says what lies where.',
    )
    .argument('<reference>', 'the reference of the order, or its id as id:500123')
    .requiredOption('--reason <text>', 'why; goes into the audit', statedReason)
    .option('--yes', 'do not ask')
    .option('--json', 'the answer as JSON')
    .addHelpText(
      'after',
      examples([['orders forget SO-4711 --reason "request of 3 May"', 'asks before it acts']]),
    )
    .action(async (order: string, options: Options, self: Command) => {
      if (options.yes !== true) await confirm(context, order);
      const { reason } = options;
      const answer = await viaDaemonOrOffline(self, context, {
        path: '/api/forget',
        body: { order },
        answer: forgotten,
        reason,
        offline: (parts, asker) => forgetOrder(parts, order, asker),
      });
      const { output } = context;
      if (options.json === true) {
        output.json(answer);
        return;
      }
      const { decisions, events, documents, copies } = answer;
      const figures = `${decisions} decisions, ${events} events, ${documents} rows of exchange.db`;
      output.line(`${order}: forgotten (${figures})`);
      for (const copy of copies) output.line(`still in ${copy}`);
    });
}
