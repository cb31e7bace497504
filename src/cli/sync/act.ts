/**
 * `selvedge sync run` and `sync release`: pull now, and accept a run that looks wrong and is right.
 */
import { Command } from 'commander';
import { z } from 'zod';
import { offlineOperations } from '../../daemon/sync.ts';
import { visible } from '../../lib/strings.ts';
import type { ReleasePreview } from '../../sync/operations.ts';
import { remark, wholeNumber } from '../arguments.ts';
import { type CliContext, examples } from '../command.ts';
import { viaDaemonOrOffline } from '../daemon-call.ts';
import { followRun } from './follow.ts';

interface Options {
  readonly reason: string;
  readonly full?: boolean;
  readonly dryRun?: boolean;
  readonly json?: boolean;
}

interface RunOptions extends Options {
  readonly follow: boolean;
  readonly every: number;
}

function command(name: string, summary: string): Command {
  return new Command(name)
    .summary(summary)
    .option('--reason <text>', 'why; goes into the audit', remark, '')
    .option('--json', 'the answer as JSON');
}

const streamAnswer = z.object({ stream: z.string() });
/**
 * Answer to `sync run`; `daemon` is false without a daemon, because no run can be waited for then.
 */
const runAnswer = streamAnswer.extend({ daemon: z.boolean().default(true) });

function tell(context: CliContext, options: Options, answer: unknown, text: string): void {
  if (options.json === true) context.output.json(answer);
  else context.output.line(text);
}

export function syncRun(context: CliContext): Command {
  return command('run', 'pull a stream now')
    .description(
      'Has the daemon pull the stream and waits for the end, which is the exit code: 0 when the\n' +
        'run is complete. With --full every row is compared again.',
    )
    .argument('<stream>', 'the name of the stream')
    .option('--full', 'compare every row, whatever the digests say')
    .option('--no-follow', 'do not wait for the end')
    .option(
      '--every <pages>',
      'without a terminal: a line after so many pages',
      wholeNumber(1),
      100,
    )
    .addHelpText(
      'after',
      examples([
        ['sync run stock --full', 'trust nothing'],
        ['sync run stock --no-follow', 'and go on with something else'],
      ]),
    )
    .action(async (stream: string, options: RunOptions, self: Command) => {
      const full = options.full === true;
      const answer = await viaDaemonOrOffline(self, context, {
        path: '/api/sync/run',
        body: { stream, full },
        answer: runAnswer,
        reason: options.reason,
        async offline(parts, asker) {
          await offlineOperations(parts).runNow(stream, full, asker);
          return { stream, daemon: false };
        },
      });
      if (!answer.daemon || !options.follow) {
        const when = answer.daemon ? 'now' : 'when the daemon starts';
        tell(context, options, answer, `${stream} is due ${when}`);
        return;
      }
      const run = await followRun(context, self, stream, options.every);
      const why = run.reason === null ? '' : `: ${run.reason}`;
      const figures = `${run.rows} rows, ${run.changed} changed, ${run.deleted} deleted`;
      tell(context, options, run, `run ${run.runId} is ${run.outcome}, ${figures}${why}`);
      if (run.outcome !== 'complete') context.setExitCode(1);
    });
}

const releaseAnswer = z.object({
  stream: z.string(),
  runId: z.int(),
  rowsDeleted: z.int(),
  released: z.boolean(),
  acceptedCount: z.string().nullable(),
  changedRuns: z.array(z.int()).readonly(),
});

function releaseLines(answer: z.output<typeof releaseAnswer>): string {
  const { stream, runId, released, rowsDeleted, acceptedCount, changedRuns } = answer;
  const next = released ? '' : ', and the next run is due';
  const lines = [
    ...(changedRuns.length > 0 ? [`rules go by what run ${changedRuns.join(', ')} changed`] : []),
    ...(released ? [`${rowsDeleted} rows deleted, run ${runId} counts`] : []),
    ...(acceptedCount === null
      ? []
      : [`${acceptedCount}, as in run ${runId}; that is right from now on${next}`]),
  ];
  return lines.map((line) => `${stream}: ${line}`).join('\n');
}

