/** `selvedge outbox show <id>`: shows one row with both sides, its attempts and its evidence. */

import { Command } from 'commander';
import { z } from 'zod';
import { attemptWords, wordFor } from '../../config/words.ts';
import { RefusedError } from '../../lib/errors.ts';
import { formatDecimal } from '../../lib/money.ts';
import { isoTime } from '../../lib/units.ts';
import { type Candidate, type OutboxCard, showOutbox } from '../../outbox/review/listing.ts';
import { wholeNumber } from '../arguments.ts';
import { type CliContext, examples } from '../command.ts';
import type { Output } from '../output.ts';
import { withMirror } from '../reading.ts';
import { type RemoteConsole, remoteConsoleOf } from '../remote/console.ts';
import { shaped } from '../remote/shapes.ts';

// Reads a push over a URL.

const card = shaped<OutboxCard>(
  z.looseObject({
    outboxId: z.int(),
    kind: z.string(),
    reference: z.string(),
    state: z.string(),
    createdAt: z.number(),
    document: z.looseObject({}),
    deliveries: z.array(z.looseObject({})),
    problems: z.array(z.looseObject({})),
    attemptLog: z.array(z.looseObject({ startedAt: z.number() })),
    evidence: z.array(z.looseObject({ at: z.number() })),
    candidates: z.array(z.looseObject({ lines: z.array(z.looseObject({})) })),
    revisions: z.array(z.looseObject({})),
  }),
);

function showRemoteOutbox(remote: RemoteConsole, outboxId: number): Promise<OutboxCard> {
  return remote.get(`/outbox/${outboxId}.json`, card);
}

function printHead(output: Output, card: OutboxCard): void {
  const facts: [string, string | number | null][] = [
    ['kind', card.kind],
    ['reference', card.reference],
    ['from', card.cause],
    ['created', isoTime(card.createdAt)],
    ['outcome unknown', card.inDoubtSince === null ? null : `since ${isoTime(card.inDoubtSince)}`],
    ['next lookup', card.ended || card.blockedReason !== null ? null : isoTime(card.dueAt)],
    ['order', card.orderId === null ? null : `${card.orderId} ${card.orderNo ?? ''}`.trim()],
    ['pending refund', card.pendingRefundId],
    ['refund', card.orderRefundId],
    ['style', card.styleId],
    ['needs attention', card.blockedReason],
    ['last error', card.lastError],
  ];
  output.line(`outbox ${card.outboxId}: ${wordFor('pushState', card.state)}`);
  for (const [name, value] of facts) {
    if (value !== null) output.line(`${name.padEnd(15)} ${value}`);
  }
  for (const { deliveryNo, orderDeliveryId, status } of card.deliveries) {
    output.line(
      `${'delivery'.padEnd(15)} ${deliveryNo ?? ''} (${orderDeliveryId}) ${status ?? ''}`,
    );
  }
  for (const { severity, path, message } of card.problems) {
    output.line(`${severity.padEnd(15)} ${path === '' ? '' : `${path}: `}${message}`);
  }
  output.line(`${'next'.padEnd(15)} ${card.nextAction}`);
}

function addressText(address: Candidate['shippingAddress']): string {
  const members = ['company', 'name', 'address', 'address2', 'zip', 'city', 'countryCode'];
  const texts = members.map((name) => address[name]);
  return texts.filter((text) => typeof text === 'string' && text !== '').join(', ');
}

function printCandidate(output: Output, candidate: Candidate): void {
  const { orderId, orderNo, reference, createdAt, currency, lines } = candidate;
  const { seasonName, differences } = candidate;
  const when = createdAt === null ? '' : `, ${isoTime(createdAt)}`;
  const bears = reference ? `reference ${reference}` : 'no reference';
  output.line();
  output.line(`AT THE SERVICE: order ${orderId} ${orderNo ?? ''}, ${bears}${when}`);
  const address = addressText(candidate.shippingAddress);
  if (seasonName) output.line(`season ${seasonName}`);
  if (address !== '') output.line(`to ${address}`);
  for (const difference of differences) output.line(`! ${difference}`);
  output.table(
    ['BARCODE', 'PIECES', 'PRICE', 'DELIVERY'],
    lines.map(({ barcode, quantity, price, deliveryName }) => [
      barcode ?? '?',
      quantity === null ? '?' : String(quantity),
      price === null ? '?' : formatDecimal(price, currency),
      deliveryName ?? '',
    ]),
  );
}

/** Prints our document, then what the service has in its place. */
function printSides(output: Output, card: OutboxCard): void {
  output.line();
  output.line('OURS');
  for (const line of JSON.stringify(card.document, undefined, 2).split('\n')) output.line(line);
  for (const candidate of card.candidates) printCandidate(output, candidate);
}

/** Prints the earlier versions of a corrected document, a line each. */
function printRevisions(output: Output, { revisions }: OutboxCard): void {
  if (revisions.length === 0) return;
  output.line();
  output.table(
    ['EARLIER', 'SUBMITTED', 'REPLACED', 'STATE', 'WHY', 'DOCUMENT'],
    revisions.map((one) => [
      String(one.revision),
      isoTime(one.submittedAt),
      isoTime(one.replacedAt),
      one.state,
      one.lastError ?? '',
      JSON.stringify(one.document),
    ]),
  );
}

function printLog(output: Output, { attemptLog, evidence }: OutboxCard): void {
  output.line();
  output.table(
    ['ATTEMPT', 'FROM', 'TO', 'CLASS', 'HTTP', 'ORDERS BEFORE', 'ANSWER'],
    attemptLog.map((one) => [
      String(one.attempt),
      isoTime(one.startedAt),
      one.endedAt === null ? '-' : isoTime(one.endedAt),
      attemptWords(one.class),
      String(one.httpStatus ?? '-'),
      String(one.maxOrderIdBefore ?? one.countBefore ?? '-'),
      one.answer ?? '',
    ]),
  );
  output.line();
  output.table(
    ['LOOKED UP', 'BY', 'OUTCOME', 'COMPLETE', 'DETAIL'],
    evidence.map((one) => [
      isoTime(one.at),
      one.source,
      one.outcome,
      one.complete ? 'yes' : 'no',
      JSON.stringify(one.detail),
    ]),
  );
}

/** Prints everything that is known of an outbox row. */
export function printCard(output: Output, card: OutboxCard): void {
  printHead(output, card);
  printSides(output, card);
  printLog(output, card);
  printRevisions(output, card);
}

export function outboxShow(context: CliContext): Command {
  return new Command('show')
    .summary('show one row with its attempts, evidence and next step')
    .description('The document beside what the service has, and everything that was tried.')
    .argument('<id>', 'the number of the row (selvedge outbox list)', wholeNumber())
    .option('--json', 'as JSON')
    .addHelpText('after', examples([['outbox show 17', 'before you resolve it']]))
    .action(async (outboxId: number, options: { json?: boolean }, self: Command) => {
      const remote = remoteConsoleOf(self, context);
      const card = remote
        ? await showRemoteOutbox(remote, outboxId)
        : await withMirror(self, context, (db) => showOutbox(db, outboxId));
      if (!card) {
        throw new RefusedError('outbox.unknown', `there is no outbox row ${outboxId}`, {
          hint: 'see: selvedge outbox list',
        });
      }
      if (options.json === true) {
        context.output.json(card);
        return;
      }
      printCard(context.output, card);
    });
}
