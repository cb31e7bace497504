/** `selvedge deliveries accept|reject|hold|release`: what a person decides about deliveries. */
import { Command, Option } from 'commander';
import { z } from 'zod';
import { RELEASE_REASONS, type ReviewAction } from '../../decisions/review/review.ts';
import { EXIT, RefusedError } from '../../lib/errors.ts';
import { statedReason } from '../arguments.ts';
import { type CliContext, examples } from '../command.ts';
import { askRunningDaemon } from '../daemon-call.ts';

interface Options {
  readonly reason: string;
  readonly why?: string;
  readonly toRules?: boolean;
  readonly yesReject?: readonly string[];
  readonly ifRejectWaits?: boolean;
  readonly json?: boolean;
}

const done = z.object({
  delivery: z.string(),
  ok: z.literal(true),
  orderDeliveryId: z.int(),
  deliveryNo: z.string(),
  decisionId: z.int(),
  outboxId: z.int().nullable(),
  doubt: z.string().optional(),
});
const refused = z.object({
  delivery: z.string(),
  ok: z.literal(false),
  code: z.string(),
  message: z.string(),
  hint: z.string().optional(),
});
const reviewAnswer = z.object({ answers: z.array(z.discriminatedUnion('ok', [done, refused])) });
type Answer = z.output<typeof reviewAnswer>['answers'][number];

const DONE: Readonly<Record<ReviewAction, string>> = {
  accept: 'accepted',
  reject: 'rejected',
  hold: 'held',
  release: 'released',
};

function answerLine(action: ReviewAction, answer: Answer): string {
  if (!answer.ok) {
    const hint = answer.hint === undefined ? '' : ` (${answer.hint})`;
    return `${answer.delivery}: NOT ${DONE[action]}: ${answer.message}${hint}`;
  }
  const { deliveryNo, orderDeliveryId, decisionId, outboxId } = answer;
  const doubt = answer.doubt === undefined ? '' : ` (${answer.doubt})`;
  const push = outboxId === null ? '' : `, push ${outboxId} tells the service${doubt}`;
  return `${deliveryNo} (${orderDeliveryId}): ${DONE[action]}, decision ${decisionId}${push}`;
}

/** The delivery numbers that allow a reject: from the command line, or typed. */
async function confirmations(
  context: CliContext,
  deliveries: readonly string[],
  given: readonly string[],
): Promise<readonly string[]> {
  if (given.length > 0) return given;
  const typed: string[] = [];
  for (const delivery of deliveries) {
    const question = `Rejecting ${delivery} is final. Type its delivery number to go on: `;
    const answer = await context.ask(question);
    if (answer === undefined) {
      throw new RefusedError('review.unconfirmed', 'a reject is final and must be confirmed', {
        hint: 'name each delivery number: --yes-reject <deliveryNo>',
      });
    }
    typed.push(answer.trim());
  }
  return typed;
}

/** Asks the daemon for it, with the options of the command, and tells how each one went. */
async function actOnDeliveries(
  context: CliContext,
  self: Command,
  action: ReviewAction,
  deliveries: readonly string[],
): Promise<void> {
  const { yesReject = [], json, ...said } = self.opts<Options>();
  const confirmed =
    action === 'reject' ? await confirmations(context, deliveries, yesReject) : undefined;
  const { answers } = await askRunningDaemon(self, context, {
    path: '/api/deliveries/review',
    body: { ...said, action, deliveries, confirmed },
    answer: reviewAnswer,
  });
  if (answers.some(({ ok }) => !ok)) context.setExitCode(EXIT.failure.code);
  if (json === true) context.output.json(answers);
  else for (const answer of answers) context.output.line(answerLine(action, answer));
}

function acting(context: CliContext, action: ReviewAction, summary: string): Command {
  return new Command(action)
    .summary(summary)
    .argument('<delivery...>', 'ids or numbers (selvedge deliveries list)')
    .requiredOption('--reason <text>', 'why; goes into the journal and the audit', statedReason)
    .option('--json', 'one answer for each, as JSON')
    .action((deliveries: readonly string[], _options: Options, self: Command) =>
      actOnDeliveries(context, self, action, deliveries),
    );
}

export function deliveriesAccept(context: CliContext): Command {
  return acting(context, 'accept', 'accept pending deliveries yourself')
    .description(
      'Accepts at the service, once it has been seen there still pending. The rules leave these\n' +
        'deliveries alone until their lines change. Asks the running daemon.',
    )
    .addHelpText(
      'after',
      examples([['deliveries accept 500012 --reason "price agreed by phone"', 'one or several']]),
    );
}

export function deliveriesReject(context: CliContext): Command {
  return acting(context, 'reject', 'reject pending deliveries yourself; final')
    .description(
      'A reject is final at the service. The number of each delivery must be typed at the\n' +
        'terminal, or named with --yes-reject. It is sent only while the delivery is exactly as\n' +
        'it was when you asked for it.',
    )
    .option(
      '--yes-reject <deliveryNo>',
      'the number of a delivery that is meant; once for each',
      (number: string, earlier: readonly string[] = []) => [...earlier, number],
    )
    .addHelpText(
      'after',
      examples([
        [
          'deliveries reject 500012 --reason "ordered twice" --yes-reject DN-500012',
          'no questions',
        ],
      ]),
    );
}

export function deliveriesHold(context: CliContext): Command {
  return acting(context, 'hold', 'keep deliveries pending until you release them')
    .description(
      'Stops a reject that waits for it. An accepted delivery that has not shipped goes back to\n' +
        'pending. The rules leave it alone until it is released or its lines change.',
    )
    .option('--if-reject-waits', 'only where a reject waits (rules queue), which it stops')
    .addHelpText(
      'after',
      examples([
        ['deliveries hold DN-500012 --reason "ask Jutta"', 'until released'],
        ['deliveries hold DN-500012 --if-reject-waits --reason "customer called"', 'in time'],
      ]),
    );
}

export function deliveriesRelease(context: CliContext): Command {
  return acting(context, 'release', 'end the hold of deliveries')
    .description(
      'The delivery stays pending and is yours: the rules leave it alone until its lines\n' +
        'change, unless you give it back to them with --to-rules.',
    )
    .addOption(
      new Option('--why <code>', 'what settled it; the material of the next rule')
        .choices(RELEASE_REASONS)
        .makeOptionMandatory(),
    )
    .option('--to-rules', 'let the rules decide again, as if nobody had touched it')
    .addHelpText(
      'after',
      examples([
        ['deliveries release 500012 --why paid --reason "seen" --to-rules', 'rules decide'],
      ]),
    );
}
