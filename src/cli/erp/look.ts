/** `selvedge orders list`, `orders show`, and the same for refunds: shows the ERP's documents. */
import { Command } from 'commander';
import { systemClock } from '../../lib/clock.ts';
import { RefusedError } from '../../lib/errors.ts';
import { formatDuration } from '../../lib/units.ts';
import {
  findDocument,
  listOutbox,
  type OutboxRow,
  showOutbox,
} from '../../outbox/review/listing.ts';
import { describeLost } from '../../outbox/watch/lost.ts';
import { wholeNumber } from '../arguments.ts';
import { type CliContext, examples } from '../command.ts';
import { stateText } from '../outbox/list.ts';
import { filterOptions } from '../outbox/options.ts';
import { printCard } from '../outbox/show.ts';
import { firstRows, withMirror } from '../reading.ts';

interface Noun {
  readonly kind: 'order' | 'pending_refund';
  readonly group: 'orders' | 'refunds';
  readonly what: string;
  /** Title of the column for what the service made of a document. */
  readonly made: string;
  readonly example: string;
  madeOf(row: OutboxRow): string | number | null;
}

const ORDERS: Noun = {
  kind: 'order',
  group: 'orders',
  what: 'order',
  made: 'ORDER',
  example: 'SO-1001',
  madeOf: ({ orderNo, orderId }) => orderNo ?? orderId,
};

const REFUNDS: Noun = {
  kind: 'pending_refund',
  group: 'refunds',
  what: 'pending refund',
  made: 'PENDING REFUND',
  example: 'RMA-1',
  madeOf: ({ pendingRefundId }) => pendingRefundId,
};

interface ListOptions {
  readonly state?: OutboxRow['state'];
  readonly needsAttention?: boolean;
  readonly open?: boolean;
  readonly limit: number;
  readonly json?: boolean;
}

const LIMIT_MAX = 10_000;

function whyText({ blockedReason, lost, lastError }: OutboxRow): string {
  return blockedReason ?? (lost && describeLost(lost)) ?? lastError ?? '';
}

function listCommand(context: CliContext, noun: Noun): Command {
  const command = new Command('list')
    .summary(`list the ${noun.what}s that the ERP submitted`)
    .description('The newest first, each with its state, what the service made of it, and why.');
  for (const option of filterOptions()) {
    if (option.attributeName() !== 'kind') command.addOption(option);
  }
  return command
    .option('--open', 'only what has not ended')
    .option('--limit <n>', 'how many at the most', wholeNumber(1, LIMIT_MAX), 50)
    .option('--json', 'as JSON')
    .addHelpText(
      'after',
      examples([
        [`${noun.group} list --open`, 'what is under way'],
        [`${noun.group} list --state refused --json`, 'for programs'],
      ]),
    )
    .action(async (options: ListOptions, self: Command) => {
      const { json, limit, ...filter } = options;
      const found = await withMirror(self, context, (db) =>
        listOutbox(db, { ...filter, kind: noun.kind, limit: limit + 1 }),
      );
      const rows = firstRows(context.output, found, limit);
      if (json === true) return context.output.json(rows);
      const now = systemClock().now();
      return context.output.table(
        ['REFERENCE', 'STATE', noun.made, 'AGE', 'ID', 'WHY'],
        rows.map((row) => [
          row.reference,
          stateText(row),
          String(noun.madeOf(row) ?? '-'),
          formatDuration(Math.max(0, now - row.createdAt)),
          String(row.outboxId),
          whyText(row),
        ]),
      );
    });
}

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

export function ordersList(context: CliContext): Command {
  return listCommand(context, ORDERS);
}

export function ordersShow(context: CliContext): Command {
  return showCommand(context, ORDERS);
}

export function refundsList(context: CliContext): Command {
  return listCommand(context, REFUNDS);
}

export function refundsShow(context: CliContext): Command {
  return showCommand(context, REFUNDS);
}
