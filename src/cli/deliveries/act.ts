/**
 * `selvedge deliveries accept|reject|hold|release|undo|note`: acts of a person on deliveries, named
 * one by one or all that fit a filter.
 */
import { Command, Option } from 'commander';
import { z } from 'zod';
import { parseMark, REJECTS_MAX } from '../../decisions/review/bulk.ts';
import {
  RELEASE_REASONS,
  type ReviewAction,
  type ReviewAnswer,
} from '../../decisions/review/review.ts';
import { EXIT, RefusedError, UsageError } from '../../lib/errors.ts';
import { remark, statedReason } from '../arguments.ts';
import { type CliContext, examples } from '../command.ts';
import { askRunningDaemon } from '../daemon-call.ts';
import { withMirror } from '../reading.ts';
import { remoteConsoleOf } from '../remote/console.ts';
import { actOverUrl, noteOverUrl, undoOverUrl } from '../remote/deliveries.ts';
import {
  addFilterOptions,
  describeMatching,
  type FilterOptions,
  type FoundDeliveries,
  filterQuery,
  findHere,
  findOverUrl,
  hasFilter,
} from './filter.ts';

interface Options extends FilterOptions {
  readonly reason: string;
  readonly why?: string;
  readonly toRules?: boolean;
  readonly yesReject?: readonly string[];
  readonly ifRejectWaits?: boolean;
  readonly allMatching?: boolean;
  readonly expect?: string;
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
type Answers = readonly (Answer | ReviewAnswer)[];

const DONE: Readonly<Record<ReviewAction, string>> = {
  accept: 'accepted',
  reject: 'rejected',
  hold: 'held',
  release: 'released',
};

function answerLine(action: ReviewAction, answer: Answers[number]): string {
  if (!answer.ok) {
    const hint = answer.hint === undefined ? '' : ` (${answer.hint})`;
    return `${answer.delivery.replace(/^id:/, '')}: NOT ${DONE[action]}: ${answer.message}${hint}`;
  }
  const { deliveryNo, orderDeliveryId, decisionId, outboxId } = answer;
  const doubt = answer.doubt === undefined ? '' : ` (${answer.doubt})`;
  const push = outboxId === null ? '' : `, push ${outboxId} tells the service${doubt}`;
  return `${deliveryNo} (${orderDeliveryId}): ${DONE[action]}, decision ${decisionId}${push}`;
}

/** Delivery numbers that confirm a reject: from the command line, or typed. */
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

/** Options of the act that are passed on unchanged. */
function wordsOf({ reason, why, toRules, ifRejectWaits }: Options) {
  return { reason, why, toRules, ifRejectWaits };
}

async function actOnNamed(
  context: CliContext,
  self: Command,
  action: ReviewAction,
  deliveries: readonly string[],
): Promise<Answers> {
  const options = self.opts<Options>();
  if (action === 'reject' && deliveries.length > REJECTS_MAX) {
    const message = `${deliveries.length} rejects at once are more than ${REJECTS_MAX}`;
    throw new UsageError('review.too_many', message, { hint: 'a reject is final: look at each' });
  }
  const confirmed =
    action === 'reject'
      ? await confirmations(context, deliveries, options.yesReject ?? [])
      : undefined;
  const remote = remoteConsoleOf(self, context);
  const words = wordsOf(options);
  if (remote) return actOverUrl(remote, action, deliveries, words, confirmed ?? []);
  const { answers } = await askRunningDaemon(self, context, {
    path: '/api/deliveries/review',
    body: { ...words, action, deliveries, confirmed },
    answer: reviewAnswer,
  });
  return answers;
}

/** Refuses an act on all matching deliveries without a mark, and tells what it would act on. */
function requireMark({ page, matching }: FoundDeliveries, self: Command): never {
  if (matching === undefined || matching.count === 0) {
    throw new RefusedError('review.none', 'no delivery fits the filter', {
      hint: 'deliveries list --held shows all that wait',
    });
  }
  const [first] = page.rows;
  const like = first?.deliveryNo ?? String(first?.orderDeliveryId);
  const message = `nothing was done: it would be ${describeMatching(matching)}, such as ${like}`;
  throw new UsageError('review.no_mark', message, {
    hint: `look at them (deliveries list --held …), then ${self.name()} with --expect <mark>`,
  });
}

async function actOnMatching(
  context: CliContext,
  self: Command,
  action: ReviewAction,
): Promise<Answers> {
  const options = self.opts<Options>();
  const filter = filterQuery(options, 'held');
  const remote = remoteConsoleOf(self, context);
  if (options.expect === undefined) {
    const query = { ...filter, limit: '1' };
    const found = remote
      ? await findOverUrl(remote, query)
      : await withMirror(self, context, (db) => findHere(db, query));
    return requireMark(found, self);
  }
  const expect = parseMark(options.expect);
  if (expect === undefined) {
    throw new UsageError('review.no_mark', `--expect ${options.expect} is no mark`, {
      hint: 'the last line of "selvedge deliveries list --held" has it',
    });
  }
  const confirmed = options.yesReject ?? [];
  const { toRules = false, ...words } = wordsOf(options);
  const body = { ...words, toRules, action, select: { filter, expect } };
  if (remote) {
    const typed = confirmed.length === 0 ? undefined : confirmed.join(' ');
    return (await remote.post('/review/bulk', { ...body, confirmed: typed }, reviewAnswer)).answers;
  }
  const { answers } = await askRunningDaemon(self, context, {
    path: '/api/deliveries/review-all',
    body: { ...body, confirmed },
    answer: reviewAnswer,
  });
  return answers;
}

/** Acts on deliveries as the options of the command say, and tells how each one went. */
async function actOnDeliveries(
  context: CliContext,
  self: Command,
  action: ReviewAction,
  deliveries: readonly string[],
): Promise<void> {
  const options = self.opts<Options>();
  const { allMatching = false, expect, json } = options;
  if (deliveries.length > 0 === allMatching) {
    throw new UsageError('review.no_selection', 'which deliveries?', {
      hint: 'ids or numbers, or --all-matching with a filter (deliveries list --held shows both)',
    });
  }
  if (!allMatching && (hasFilter(options) || expect !== undefined)) {
    throw new UsageError('review.no_selection', 'a filter and --expect go with --all-matching', {
      hint: 'name the deliveries, or all that fit',
    });
  }
  const answers = allMatching
    ? await actOnMatching(context, self, action)
    : await actOnNamed(context, self, action, deliveries);
  if (answers.some(({ ok }) => !ok)) context.setExitCode(EXIT.failure.code);
  if (json === true) context.output.json(answers);
  else for (const answer of answers) context.output.line(answerLine(action, answer));
}

function acting(context: CliContext, action: ReviewAction, summary: string): Command {
  const command = new Command(action)
    .summary(summary)
    .argument('[delivery...]', 'ids or numbers (selvedge deliveries list)')
    .requiredOption('--reason <text>', 'why; goes into the journal and the audit', statedReason)
    .option('--all-matching', 'instead: all held ones that fit the filter')
    .option('--expect <mark>', 'with --all-matching: the mark of the list that you saw');
  return addFilterOptions(command)
    .option('--json', 'one answer for each, as JSON')
    .action((deliveries: readonly string[], _options: Options, self: Command) =>
      actOnDeliveries(context, self, action, deliveries),
    );
}

export function deliveriesAccept(context: CliContext): Command {
  return acting(context, 'accept', 'accept pending deliveries yourself')
    .description(
      'Accepts at the service, once it has been seen there still pending. The rules leave these\n' +
        'deliveries alone until their lines change. Asks the running daemon. With\n' +
        '--all-matching and no --expect it only tells what it would do.',
    )
    .addHelpText(
      'after',
      examples([
        ['deliveries accept 500012 --reason "price agreed by phone"', 'one or several'],
        [
          'deliveries accept --all-matching --rule hold-large --expect <mark> --reason "checked"',
          'all that you saw',
        ],
      ]),
    );
}

export function deliveriesReject(context: CliContext): Command {
  return acting(context, 'reject', 'reject pending deliveries yourself; final')
    .description(
      'A reject is final at the service. The number of each delivery must be typed at the\n' +
        'terminal, or named with --yes-reject, and one command rejects 20 at the most. It is\n' +
        'sent only while the delivery is exactly as it was when you asked for it.',
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

const undone = z.object({ orderDeliveryId: z.int(), deliveryNo: z.string(), decisionId: z.int() });

export function deliveriesUndo(context: CliContext): Command {
  return new Command('undo')
    .summary('undo your latest decision about a delivery')
    .description(
      'An accept that was not sent is called back; one that was sent is taken back at the\n' +
        'service. A hold or a release goes back to the rules. A reject cannot be undone, and\n' +
        'nothing that was decided again since, or by somebody else.',
    )
    .argument('<delivery>', 'id or number (selvedge deliveries list)')
    .option('--reason <text>', 'why; goes into the audit', statedReason)
    .option('--json', 'the answer as JSON')
    .addHelpText('after', examples([['deliveries undo DN-500012', 'as long as it is yours']]))
    .action(
      async (delivery: string, options: { reason?: string; json?: boolean }, self: Command) => {
        const { reason = 'undone at the command line', json } = options;
        const remote = remoteConsoleOf(self, context);
        const answer = remote
          ? await undoOverUrl(remote, delivery, undone)
          : await askRunningDaemon(self, context, {
              path: '/api/deliveries/undo',
              body: { delivery, reason },
              answer: undone,
            });
        const { deliveryNo, orderDeliveryId, decisionId } = answer;
        if (json === true) return context.output.json(answer);
        const name = `${deliveryNo} (${orderDeliveryId})`;
        return context.output.line(`${name}: undone, it waits again, decision ${decisionId}`);
      },
    );
}

export function deliveriesNote(context: CliContext): Command {
  return new Command('note')
    .summary('write a note about a delivery, for the next who looks')
    .description('Replaces the note that is there; an empty text takes it away.')
    .argument('<delivery>', 'id or number (selvedge deliveries list)')
    .argument('<text>', 'the note', remark)
    .addHelpText('after', examples([['deliveries note DN-500012 "Jutta calls them"', 'for all']]))
    .action(async (delivery: string, text: string, _options: object, self: Command) => {
      const remote = remoteConsoleOf(self, context);
      if (remote) await noteOverUrl(remote, delivery, text);
      else {
        await askRunningDaemon(self, context, {
          path: '/api/deliveries/note',
          body: { delivery, text, reason: '' },
          answer: z.object({ orderDeliveryId: z.int() }),
        });
      }
      const isEmpty = text.trim() === '';
      context.output.line(`${delivery}: the note is ${isEmpty ? 'taken away' : 'kept'}`);
    });
}