const previewAnswer: z.ZodType<ReleasePreview> = z.object({
  stream: z.string(),
  runId: z.int(),
  deletes: z.int(),
  firstKeys: z.array(z.string()).readonly(),
  acceptsChange: z.boolean(),
  acceptsCount: z.string().nullable(),
  later: z.string().nullable(),
});

function previewLines(preview: ReleasePreview): string {
  const { stream, runId, deletes, firstKeys, acceptsChange, acceptsCount, later } = preview;
  const lines = [
    ...(acceptsChange ? [`rules would go by what run ${runId} changed`] : []),
    ...(acceptsCount === null ? [] : [`${acceptsCount} would be right from now on`]),
    later === null ? `${deletes} rows would be deleted` : `nothing would be deleted yet: ${later}`,
    ...firstKeys.map((key) => `  ${visible(key)}`),
    ...(firstKeys.length < deletes ? ['  …'] : []),
  ];
  return lines.map((line) => (line.startsWith('  ') ? line : `${stream}: ${line}`)).join('\n');
}

async function previewRelease(
  context: CliContext,
  self: Command,
  which: string,
  options: Options,
): Promise<void> {
  const preview = await viaDaemonOrOffline(self, context, {
    path: '/api/sync/preview-release',
    body: { which },
    answer: previewAnswer,
    reason: options.reason,
    offline: (parts) => offlineOperations(parts).previewRelease(which),
  });
  tell(context, options, preview, previewLines(preview));
}

const retryAnswer = z.object({ understood: z.int(), left: z.int() });

export function syncRetryQuarantine(context: CliContext): Command {
  return command('retry-quarantine', 'read rows again that could not be read')
    .description(
      'Rows in quarantine that this version can understand are read again where they came from:\n' +
        'their order, or their stream with every row compared. The others stay.',
    )
    .addHelpText(
      'after',
      examples([['sync retry-quarantine --reason "fixed there"', 'after a correction']]),
    )
    .action(async (options: Options, self: Command) => {
      const answer = await viaDaemonOrOffline(self, context, {
        path: '/api/sync/retry-quarantine',
        body: {},
        answer: retryAnswer,
        reason: options.reason,
        offline: (parts, asker) => offlineOperations(parts).retryQuarantine(asker),
      });
      const { understood, left } = answer;
      const text = `${understood} rows are read again, ${left} still cannot be read`;
      tell(context, options, answer, text);
    });
}

export function syncRelease(context: CliContext): Command {
  return command('release', 'accept a run that was held, changed most rows, or has a wrong count')
    .description(
      'Look at the service first ("sync show"); this does what the run needs.\n\n' +
        'suspicious   deletes (softly) what the run did not see\n' +
        'mass change  lets rules that read the stream use what the run changed\n' +
        'count off    takes a count that is off by just as much for right from now on, and\n' +
        '             deletes what is gone; if that would be more than the deletion guard\n' +
        '             lets through, the next run says so',
    )
    .argument('<stream|run>', 'the number of a run, or a stream for its latest run')
    .option('--dry-run', 'only say what would be done, with the first keys to be deleted')
    .addHelpText(
      'after',
      examples([
        ['sync release 41 --dry-run', 'which rows would be deleted?'],
        ['sync release 41 --reason "season is over"', 'after a look'],
        ['sync release stock --reason "hidden ones"', 'by its latest run'],
      ]),
    )
    .action(async (which: string, options: Options, self: Command) => {
      if (options.dryRun === true) return previewRelease(context, self, which, options);
      const answer = await viaDaemonOrOffline(self, context, {
        path: '/api/sync/release',
        body: { which },
        answer: releaseAnswer,
        reason: options.reason,
        offline: (parts, asker) => offlineOperations(parts).release(which, asker),
      });
      tell(context, options, answer, releaseLines(answer));
    });
}
