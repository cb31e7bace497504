/** `selvedge orders show`, and the same for refunds: shows a document of the ERP. */
import { Command } from 'commander';
import { RefusedError } from '../../lib/errors.ts';
import { findDocument, showOutbox } from '../../outbox/review/listing.ts';
import { type CliContext, examples } from '../command.ts';
import { printCard } from '../outbox/show.ts';
import { withMirror } from '../reading.ts';

interface Noun {
  readonly kind: 'order' | 'pending_refund';
  readonly group: 'orders' | 'refunds';
  readonly what: string;
  readonly example: string;
}

const ORDERS: Noun = {
  kind: 'order',
  group: 'orders',
  what: 'order',
  example: 'SO-1001',
};

const REFUNDS: Noun = {
  kind: 'pending_refund',
  group: 'refunds',
  what: 'pending refund',
  example: 'RMA-1',
};

function unknown({ group, what }: Noun, reference: string, near: string | undefined): RefusedError {
  const hint = near === undefined ? '' : `did you mean ${near}? `;
  return new RefusedError('outbox.unknown', `there is no ${what} with the reference ${reference}`, {
    hint:
      `${hint}see: selvedge ${group} list; ` +
      'of what was refused at once only its receipt is kept',
  });
}

function showCommand(context: CliContext, noun: Noun): Command {
  return new Command('show')
    .summary(`show one ${noun.what} by its reference`)
    .description('What the ERP submitted, what the service has, and everything that was tried.')
    .argument('<reference>', 'the reference that the ERP gave')
    .option('--json', 'as JSON')
    .addHelpText(
      'after',
      examples([[`${noun.group} show ${noun.example}`, 'what became of it, and what to do']]),
    )
    .action(async (reference: string, options: { json?: boolean }, self: Command) => {
      const card = await withMirror(self, context, async (db) => {
        const found = await findDocument(db, noun.kind, reference);
        if ('near' in found) throw unknown(noun, reference, found.near);
        return showOutbox(db, found.outboxId);
      });
      if (!card) throw unknown(noun, reference, undefined);
      if (options.json === true) context.output.json(card);
      else printCard(context.output, card);
    });
}

export function ordersShow(context: CliContext): Command {
  return showCommand(context, ORDERS);
}

export function refundsShow(context: CliContext): Command {
  return showCommand(context, REFUNDS);
}
