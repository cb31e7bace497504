/**
 * `selvedge deliveries show <delivery>`: shows one delivery and everything that was said about it.
 */

import { Command } from 'commander';
import { type DeliveryCard, deliveryCard } from '../../decisions/review/card.ts';
import { deliveryState } from '../../decisions/review/state.ts';
import { formatDecimal } from '../../lib/money.ts';
import { currencyOf, visible } from '../../lib/strings.ts';
import { isoTime } from '../../lib/units.ts';
import { type CliContext, examples } from '../command.ts';
import type { Output } from '../output.ts';
import { withMirror } from '../reading.ts';
import { remoteConsoleOf } from '../remote/console.ts';
import { readRemoteDelivery } from '../remote/deliveries.ts';

function printHead(output: Output, card: DeliveryCard): void {
  const { order, customer, currency, season } = card;
  // Texts of the service are escaped, so that each stays one line.
  const line = (text: string): void => output.line(visible(text));
  const { outcome = null, push = null } = card.decisions[0] ?? {};
  // A console of an older version does not tell of parcels.
  const { status, shipped = false } = card;
  const state = deliveryState({ status, shipped, outcome, push: push?.state ?? null });
  const isOpen = status === 'pending';
  line(`${card.deliveryNo ?? ''} (${card.orderDeliveryId})  ${state}`);
  line(`order     ${order.orderNo ?? ''} (${order.orderId})  ${order.reference ?? ''}`);
  const parts = [customer.accountNo, customer.company, customer.country].filter((one) => one);
  line(`customer  ${parts.join('  ')}`);
  line(`packed    ${isoTime(card.since)}, changed ${isoTime(card.changedAt)}`);
  if (season !== null) line(`season    ${season}`);
  if (order.comment) line(`comment   ${order.comment}`);
  output.line();
  output.table(
    ['BARCODE', 'STYLE', 'PIECES', ...(isOpen ? ['STOCK'] : []), `PRICE ${currency ?? ''}`],
    card.lines.map((line) => [
      line.barcode ?? '?',
      line.style ?? '',
      line.quantity === null ? '?' : String(line.quantity),
      ...(isOpen ? [line.stock === null ? '?' : String(line.stock)] : []),
      line.price === null ? '?' : formatDecimal(line.price, currencyOf(currency)),
    ]),
  );
}

/** Owners of the rules in the latest decision, who can be asked about a rule. */
function owners({ decisions: [latest] }: DeliveryCard): ReadonlyMap<string, string> {
  const rules = latest?.evaluation.rules ?? [];
  return new Map(rules.flatMap(({ id, owner }) => (owner === undefined ? [] : [[id, owner]])));
}

function printWords(output: Output, card: DeliveryCard): void {
  const { review, rejects, holds, assigned = null, notes = [] } = card;
  const ask = owners(card);
  for (const { rule, since, untilAt, expiresAt, afterwards, lapsedAt } of holds) {
    const end = lapsedAt === null ? `at most until ${isoTime(expiresAt)}` : 'its time is up';
    const look = untilAt === null ? '' : `, looked at again ${isoTime(untilAt)}`;
    const whom = ask.has(rule) ? `, ask ${ask.get(rule)}` : '';
    const how = rule === 'no_rule' ? 'no rule applies' : `held by ${rule}`;
    output.line(`${how} since ${isoTime(since)}, ${end}, then ${afterwards}${look}${whom}`);
  }
  if (review !== null) {
    const why = review.why === null ? '' : ` (${review.why})`;
    output.line(`${review.actor} said ${review.action}${why} at ${isoTime(review.at)}:`);
    output.line(`  ${review.reason}`);
  }
  if (assigned !== null) output.line(visible(`${assigned.name} sees to it`));
  for (const { text, author, at } of notes) {
    output.line(visible(`note of ${author} at ${isoTime(at)}: ${text}`));
  }
  for (const { rule, state, dueAt, detail } of rejects) {
    const when = state === 'waiting' ? `, will be rejected at ${isoTime(dueAt)}` : '';
    const word = state === 'pushing' ? 'being sent' : state;
    output.line(`reject by ${rule}: ${word}${when}${detail === null ? '' : ` (${detail})`}`);
  }
}

function print(output: Output, card: DeliveryCard): void {
  printHead(output, card);
  output.line();
  printWords(output, card);
  output.table(
    ['DECISION', 'AT', 'BY', 'OUTCOME', 'PUSH', 'REASON'],
    card.decisions.map(({ decisionId, at, actor, outcome, push, reason }) => [
      String(decisionId),
      isoTime(at),
      actor,
      outcome,
      push?.state ?? '-',
      push?.error ? `${reason} [${push.error}]` : reason,
    ]),
  );
}

export function deliveriesShow(context: CliContext): Command {
  return new Command('show')
    .summary('show a delivery with its decisions, holds and pushes')
    .description('Its lines, its customer, and every decision with its push, the latest first.')
    .argument('<delivery>', 'id or number (selvedge deliveries list)')
    .option('--json', 'as JSON')
    .addHelpText('after', examples([['deliveries show DN-500012', 'before you decide']]))
    .action(async (delivery: string, options: { json?: boolean }, command: Command) => {
      const remote = remoteConsoleOf(command, context);
      const card = remote
        ? (await readRemoteDelivery(remote, delivery)).card
        : await withMirror(command, context, (db) => deliveryCard(db, delivery));
      if (options.json === true) context.output.json(card);
      else print(context.output, card);
    });
}
