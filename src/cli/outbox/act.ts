/** `selvedge outbox retry|cancel|resolve`: acts of a person on outbox rows. */
import { Command } from 'commander';
import { z } from 'zod';
import { EXIT, RefusedError, UsageError } from '../../lib/errors.ts';
import { listOutbox } from '../../outbox/review/listing.ts';
import { statedReason, wholeNumber } from '../arguments.ts';
import { type CliContext, examples } from '../command.ts';
import { askRunningDaemon } from '../daemon-call.ts';
import { withMirror } from '../reading.ts';
import { remoteConsoleOf } from '../remote/console.ts';
import {
  actOnRemoteRow,
  requireOneRow,
  resolveRemoteRow,
  showRemoteOutbox,
} from '../remote/outbox.ts';
import { type FilterOptions, filterOptions } from './options.ts';

interface Options extends FilterOptions {
  readonly reason: string;
  readonly expect?: number;
  readonly json?: boolean;
}

/** Selects one outbox row by its number, or as many as are expected to fit a filter. */
function selection(outboxId: number | undefined, options: Options) {
  const { kind, state, needsAttention, expect } = options;
  const hasFilter = kind !== undefined || state !== undefined || needsAttention !== undefined;
  if (outboxId !== undefined && !hasFilter && expect === undefined) return { outboxId };
  if (outboxId === undefined && hasFilter && expect !== undefined) {
    return { filter: { kind, state, needsAttention }, expect };
  }
  throw new UsageError('outbox.no_selection', 'which rows?', {
    hint: 'one number, or a filter (--kind, --state, --needs-attention) with --expect <n>',
  });
}

const doneAnswer = z.object({
  rows: z.int(),
  left: z.array(z.object({ outboxId: z.int(), reference: z.string(), state: z.string() })),
});

/** Tells how many rows were acted on, and names each that has changed in the meantime. */
function tellDone(
  { output, setExitCode }: CliContext,
  answer: z.output<typeof doneAnswer>,
  done: string,
  json: boolean | undefined,
): void {
  const { rows, left } = answer;
  if (left.length > 0) setExitCode(EXIT.failure.code);
  if (json === true) {
    output.json(answer);
    return;
  }
  output.line(`${rows} ${rows === 1 ? 'row' : 'rows'} ${done}`);
  for (const { outboxId, reference, state } of left) {
    output.line(`outbox ${outboxId} (${reference}) was left: it is ${state} by now`);
  }
}

function acting(
  context: CliContext,
  name: 'retry' | 'cancel',
  summary: string,
  done: string,
): Command {
  const command = new Command(name)
    .summary(summary)
    .argument('[id]', 'the number of the row (selvedge outbox list)', wholeNumber())
    .requiredOption('--reason <text>', 'why; goes into the audit', statedReason);
  for (const option of filterOptions()) command.addOption(option);
  return command
    .option('--expect <n>', 'with a filter: how many rows it must fit', wholeNumber())
    .option('--json', 'the answer as JSON')
    .action(async (outboxId: number | undefined, options: Options, self: Command) => {
      const select = selection(outboxId, options);
      const remote = remoteConsoleOf(self, context);
      const answer = remote
        ? await actOnRemoteRow(remote, name, requireOneRow(outboxId), options.reason)
        : await askRunningDaemon(self, context, {
            path: `/api/outbox/${name}`,
            body: { select, reason: options.reason },
            answer: doneAnswer,
          });
      tellDone(context, answer, done, options.json);
    });
}

export function outboxRetry(context: CliContext): Command {
  return acting(context, 'retry', 'retry rows now', 'taken up again')
    .description(
      'What gave up is sent again, what waits is sent now, what is in doubt is looked for now.\n' +
        'Nothing in doubt is sent by this: that takes proof, or "outbox resolve --as absent".',
    )
    .addHelpText(
      'after',
      examples([
        ['outbox retry 17 --reason "the service is back"', 'one row'],
        ['outbox retry --state dead --expect 12 --reason "key renewed"', 'exactly these twelve'],
      ]),
    );
}

export function outboxCancel(context: CliContext): Command {
  return acting(context, 'cancel', 'cancel rows that have not been sent', 'canceled')
    .description(
      'Only what has not left, has given up or waits for a person. What is in doubt may be at\n' +
        'the service already; to cancel does not call it back.',
    )
    .addHelpText('after', examples([['outbox cancel 17 --reason "ordered twice"', 'one row']]));
}

interface ResolveOptions extends Options {
  readonly as: string;
  readonly reference?: string;
}

function resolutionOf(text: string) {
  if (text === 'absent' || text === 'noted') return { as: text } as const;
  const confirmed = /^confirmed(?::(.+))?$/.exec(text);
  if (!confirmed) {
    throw new UsageError('outbox.no_resolution', `--as ${text} is not known`, {
      hint: '--as confirmed:<id>, --as absent, or --as noted',
    });
  }
  return { as: 'confirmed', id: confirmed[1] ?? null } as const;
}

/** Requires the row's reference to be typed, because sending again may create a second document. */
async function requireReference(
  context: CliContext,
  self: Command,
  outboxId: number,
  given: string | undefined,
): Promise<void> {
  const remote = remoteConsoleOf(self, context);
  const reference = remote
    ? (await showRemoteOutbox(remote, outboxId)).reference
    : await withMirror(self, context, async (db) => {
        const [row] = await listOutbox(db, { limit: 1, outboxId });
        return row?.reference;
      });
  const question = 'It will be sent again. Type its reference to go on: ';
  const typed = given ?? (await context.ask(question));
  if (reference === undefined || typed?.trim() === reference) return;
  throw new RefusedError('outbox.unconfirmed', 'sending again must be confirmed', {
    hint: `name its reference: --reference ${reference}`,
  });
}

async function resolveOne(
  context: CliContext,
  self: Command,
  outboxId: number,
  options: ResolveOptions,
): Promise<void> {
  const resolution = resolutionOf(options.as);
  if (resolution.as === 'absent') {
    await requireReference(context, self, outboxId, options.reference);
  }
  const remote = remoteConsoleOf(self, context);
  const answer = remote
    ? await resolveRemoteRow(remote, outboxId, resolution, options.reason)
    : await askRunningDaemon(self, context, {
        path: '/api/outbox/resolve',
        body: { outboxId, resolution, reason: options.reason },
        answer: z.object({ outboxId: z.int(), state: z.string() }),
      });
  if (options.json === true) context.output.json(answer);
  else context.output.line(`outbox ${answer.outboxId} is ${answer.state}`);
}

/**
 * Resolves all matching rows as absent. The expected number stands for the typed reference of a
 * single row: a person who gives it has looked at the rows.
 */
async function resolveAbsent(
  context: CliContext,
  self: Command,
  options: ResolveOptions,
): Promise<void> {
  if (options.as !== 'absent') {
    throw new UsageError('outbox.one_by_one', `--as ${options.as} is for one row`, {
      hint: 'name its number; many at once can only be absent',
    });
  }
  if (remoteConsoleOf(self, context)) requireOneRow(undefined);
  const answer = await askRunningDaemon(self, context, {
    path: '/api/outbox/absent',
    body: { select: selection(undefined, options), reason: options.reason },
    answer: doneAnswer,
  });
  tellDone(context, answer, 'queued', options.json);
}

export function outboxResolve(context: CliContext): Command {
  const command = new Command('resolve')
    .summary('resolve a row with an unknown outcome')
    .description(
      'After a look at both sides ("outbox show"): it is this one at the service, or it is not\n' +
        'there and is to be sent again under the same reference. "noted" ends the incident\n' +
        'about a document that the service took in otherwise than it was sent.',
    )
    .argument('[id]', 'the number of the row', wholeNumber())
    .requiredOption('--as <what>', 'confirmed:<orderId> (pending refund, style), absent, noted')
    .requiredOption('--reason <text>', 'why; goes into the audit and the evidence', statedReason)
    .option('--reference <reference>', 'with absent: confirms that it is sent again');
  for (const option of filterOptions()) command.addOption(option);
  return command
    .option('--expect <n>', 'with a filter: how many rows it must fit', wholeNumber())
    .option('--json', 'the answer as JSON')
    .addHelpText(
      'after',
      examples([
        ['outbox resolve 17 --as confirmed:500123 --reason "same lines"', 'it is there'],
        ['outbox resolve 17 --as absent --reason "asked support"', 'send it again'],
        [
          'outbox resolve --needs-attention --expect 3 --as absent --reason "asked"',
          'exactly these three',
        ],
      ]),
    )
    .action(async (outboxId: number | undefined, options: ResolveOptions, self: Command) => {
      if (outboxId === undefined) await resolveAbsent(context, self, options);
      else await resolveOne(context, self, outboxId, options);
    });
}
